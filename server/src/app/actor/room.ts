/**
 * Owns: what is known of the room for a call before it is made (D-39): who will be asked, how much that one reads, what
 * stands beside the conversation, and whether all of it fits.
 * Does not own: what follows from that (core), or choosing whom to ask (the model adapter).
 */
import type { ContextMark } from 'schema/projection';
import { isOverHard, usedOf, withRoom, type Room } from '../../core/context/meter.ts';
import { overheadOf } from '../../core/context/tokens.ts';
import type { Deed } from '../../core/effects.ts';
import type { ModelFault, ModelInfo, ModelRequest, ToolDefinition } from '../../ports/model.ts';

type ModelDeed = Extract<Deed, { readonly type: 'callModel' }>;

/** Whom the plane will ask, as far as its list tells: what is chosen, then its fallbacks, those that rest last. */
export function laneOf(
  { model, lane, givenUp }: Pick<ModelRequest, 'model' | 'lane' | 'givenUp'>,
  models: readonly ModelInfo[],
): string {
  if (lane !== null) return lane;
  const of = (alias: string): ModelInfo | undefined => models.find((info) => info.alias === alias);
  const lanes = [model.alias, ...(of(model.alias)?.fallbacks ?? [])].filter(
    (alias) => !givenUp.includes(alias),
  );
  return lanes.find((alias) => of(alias)?.health !== 'DEGRADED') ?? lanes[0] ?? model.alias;
}

/** Whom to ask, and those not to; or why nobody is asked. */
export interface Asked {
  readonly lane: string;
  readonly givenUp: readonly string[];
  /** There are fallbacks that are passed over: when nobody else is left, it is said why. */
  readonly passedOver: boolean;
  readonly overflow: ModelFault | null;
}

/**
 * Fallbacks that it does not fit are passed over, or one of them would cost the chosen model its history. The chosen one
 * is not asked `guarded` when it does not fit.
 */
export function whomToAsk(
  {
    model,
    lane,
    givenUp,
    context,
    guarded,
  }: Pick<ModelDeed, 'model' | 'lane' | 'givenUp' | 'context' | 'guarded'>,
  models: readonly ModelInfo[],
  overhead: number,
): Asked {
  const fallbacks = models.find(({ alias }) => alias === model.alias)?.fallbacks ?? [];
  const left = fallbacks.filter((alias) => alias !== model.alias && !givenUp.includes(alias));
  const overflowOf = (alias: string): ModelFault | null => {
    const fault = tooLong(context, { window: windowOf(alias, models), overhead }, alias);
    // Of a fallback that is passed over: then the next is looked at, so that each is named in the end.
    const othersLeft =
      alias !== model.alias && [model.alias, ...left].some((a) => a !== alias && !givenUp.includes(a));
    return fault && { ...fault, othersLeft };
  };
  const full = lane === null ? left.filter(overflowOf) : [];
  const passedOver = full.length > 0;
  if (passedOver && full.length === left.length && givenUp.includes(model.alias))
    return { lane: full[0]!, givenUp, passedOver, overflow: overflowOf(full[0]!) };
  const others = [...givenUp, ...full];
  const asked = laneOf({ model, lane, givenUp: others }, models);
  return { lane: asked, givenUp: others, passedOver, overflow: guarded ? overflowOf(asked) : null };
}

/** What the chosen model reads, or, where it is gone, who is asked in its place. Null: not known. */
export function windowFor(chosen: string, asked: string, models: readonly ModelInfo[]): number | null {
  return windowOf(models.some(({ alias }) => alias === chosen) ? chosen : asked, models);
}

/**
 * What the chosen model reads, after an answer of this one: a smaller one that answers in its place makes nothing too
 * long for it. Null: not known.
 */
export function windowAfter(asked: string, chosen: string, models: readonly ModelInfo[]): number | null {
  const window = windowOf(asked, models);
  const own = models.find(({ alias }) => alias === chosen);
  if (!own) return window;
  return own.window === null ? null : Math.max(window ?? 0, own.window);
}

export const windowOf = (alias: string, models: readonly ModelInfo[]): number | null =>
  models.find((info) => info.alias === alias)?.window ?? null;

/** Measures what stands beside a conversation; anew only when it is another prompt or other tools. */
export function createOverhead(): (system: string, tools: readonly ToolDefinition[]) => number {
  let known: { readonly system: string; readonly tools: readonly ToolDefinition[]; readonly tokens: number };
  return (system, tools) => {
    if (known?.system !== system || known.tools !== tools)
      known = { system, tools, tokens: overheadOf(system, tools) };
    return known.tokens;
  };
}

const number = new Intl.NumberFormat('en');

/** Why this is not asked of a model that would read too much of it; null: it seems to fit. */
function tooLong(context: ContextMark, room: Room, alias: string): ModelFault | null {
  const filled = withRoom(context, room);
  const { window } = room;
  if (window === null || !isOverHard(filled)) return null;
  const needs = number.format(Math.ceil(usedOf(filled) / 1_000) * 1_000);
  return {
    type: 'failed',
    kind: 'CONTEXT_OVERFLOW',
    alias,
    accepted: false,
    othersLeft: false,
    local: true,
    message: `This conversation needs about ${needs} tokens, and "${alias}" reads ${number.format(window)}, its answer included; choose a model with a larger context window, go back in the conversation, or start a new workstream.`,
    retryAfterMs: null,
  };
}
