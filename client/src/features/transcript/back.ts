/**
 * Owns: what can be taken back or asked again, as far as a page can know it before the server is asked. Pure.
 * Does not own: whether it is (the server answers a refusal).
 */
import {
  isConversation,
  isMessage,
  isSuperseded,
  type Author,
  type Entry,
  type EntryOf,
  type Projection,
} from 'schema/projection';

type Spans = Pick<Projection, 'superseded' | 'checkpoint'>;
type Said = EntryOf<'USER'>;

/** True for what is said in the conversation, rather than being the summary of it. */
export const isTalk = ({ kind }: Entry): boolean => isConversation(kind) && kind !== 'CHECKPOINT';

/** True for what stands up to the watermark: the model is told a summary in its place, and none of it is taken back. */
export const isSummarised = ({ checkpoint }: Pick<Projection, 'checkpoint'>, revision: number): boolean =>
  checkpoint !== null && revision <= checkpoint.watermark;

/** True for a place that the model is still told about word for word. */
const isTold = (p: Spans, revision: number): boolean =>
  !isSuperseded(p, revision) && !isSummarised(p, revision);

/** The last message of a person that the model is told; null when none is loaded, or it is summarised. */
export const lastSaid = (entries: readonly Entry[], p: Spans): Said | null =>
  entries.findLast((entry): entry is Said => isMessage(entry) && isTold(p, entry.revision)) ?? null;

/** Whether all that the model is told word for word is loaded. */
const isAllLoaded = (entries: readonly Entry[], { checkpoint }: Spans): boolean =>
  (entries[0]?.revision ?? Infinity) <= (checkpoint?.watermark ?? 0) + 1;

/** True when it is known that the message to ask again about is only in the summary. */
export const isLastSaidSummarised = (entries: readonly Entry[], p: Spans): boolean =>
  p.checkpoint !== null && isAllLoaded(entries, p) && lastSaid(entries, p) === null;

/** Who asked for what is being worked on, where that message is summarised; null: nobody, or it is not loaded. */
export function carriedAuthor(entries: readonly Entry[], { checkpoint }: Spans): Author | null {
  const entry = checkpoint && entries.find(({ id }) => id === checkpoint.id);
  return entry?.kind === 'CHECKPOINT' ? (entry.request?.author ?? null) : null;
}

/** How many entries of the conversation are from this place on, the one there included. */
export const talkSince = (entries: readonly Entry[], p: Spans, revision: number): number =>
  entries.filter((e) => e.revision >= revision && isTalk(e) && isTold(p, e.revision)).length;

/** Whether the last message led to anything that a new try can keep. True when that is not loaded. */
export const hasResults = (entries: readonly Entry[], p: Spans): boolean => {
  const said = lastSaid(entries, p);
  if (said === null && !isAllLoaded(entries, p)) return true;
  return entries.some(
    (e) =>
      e.revision > (said?.revision ?? 0) &&
      (e.kind === 'TOOL' || e.kind === 'SYSTEM' || e.kind === 'USER') &&
      isTold(p, e.revision),
  );
};

/**
 * How the conversation ends. ANSWERED: with an answer that is whole. OPEN: with something to answer: a message, a result,
 * an answer that was cut off. EMPTY: nothing was said since the summary, if there is one, as far as it is loaded.
 */
export function endOf(entries: readonly Entry[], p: Spans): 'ANSWERED' | 'OPEN' | 'EMPTY' {
  const last = entries.findLast((e) => isTalk(e) && isTold(p, e.revision));
  if (!last) return 'EMPTY';
  return last.kind === 'ASSISTANT' && last.calls.length === 0 ? 'ANSWERED' : 'OPEN';
}

export interface Standing {
  readonly busy: boolean;
  readonly closed: boolean;
  readonly setAside: boolean;
}

/** Why nothing can be taken back now, in words; null when it can. */
export function cannotGoBack({ busy, closed, setAside }: Standing): string | null {
  if (closed) return 'This workstream is closed.';
  if (setAside) return 'This workstream takes no commands until the server’s log has been looked at.';
  return busy ? 'A turn is running. Wait until it ends, or stop it.' : null;
}

/** At the beginning of a sentence. */
export const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

/** What a line that stands for it says of so many that are out, of which the last who went back took so many. */
export function asideInWords(count: number, last: number | null, whose: string): string {
  if (last === null || last === 0 || last === count)
    return `${capital(entriesInWords(count))} set aside${whose}`;
  return `${capital(entriesInWords(last))} set aside${whose}, ${count - last === 1 ? 'one' : count - last} before`;
}

export const entriesInWords = (count: number): string => (count === 1 ? 'one entry' : `${count} entries`);
