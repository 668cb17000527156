/**
 * Owns: how much a model reads as its endpoint says when it refuses what is too long (D-39): less than it is set up for
 * is believed until it is set up otherwise, or Weir starts again.
 * Does not own: that it refused for that, or what it serves by its own list (the model adapter).
 *
 * Invariant: no refusal makes a window larger, or smaller than a model can have.
 */
import type { Model, ModelInfo, ModelOutcome } from '../ports/model.ts';

/** "maximum context length is 8192 tokens", "available context size (4,096 tokens)": the number that follows at once. */
const limit = /\bcontext (?:length|size|window|limit)(?: is| of|:)? ?\(?(\d[\d,]{2,10}) tokens\b/i;
/** No model that is served reads less, tokens. */
const least = 512;

interface Learnt {
  readonly window: number;
  /** As it was set up when that was said. */
  readonly setUp: string;
}

const setUpOf = ({ description, window }: ModelInfo): string => `${window} ${description}`;

/** The same model, whose list has the windows that were learnt. */
export function withLimits<T extends Model>(model: T): T {
  const learnt = new Map<string, Learnt>();

  function known(info: ModelInfo): ModelInfo {
    const said = learnt.get(info.alias);
    return said?.setUp === setUpOf(info) ? { ...info, window: said.window } : info;
  }

  function learn(outcome: ModelOutcome): void {
    if (outcome.type !== 'failed' || outcome.kind !== 'CONTEXT_OVERFLOW') return;
    const window = Number(limit.exec(outcome.message)?.[1]?.replaceAll(',', ''));
    const info = model.list().find(({ alias }) => alias === outcome.alias);
    if (!info || !(window >= least) || (info.window !== null && window >= info.window)) return;
    learnt.set(info.alias, { window, setUp: setUpOf(info) });
  }

  return {
    ...model,
    list: () => model.list().map(known),
    async call(request, signal, onEvent) {
      const outcome = await model.call(request, signal, onEvent);
      learn(outcome);
      return outcome;
    },
  };
}
