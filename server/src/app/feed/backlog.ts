/**
 * Owns: where a subscriber's cursor goes on, if it can (D-55), and the entries since. Does not own: what comes while
 * they are read (`follow.ts`).
 */
import { decodeCursor, type Cursor, type Entry, type FeedItem } from 'schema/projection';
import type { Reading } from 'schema/services';
import type { Journal } from '../../ports/journal.ts';
import { entrySize } from './subscription.ts';

/** Entries, and bytes of them as JSON, a subscriber may be behind before a snapshot is cheaper (D-55). */
const maxBehind = 2_000;
const maxBytesBehind = 4 * 1024 * 1024;
/** Of one page: each subscriber may have the rest of one in memory; a single longer entry only in its turn. */
const pageSize = 200;
const pageBytes = 64 * 1024;

/** A workstream as this process saw it when the subscriber came. */
export interface Sight {
  readonly incarnation: string;
  readonly epoch: number;
  readonly revision: number;
  readonly durableThrough: number;
  readonly pending: readonly Entry[];
}

/** Where a subscriber reads, and how. */
export interface Source {
  readonly journal: Journal;
  readonly reading: Reading;
  readonly workstreamId: string;
  readonly sight: Sight;
}

export interface Start {
  readonly revision: number;
  readonly items: readonly FeedItem[];
  readonly over: boolean;
}

/** Where this cursor goes on; null begins at the head. */
export async function startAt(source: Source, after: string | null): Promise<Start> {
  const { journal, reading, workstreamId, sight } = source;
  if (after === null) return { revision: sight.revision, items: [], over: false };
  const refuse = (reason: string): Start => ({
    revision: 0,
    items: [{ type: 'SnapshotRequired', reason }],
    over: true,
  });
  const cursor = decodeCursor(after);
  if (!cursor) return refuse('This is not a cursor of this server.');
  if (cursor.incarnation !== sight.incarnation) return refuse('The workstream was made anew.');
  if (cursor.epoch > sight.epoch) return refuse('The cursor is of an ownership that never was.');
  if (cursor.epoch === sight.epoch && cursor.revision > sight.revision)
    return refuse('The cursor is ahead of the journal.');
  const from = (await isGood(source, cursor))
    ? cursor.revision
    : await reading.ask(() => journal.lastRevisionOf(workstreamId, cursor.revision, cursor.epoch));
  if (sight.revision - from > maxBehind) return refuse(`More than ${maxBehind} entries behind.`);
  if ((await bytesBehind(source, from)) > maxBytesBehind) return refuse('More than 4 MiB behind.');
  return {
    revision: from,
    items: from === cursor.revision ? [] : [{ type: 'EpochStarted', epoch: sight.epoch, from }],
    over: false,
  };
}

/** Stored entries after `revision`, then the pending ones, each once. */
export async function* backlog(
  { journal, reading, workstreamId, sight }: Source,
  revision: number,
): AsyncGenerator<Entry> {
  let last = revision;
  while (last < sight.durableThrough) {
    const range = { after: last, through: sight.durableThrough, limit: pageSize, maxBytes: pageBytes };
    const page = await reading.ask(
      () => journal.read(workstreamId, range),
      (entries) => entries.length > 0,
    );
    if (page.length === 0) break;
    yield* page;
    last = page.at(-1)!.revision;
  }
  // Not after each page: whoever waits for the next one has the last of it in memory still, on its way to the socket.
  reading.letGo();
  yield* sight.pending.filter((entry) => entry.revision > last);
}

/** Measured, not read: who is too far behind costs no more than an answer. */
async function bytesBehind({ journal, reading, workstreamId, sight }: Source, from: number): Promise<number> {
  const pending = sight.pending
    .filter((entry) => entry.revision > from)
    .reduce((sum, entry) => sum + entrySize(entry), 0);
  if (from >= sight.durableThrough) return pending;
  const range = { after: from, through: sight.durableThrough, enough: maxBytesBehind };
  return pending + (await reading.ask(() => journal.storedBytes(workstreamId, range)));
}

/** Good iff r = 0, or e is the current epoch, or an entry is stored at r whose epoch is ≤ e. */
async function isGood({ journal, reading, workstreamId, sight }: Source, cursor: Cursor): Promise<boolean> {
  if (cursor.revision === 0 || cursor.epoch === sight.epoch) return true;
  const stored = await reading.ask(() => journal.epochAt(workstreamId, cursor.revision));
  return stored !== null && stored <= cursor.epoch;
}
