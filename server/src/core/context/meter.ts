/**
 * Owns: how full the context of the model is, and what follows from that (D-39): what the provider counted for the
 * prefix that still stands, and an estimate of what came after.
 * Does not own: how a text is estimated (`tokens.ts`), or what is done about a full context (`turn/compaction.ts`).
 *
 * Invariants: a count that cannot be is not believed (G8, G9); one that is holds for the conversation it was made of,
 * not for one that was cut below it, summarised, or told to another model. Text that nobody has counted is never taken
 * for less than its estimate where room depends on it: that the text before it counted less says nothing of it.
 */
import {
  nearlyFull,
  usedOf,
  type Context,
  type ContextMark,
  type Entry,
  type EntryOf,
  type Usage,
} from 'schema/projection';
import { weightOfAll } from './tokens.ts';

export { usedOf } from 'schema/projection';

/** Of the window: above it the model is advised to wind down, and summarised at the end of its turn (D-39). */
const soft = nearlyFull;
/** Above it the model is not asked before room was made (D-39: soft + 0.10, at most 0.95). */
const hard = Math.min(0.95, soft + 0.1);

/** True when so many more tokens, estimated, bring it above the soft threshold. False where the window is not known. */
export const isOverSoft = (context: ContextMark, more = 0): boolean =>
  context.window !== null && usedOf(context) + more * context.scale > context.window * soft;
/** The same of the hard threshold, with care: above it, what is sent may be refused. */
export const isOverHard = (context: ContextMark, more = 0): boolean =>
  context.window !== null && mostUsedOf(context) + more * carefulScale(context) > context.window * hard;

/** What a token of our estimate is taken for where it has to fit: no less than one. */
export const carefulScale = ({ scale }: Pick<ContextMark, 'scale'>): number => Math.max(1, scale);

const mostUsedOf = (context: ContextMark): number => usedOf({ ...context, scale: carefulScale(context) });

/** Not known to be too long for the model. */
export const mayFit = (context: ContextMark): boolean =>
  context.window === null || usedOf(context) <= context.window;

/** Tokens there is room for below the hard threshold: what fills no more of the window may be sent. */
export const roomIn = (context: ContextMark): number =>
  context.window === null
    ? Number.POSITIVE_INFINITY
    : Math.max(0, Math.floor(context.window * hard - mostUsedOf(context)));

/** What was asked: how much the model can read, and what stood beside the conversation. */
export interface Room {
  /** Null: not known. */
  readonly window: number | null;
  readonly overhead: number;
}

/** The mark that an answer carries: `tokens` is its own estimate, `usage` what the provider counted. */
export function markOfAnswer(
  context: Context,
  room: Room | null,
  usage: Usage | null,
  tokens: number,
): ContextMark {
  const { window, overhead } = room ?? context;
  const { told, counted, scale } = context;
  const before: ContextMark = { told, counted, scale, window, overhead };
  const known = countedOf(before, usage, tokens);
  return { ...before, told: told + tokens, ...(known ?? (counted ? null : { scale: faded(scale) })) };
}

/** What was learnt from a refusal, where nobody counts: it may have been a mistake, so that it is believed less each time. */
const faded = (scale: number): number => (scale > 1 ? Math.max(1, scale * 0.93) : scale);

/**
 * Null: there is no count, or none that can be believed. Judged by the guess from the last count and by the plain
 * estimate, so that no count that was wrongly believed shuts out the right ones after it.
 */
function countedOf(
  before: ContextMark,
  usage: Usage | null,
  tokens: number,
): Pick<ContextMark, 'counted' | 'scale'> | null {
  if (!usage || usage.inputTokens <= 0) return null;
  const { inputTokens, outputTokens } = usage;
  const guess = usedOf(before);
  const estimated = Math.max(1, before.overhead + before.told);
  if (before.window !== null && inputTokens > before.window) return null;
  // A prefix that was counted grew by little: a leap is a mistake of the endpoint. What was never counted may be anything.
  const grown = Math.max(0, before.told - (before.counted?.told ?? 0));
  const most = Math.max(1.5 * guess + mostScale * grown, 1.5 * estimated) + 1_024;
  if (before.counted && inputTokens > most) return null;
  // No model counts that little of a text: what it read from a cache is missing, or all of it (G8).
  if (inputTokens < estimated * leastBelieved - 128) return null;
  // Thoughts are written and not told again, and not every endpoint counts them apart.
  const written = Math.min(Math.max(0, outputTokens - (usage.reasoningTokens ?? 0)), mostScale * tokens + 64);
  return {
    counted: { tokens: inputTokens + written, told: before.told + tokens },
    scale: Math.min(mostScale, Math.max(leastScale, inputTokens / estimated)),
  };
}

/** Tokens that a provider counts for each one of our estimate, at most and at least. */
const mostScale = 4;
const leastScale = 0.5;
/** Below that it is not believed. */
const leastBelieved = 0.4;

/** The mark of a conversation that was cut: that of the last answer in it, and what comes after. `alias`: the chosen model. */
export function markOfCut(context: Context, left: readonly Entry[], alias: string): ContextMark {
  const { window, overhead, scale } = context;
  const at = left.findLastIndex((entry) => entry.kind === 'ASSISTANT' && entry.context !== undefined);
  const answer = left[at] as EntryOf<'ASSISTANT'> | undefined;
  const checkpoint = left.find((entry) => entry.kind === 'CHECKPOINT');
  // What was counted before the summary was counted with all that it stands for, and what another model counted by other rules.
  const counted =
    answer && answer.revision > (checkpoint?.revision ?? 0) && answer.alias === alias
      ? answer.context!.counted
      : null;
  if (!counted) return { told: weightOfAll(left), counted, scale, window, overhead };
  // By the same measure as what was counted.
  const told = answer!.context!.told + weightOfAll(left.slice(at + 1));
  return { told, counted, scale: answer!.context!.scale, window, overhead };
}

/** The mark of a conversation that begins with a summary: nobody has counted it yet, but how the model counts is known. */
export const markOfSummary = ({ scale, window, overhead }: Context, told: number): ContextMark => ({
  told,
  counted: null,
  scale,
  window,
  overhead,
});

/**
 * The mark of a conversation that its endpoint calls longer than the window: it fills the window at least, whatever it
 * was taken for, or the next request would be as long. Until the next count, which corrects it.
 */
export function markOfOverflow<T extends ContextMark>(context: T): T {
  const { window, overhead, told, scale } = context;
  if (window === null || usedOf(context) >= window) return context;
  const learnt = window / Math.max(1, overhead + told);
  return { ...context, counted: null, scale: Math.min(mostScale, Math.max(scale, learnt)) };
}
