/**
 * Owns: what a model is to be told of a journal (D-40, D-59), worked out anew from all of its entries, and what of it
 * must be there word for word. Shares no code with what the product makes of the same.
 */
import type { Entry, EntryKind, EntryOf } from 'schema/projection';

export interface Told {
  /** In the order in which it is told: the last summary first. */
  readonly entries: readonly Entry[];
  /** What was asked, is being worked on, and is summarised: it crosses with the summary. */
  readonly carried: readonly string[];
  /** Of a compaction that is under way: its model had stopped only for the summary. */
  readonly resume: boolean;
}

export const nothingTold: Told = { entries: [], carried: [], resume: false };

const kinds: ReadonlySet<EntryKind> = new Set(['USER', 'ASSISTANT', 'TOOL', 'SYSTEM', 'CANCELLATION']);

/** After one more entry. */
export function toldAfter(told: Told, entry: Entry): Told {
  switch (entry.kind) {
    case 'TURN':
      return { ...told, resume: entry.turn.compaction?.resume ?? false };
    case 'REWIND':
      return { ...told, entries: told.entries.filter((e) => isSummary(e) || e.revision <= entry.after) };
    case 'CHECKPOINT':
      return {
        ...told,
        entries: [entry, ...told.entries.filter((e) => !isSummary(e) && e.revision > entry.watermark)],
        carried: entry.request ? [entry.request.text] : [],
      };
    default:
      return kinds.has(entry.kind) ? { ...told, entries: [...told.entries, entry] } : told;
  }
}

export const toldOf = (entries: readonly Entry[]): Told => entries.reduce(toldAfter, nothingTold);

const isSummary = (entry: Entry): entry is EntryOf<'CHECKPOINT'> => entry.kind === 'CHECKPOINT';

/** What a summary up to `watermark` has to carry: asked since the last answer that closed the matter, and summarised. */
export function toCarry(told: Told, watermark: number): string {
  const said = told.entries.filter((e) => !isSummary(e));
  const closed = said.findLastIndex(
    (e, i) =>
      e.kind === 'ASSISTANT' &&
      e.calls.length === 0 &&
      !isResume(said[i + 1]) &&
      !(i === said.length - 1 && told.resume),
  );
  const asked = said
    .slice(closed + 1)
    .flatMap((e) => (e.kind === 'USER' && !isResume(e) && e.revision <= watermark ? [e.text] : []));
  return [...(closed === -1 ? told.carried : []), ...asked].join('\n\n');
}

const isResume = (entry: Entry | undefined): boolean =>
  entry?.kind === 'USER' && entry.source === 'COMPACTION_RESUME';

/** What nobody has answered yet, at the end of what is told: it stays as it is. */
export function unanswered(told: Told): readonly Entry[] {
  const last = told.entries.findLastIndex((e) => e.kind !== 'USER');
  return told.entries.slice(last + 1);
}

/** The answer whose calls have no results yet, if there is one. */
export function openAnswer(told: Told): Entry | null {
  const results = new Set(told.entries.flatMap((e) => (e.kind === 'TOOL' ? [e.callId] : [])));
  return (
    told.entries.find((e) => e.kind === 'ASSISTANT' && e.calls.some((c) => !results.has(c.callId))) ?? null
  );
}

/** What the server says the entries weigh. */
export const weightOf = (entries: readonly Entry[]): number =>
  entries.reduce((sum, { tokens = 0 }) => sum + tokens, 0);
