/**
 * Owns: how full the context of the model is, and what follows from that (D-39): what the provider counted for the
 * prefix that still stands, and an estimate of what came after.
 * Does not own: how a text is estimated (`tokens.ts`), or what is done about a full context (`turn/compaction.ts`).
 *
 * Invariants: a count that cannot be is not believed (G8, G9), unless the next one confirms it; one that is holds for the
 * conversation it was made of, not for one that was cut below it, summarised, or told to another model, and for what stood
 * beside it then. Text that nobody has counted is never taken for less than its estimate where room depends on it: that
 * the text before it counted less says nothing of it.
 */
import {
  nearlyFull,
  usedOf,
  type Context,
  type ContextMark,
  type Counted,
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
export function isOverSoft(mark: ContextMark, more = 0): boolean {
  const context = judgedBy(mark);
  return context.window !== null && usedOf(context) + more * context.scale > context.window * soft;
}
/** The same of the hard threshold, with care: above it, what is sent may be refused. */
export function isOverHard(mark: ContextMark, more = 0): boolean {
  const context = judgedBy(mark);
  return (
    context.window !== null && mostUsedOf(context) + more * carefulScale(context) > context.window * hard
  );
}

/**
 * What is decided by. A count that does not fall when a summary takes much away would call for another one after each
 * answer: the endpoint counts something else. Then it is estimated, and the endpoint has the last word.
 */
const judgedBy = (context: ContextMark): ContextMark =>
  context.unmoved ? { ...context, counted: null, scale: Math.min(1, context.scale) } : context;

/** What a token of our estimate is taken for where it has to fit: no less than one. */
export const carefulScale = ({ scale }: Pick<ContextMark, 'scale'>): number => Math.max(1, scale);

const mostUsedOf = (context: ContextMark): number => usedOf({ ...context, scale: carefulScale(context) });

/** Not known to be too long for the model. */
export const mayFit = (context: ContextMark): boolean =>
  context.window === null || usedOf(context) <= context.window;

/** So much of the conversation alone is too long for the model, with what stands beside it. */
export const isFilledBy = ({ scale, overhead, window }: ContextMark, told: number): boolean =>
  window !== null && (overhead + told) * scale > window;

/** Tokens there is room for below the hard threshold: what fills no more of the window may be sent. */
export function roomIn(mark: ContextMark): number {
  const context = judgedBy(mark);
  return context.window === null
    ? Number.POSITIVE_INFINITY
    : Math.max(0, Math.floor(context.window * hard - mostUsedOf(context)));
}

/**
 * What is believed of an endpoint that says how many tokens its model reads: with less there is no room beside what every
 * model is told, and the API has no greater number.
 */
export const canBeWindow = (tokens: number): boolean =>
  Number.isSafeInteger(tokens) && tokens >= 2_048 && tokens < 2 ** 31;

/** What was asked: how much the model can read, and what stood beside the conversation. */
export interface Room {
  /** Null: not known. */
  readonly window: number | null;
  readonly overhead: number;
}

/**
 * The account with what is asked now. Where something else stands beside the conversation than when it was counted, the
 * difference is estimated.
 */
export function withRoom<T extends ContextMark>(context: T, { window, overhead }: Room): T {
  const { counted } = context;
  const more = overhead - context.overhead;
  if (!counted || more === 0) return { ...context, window, overhead };
  const tokens = Math.max(
    0,
    Math.round(counted.tokens + more * (more > 0 ? carefulScale(context) : context.scale)),
  );
  return { ...context, window, overhead, counted: { ...counted, tokens } };
}

/** Tokens of what was thought, which a provider may be told again: only its counts say whether it is. */
export interface Thoughts {
  /** Of the answer itself. */
  readonly own: number;
  /** Of those from the one that was counted last on. */
  readonly since: number;
  /** Those that `told` has in it already, about. */
  readonly told: number;
}
const noThoughts: Thoughts = { own: 0, since: 0, told: 0 };

/** The mark that an answer carries: `tokens` is its own estimate without its thoughts, `usage` what the provider counted. */
export function markOfAnswer(
  context: Context,
  room: Room | null,
  usage: Usage | null,
  tokens: number,
  thoughts = noThoughts,
): ContextMark {
  const {
    told,
    counted,
    scale,
    window,
    overhead,
    doubted,
    replayed,
    before: summarised,
    unmoved,
  } = withRoom(context, room ?? context);
  const before: ContextMark = {
    ...{ told, counted, scale, window, overhead },
    ...(doubted && { doubted }),
    ...(replayed && { replayed }),
  };
  const heard = usage && heardOf(before, usage, thoughts);
  const again = heard === 'BELIEVED' ? isReplayed(before, usage!, thoughts) : replayed;
  const own = tokens + (again ? thoughts.own : 0);
  const after: ContextMark = {
    ...{ told: told + own, counted, scale, window, overhead },
    ...(again && { replayed: again }),
    ...(summarised && { before: summarised }),
    ...(unmoved && { unmoved }),
  };
  if (!heard) return { ...after, ...(doubted && { doubted }), ...(counted ? null : { scale: faded(scale) }) };
  const { inputTokens, outputTokens } = usage;
  // What is written and not told again: not every endpoint counts thoughts apart, and some count none at all.
  const apart = usage.reasoningTokens ?? 0;
  const least = again && apart === 0 ? thoughts.own : 0;
  // An answer is within the window as well: of one that cannot be nothing is believed.
  const canBe = window === null || inputTokens + outputTokens <= window;
  const written = canBe
    ? Math.min(Math.max(least, outputTokens - (again ? 0 : apart)), mostScale * own + 64)
    : own;
  const now: Counted = { tokens: inputTokens + written, told: after.told };
  if (heard === 'DOUBTED') return { ...after, doubted: now };
  const estimated = Math.max(1, overhead + told + (again && !replayed ? thoughts.since : 0));
  const { before: _, unmoved: was, ...rest } = after;
  const isUnmoved = summarised ? didNotFall(summarised, inputTokens, overhead + told) : was;
  return {
    ...rest,
    ...(isUnmoved && { unmoved: true }),
    counted: now,
    scale: Math.min(mostScale, Math.max(leastScale, inputTokens / estimated)),
  };
}

/** Whether a count is about as high as before so much was taken away: no model counts that little of a text. */
function didNotFall(
  { tokens, estimated }: NonNullable<ContextMark['before']>,
  inputTokens: number,
  now: number,
): boolean {
  const taken = estimated - now;
  return taken > 0 && tokens - inputTokens < (taken * leastScale) / 2;
}

/** What was learnt from a refusal, where nobody counts: it may have been a mistake, so that it is believed less each time. */
const faded = (scale: number): number => (scale > 1 ? Math.max(1, scale * 0.93) : scale);

/**
 * Whether a count can be: judged by the guess from the last one and by the plain estimate, so that no count that was
 * wrongly believed shuts out the right ones after it. DOUBTED: it cannot by what is known, but if the next one is like
 * it, something is told that we do not know of. Null: it says nothing, or cannot be however often it comes.
 */
function heardOf(
  before: ContextMark,
  { inputTokens }: Usage,
  { since, told }: Thoughts,
): 'BELIEVED' | 'DOUBTED' | null {
  const { counted, doubted, window, overhead } = before;
  const estimated = Math.max(1, overhead + before.told);
  if (inputTokens <= 0 || (window !== null && inputTokens > window)) return null;
  // No model counts that little of a text: what it read from a cache is missing, or all of it (G8). Thoughts may be dropped.
  if (inputTokens < Math.max(0, estimated - told) * leastBelieved - 128) return null;
  // A prefix that was counted grew by little: a leap is a mistake of the endpoint. What was never counted may be anything.
  if (!counted) return 'BELIEVED';
  const grownFrom = (then: Counted): number =>
    mostScale * (Math.max(0, before.told - then.told) + since) + 1_024;
  if (inputTokens <= Math.max(1.5 * usedOf(before) + grownFrom(counted), 1.5 * estimated + 1_024))
    return 'BELIEVED';
  const isConfirmed =
    doubted &&
    inputTokens >= doubted.tokens * 0.9 &&
    inputTokens <= doubted.tokens * 1.05 + grownFrom(doubted);
  return isConfirmed ? 'BELIEVED' : 'DOUBTED';
}

/** What was thought was told again, where that explains a count better than that it was not; too little explains nothing. */
function isReplayed(before: ContextMark, { inputTokens }: Usage, { since }: Thoughts): true | undefined {
  const { counted, scale, replayed } = before;
  if (!counted || since < leastJudged) return replayed;
  const without = usedOf(before) - (replayed ? since * scale : 0);
  return inputTokens - without > (since * scale) / 2 || undefined;
}

/** Tokens that a provider counts for each one of our estimate, at most and at least. */
const mostScale = 4;
const leastScale = 0.5;
/** Below that it is not believed. */
const leastBelieved = 0.4;
/** Thoughts that are fewer tokens are lost in what an estimate is wrong by. */
const leastJudged = 256;

/** The mark of a conversation that was cut: that of the last answer in it, and what comes after. `alias`: the chosen model. */
export function markOfCut(context: Context, left: readonly Entry[], alias: string): ContextMark {
  const { window, overhead, scale, replayed, before, unmoved } = context;
  const at = left.findLastIndex((entry) => entry.kind === 'ASSISTANT' && entry.context !== undefined);
  const answer = left[at] as EntryOf<'ASSISTANT'> | undefined;
  const checkpoint = left.find((entry) => entry.kind === 'CHECKPOINT');
  // What was counted before the summary was counted with all that it stands for, and what another model counted by other rules.
  const stands = answer && answer.revision > (checkpoint?.revision ?? 0) && answer.alias === alias;
  const then = stands && answer.context?.counted ? withRoom(answer.context, { window, overhead }) : null;
  const now = {
    window,
    overhead,
    ...(replayed && { replayed }),
    ...(before && { before }),
    ...(unmoved && { unmoved }),
  };
  if (!then) return { told: weightOfAll(left), counted: null, scale, ...now };
  // By the same measure as what was counted.
  const told = then.told + weightOfAll(left.slice(at + 1));
  return { told, counted: then.counted, scale: then.scale, ...now };
}

/** The mark of a conversation that begins with a summary: nobody has counted it yet, but how the model counts is known. */
export const markOfSummary = (
  { counted, scale, window, overhead, replayed, before, unmoved }: Context,
  told: number,
): ContextMark => ({
  told,
  counted: null,
  scale,
  window,
  overhead,
  ...(replayed && { replayed }),
  ...(counted
    ? { before: { tokens: counted.tokens, estimated: overhead + counted.told } }
    : before && { before }),
  ...(unmoved && { unmoved }),
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
