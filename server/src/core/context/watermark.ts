/**
 * Owns: up to where a conversation is summarised (D-40).
 *
 * Invariants: results that the model has not read stay, unless they do not fit even alone; no call is parted from its
 * result; an answer with open calls and the last input that nobody has answered are never summarised; what is being worked
 * on crosses word for word; a summary is never made of a summary alone (G3).
 */
import {
  compactionAdvice,
  isMessage,
  type CarriedRequest,
  type CompactionTrigger,
  type Entry,
  type EntryOf,
} from 'schema/projection';
import { cutMiddle } from '../kit/cut.ts';
import { weightOf, weightOfAll } from './tokens.ts';

export interface Cut {
  /** Everything told up to this revision is summarised, with the summary before. */
  readonly watermark: number;
  readonly summarised: readonly Entry[];
  readonly kept: readonly Entry[];
  readonly request: CarriedRequest | null;
  /** Results are summarised that no model has read: there is no room for them even alone. */
  readonly unread: boolean;
}

/** Of the window, what stays as it is beside what must; by hand as little as possible does. */
const keptPart: Readonly<Record<CompactionTrigger, number>> = {
  TOOLS: 0.1,
  END_OF_TURN: 0.1,
  OVERFLOW: 0.05,
  MANUAL: 0,
};
/** Of the window, what a request may take that crosses; UTF-16 units of one token: 3. */
const requestPart = 0.25;
/** Where the window is not known. */
const usualWindow = 8_192;
/** It is not worth a summary by itself to make less room than this, of the window. */
const worthPart = 0.1;
/**
 * Of the window, what is filled by what stays, the summary, and what stands beside them; less where an endpoint refused:
 * by how much our measure is wrong is not known, and it is asked once more only (D-39).
 */
const filledPart = { usually: 0.9, OVERFLOW: 0.75 } as const;
/** Of it, what a summary takes at most (`pack.ts`). */
const summaryPart = 0.25;

/** Null: there is nothing to summarise, or (unless it must be) not enough to be worth it. */
export function cutOf(
  told: readonly Entry[],
  {
    trigger,
    window,
    resume,
    scale = 1,
    overhead = 0,
  }: {
    readonly trigger: CompactionTrigger;
    readonly window: number | null;
    /** As in a mark of the context. */
    readonly scale?: number;
    readonly overhead?: number;
    /** The last answer ends nothing: it goes on after the summary. */
    readonly resume: boolean;
  },
): Cut | null {
  const size = window ?? usualWindow;
  const entries = told.filter((entry) => entry.kind !== 'CHECKPOINT');
  const unread = unreadFrom(entries);
  const fits = (stays: readonly Entry[]): boolean =>
    (weightOfAll(stays) + overhead) * scale + size * summaryPart <=
    size * filledPart[trigger === 'OVERFLOW' ? trigger : 'usually'];
  const must = unread !== null && fits(entries.slice(unread)) ? unread : mustKeepFrom(entries);
  let from = must;
  let kept = 0;
  for (let i = must - 1; i >= 0; i -= 1) {
    kept += weightOf(entries[i]!);
    // Its advice to wind down would be heard again when there is room.
    if (kept > size * keptPart[trigger] || isAdvice(entries[i]!)) break;
    if (entries[i]!.kind !== 'TOOL') from = i;
  }
  const isOwed = trigger === 'OVERFLOW' || trigger === 'MANUAL';
  // Where all of it could stay, none of it does: the window may be smaller than is known.
  if (from === 0 && isOwed) from = must;
  const gone = entries.slice(0, from);
  const freed = weightOfAll(gone);
  const last = gone.at(-1);
  if (!last) return null;
  if (!isOwed && freed < size * worthPart) return null;
  return {
    watermark: last.revision,
    summarised: told.slice(0, told.indexOf(last) + 1),
    kept: entries.slice(from),
    unread: unread !== null && from > unread,
    request: requestIn(told, gone, { longest: Math.floor(size * requestPart * 3), resume }),
  };
}

/** What no summary can stand for: while it does not fit, none helps. */
export function mustStay(told: readonly Entry[]): readonly Entry[] {
  const entries = told.filter((entry) => entry.kind !== 'CHECKPOINT');
  return entries.slice(mustKeepFrom(entries));
}

/** Index of the first entry that must stay: the answer whose calls are open, or the inputs nobody has answered. */
function mustKeepFrom(entries: readonly Entry[]): number {
  const answered = new Set(entries.flatMap((entry) => (entry.kind === 'TOOL' ? [entry.callId] : [])));
  const open = entries.findIndex(
    (entry) => entry.kind === 'ASSISTANT' && entry.calls.some((call) => !answered.has(call.callId)),
  );
  if (open !== -1) return open;
  let from = entries.length;
  while (from > 0 && isInput(entries[from - 1]!)) from -= 1;
  return from;
}

/** Index of the answer whose results no model has read yet; null: there is none, or nothing before it. */
function unreadFrom(entries: readonly Entry[]): number | null {
  const last = entries.findLastIndex(({ kind }) => kind === 'ASSISTANT' || kind === 'CANCELLATION');
  const answer = entries[last];
  return answer?.kind === 'ASSISTANT' && answer.calls.length > 0 && last > 0 ? last : null;
}

/** What is no input, and would be heard again after a summary. */
export const isAdvice = (entry: Entry): boolean =>
  entry.kind === 'SYSTEM' && entry.source === compactionAdvice;

const isInput = (entry: Entry): boolean =>
  entry.kind === 'USER' || (entry.kind === 'SYSTEM' && !isAdvice(entry));

/** What was asked since the last answer that closed the matter, if that is summarised. */
function requestIn(
  told: readonly Entry[],
  gone: readonly Entry[],
  { longest, resume }: { readonly longest: number; readonly resume: boolean },
): CarriedRequest | null {
  // Who wound down on advice went on after the summary, or is going to.
  const goesOn = (next: Entry | undefined): boolean =>
    next ? next.kind === 'USER' && next.source === 'COMPACTION_RESUME' : resume;
  const closed = told.findLastIndex(
    (entry, i) => entry.kind === 'ASSISTANT' && entry.calls.length === 0 && !goesOn(told[i + 1]),
  );
  const asked = told
    .slice(closed + 1)
    .filter((entry): entry is EntryOf<'USER'> => entry.kind === 'USER' && gone.includes(entry));
  const before = closed === -1 ? told.find((entry) => entry.kind === 'CHECKPOINT') : undefined;
  const carried = before?.kind === 'CHECKPOINT' ? before.request : null;
  // Whose turn it is: who asked last.
  const latest = asked.at(-1);
  const author = latest?.author ?? carried?.author;
  const messageId = asked.findLast(isMessage)?.id ?? carried?.messageId ?? latest?.id;
  if (!author || messageId === undefined) return null;
  const text = [
    carried?.text ?? '',
    ...asked.filter((e) => e.source !== 'COMPACTION_RESUME').map((e) => e.text),
  ]
    .filter((said) => said !== '')
    .join('\n\n');
  return text === '' ? null : { messageId, author, text: cutMiddle(text, longest) };
}
