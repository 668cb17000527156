/**
 * Owns: how much a model reads as its endpoint says when it refuses what is too long (D-39): less than it is set up for
 * is believed for a while, or until it is set up otherwise: the endpoint may have been started anew, or have meant
 * something else. And whether it was set up otherwise when it said so.
 * Does not own: that it refused for that, or what it serves by its own list (the model adapter).
 *
 * Invariant: no refusal makes a window larger, or smaller than a model can have.
 */
import { canBeWindow } from '../core/context/meter.ts';
import type { Clock } from '../ports/clock.ts';
import type { Model, ModelInfo } from '../ports/model.ts';

/**
 * "maximum context length is 8192 tokens", "available context size (4,096 tokens)": the number that follows at once, unless
 * it is of what was sent: "your input context length of 4,000 tokens exceeds".
 */
const limit =
  /\bcontext (?:length|size|window|limit)(?: is| of|:)? ?\(?(\d{1,3}(?:,\d{3})+|\d{3,10}) tokens\b(?!\)?,? (?:is|was|exceeds?|exceeded)\b)/i;
/** How long it is believed, milliseconds. */
const believedMs = 10 * 60_000;

interface Learnt {
  readonly window: number;
  /** As it was set up when that was said. */
  readonly setUp: string;
  /** By the clock. */
  readonly at: number;
}

const setUpOf = ({ description, window }: ModelInfo): string => `${window} ${description}`;

/** The same model, whose list has the windows that were learnt. */
export function withLimits<T extends Model>(model: T, clock: Clock): T {
  const learnt = new Map<string, Learnt>();

  function known(info: ModelInfo): ModelInfo {
    const said = learnt.get(info.alias);
    if (said?.setUp !== setUpOf(info) || clock.now() - said.at >= believedMs) {
      learnt.delete(info.alias);
      return info;
    }
    const problem = `Its endpoint says that it reads ${said.window.toLocaleString('en')} tokens, so no more is sent. That is tried again after 10 minutes, or once its settings change.`;
    return { ...info, window: said.window, problem: info.problem ?? problem };
  }

  function learn(message: string, info: ModelInfo): void {
    const window = Number(limit.exec(message)?.[1]?.replaceAll(',', ''));
    if (!canBeWindow(window) || window >= (known(info).window ?? Infinity)) return;
    learnt.set(info.alias, { window, setUp: setUpOf(info), at: clock.now() });
  }

  return {
    ...model,
    list: () => model.list().map(known),
    async call(request, signal, onEvent) {
      const asked = model.list();
      const outcome = await model.call(request, signal, onEvent);
      if (outcome.type !== 'failed' || outcome.kind !== 'CONTEXT_OVERFLOW') return outcome;
      const of = (models: readonly ModelInfo[]) => models.find(({ alias }) => alias === outcome.alias);
      const [before, now] = [of(asked), of(model.list())];
      if (!before) return outcome;
      // What is set up otherwise since was not meant.
      if (!now || setUpOf(before) !== setUpOf(now)) return { ...outcome, outdated: true };
      learn(outcome.message, now);
      return outcome;
    },
  };
}
