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

export const entriesInWords = (count: number): string => (count === 1 ? 'one entry' : `${count} entries`);
