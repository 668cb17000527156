/**
 * Owns: what is known of the room for a call before it is made (D-39): who will be asked, how much that one reads, what
 * stands beside the conversation, and whether all of it fits.
 * Does not own: what follows from that (core), or choosing whom to ask (the model adapter).
 */
import type { ContextMark } from 'schema/projection';
import { isOverHard, usedOf, type Room } from '../../core/context/meter.ts';
import { overheadOf } from '../../core/context/tokens.ts';
import type { ModelFault, ModelInfo, ModelRequest, ToolDefinition } from '../../ports/model.ts';

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
export function tooLong(context: ContextMark, { window, overhead }: Room, alias: string): ModelFault | null {
  const filled: ContextMark = { ...context, window, overhead };
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
