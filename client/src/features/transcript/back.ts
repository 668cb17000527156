/**
 * Owns: what can be taken back or asked again, as far as a page can know it before the server is asked. Pure.
 * Does not own: whether it is (the server answers a refusal).
 */
import {
  isConversation,
  isMessage,
  isSuperseded,
  type Entry,
  type EntryOf,
  type Projection,
} from 'schema/projection';

type Spans = Pick<Projection, 'superseded'>;
type Said = EntryOf<'USER'>;

/** The last message of a person in the conversation; null when none is loaded. */
export const lastSaid = (entries: readonly Entry[], p: Spans): Said | null =>
  entries.findLast((entry): entry is Said => isMessage(entry) && !isSuperseded(p, entry.revision)) ?? null;

/** How many entries of the conversation are from this place on, the one there included. */
export const talkSince = (entries: readonly Entry[], p: Spans, revision: number): number =>
  entries.filter((e) => e.revision >= revision && isConversation(e.kind) && !isSuperseded(p, e.revision))
    .length;

/** Whether the last message led to anything that a new try can keep. True when the message is not loaded. */
export const hasResults = (entries: readonly Entry[], p: Spans): boolean => {
  const said = lastSaid(entries, p);
  return (
    said === null ||
    entries.some(
      (e) =>
        e.revision > said.revision &&
        (e.kind === 'TOOL' || e.kind === 'SYSTEM' || e.kind === 'USER') &&
        !isSuperseded(p, e.revision),
    )
  );
};

/**
 * How the conversation ends. ANSWERED: with an answer that is whole. OPEN: with something to answer: a message, a result,
 * an answer that was cut off. EMPTY: nothing was said, as far as it is loaded.
 */
export function endOf(entries: readonly Entry[], p: Spans): 'ANSWERED' | 'OPEN' | 'EMPTY' {
  const last = entries.findLast((e) => isConversation(e.kind) && !isSuperseded(p, e.revision));
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
