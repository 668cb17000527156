/**
 * Owns: following the list of workstreams. It needs no cursor: each subscription begins with a snapshot.
 * Does not own: what is older than the snapshot (`older.ts`), but for keeping it beside what is told.
 *
 * Invariants: what is told stands in the order it is told, but for what a snapshot has overtaken: of the row in the
 * snapshot and the first one told after it, that of the higher revision stays (later a lower one is news: what could
 * not be stored was discarded); a deleted workstream never comes back, whatever is said of it late, since ids are not
 * used again.
 */
import type { Persistence } from '../projection/index.ts';
import { subscribed } from './attempt.ts';
import { nothingOlder, readOlder, type Listing, type Older, type OlderReader } from './older.ts';
import { statesSubscription } from './operations/follow.ts';
import { persist, type Connection, type Pace, type Persistent } from './persist.ts';
import type { Transport } from './transport.ts';
import { persistenceOf, type WorkstreamSummary } from './wire.ts';

export interface States {
  readonly connection: Connection;
  /** What was told, by id: the newest, all that live, and what has changed since. Null until the first snapshot has come. */
  readonly workstreams: ReadonlyMap<string, WorkstreamSummary> | null;
  /** What each list has beyond that, as far as it was read. */
  readonly older: Readonly<Record<Listing, Older>>;
  /** How storing goes for the whole server; null until it has said so. */
  readonly persistence: Persistence | null;
}

/** For who has not heard of any. */
export const noStates: States = {
  connection: { status: 'CONNECTING' },
  workstreams: null,
  older: { OPEN: nothingOlder, CLOSED: nothingOlder, ALL: nothingOlder },
  persistence: null,
};

/** What one list has to show, each once, in no order: the workstreams that were told, and those that it has read. */
export function listedIn({ workstreams, older }: States, listing: Listing): readonly WorkstreamSummary[] {
  const all = new Map([...older[listing].rows, ...(workstreams ?? [])]);
  return [...all.values()].filter(({ lifecycle }) => listing === 'ALL' || lifecycle === listing);
}

/** A workstream by its id: null when there is none, undefined when it may be one that was not read. */
export function rowIn({ workstreams, older }: States, id: string): WorkstreamSummary | null | undefined {
  const row = [workstreams, ...listings.map((listing) => older[listing].rows)]
    .map((rows) => rows?.get(id))
    .find((there) => there !== undefined);
  const complete = workstreams !== null && older.ALL.status === 'END';
  return row ?? (complete ? null : undefined);
}

const listings = ['OPEN', 'CLOSED', 'ALL'] as const satisfies readonly Listing[];

export interface StatesFollower extends Persistent {
  /** Reads a page of what is older, if there is one and none is on its way; again after a failure. */
  loadOlder(listing: Listing): void;
}

export function followStates(
  deps: { readonly transport: Transport; readonly pace: Pace },
  observe: (states: States) => void,
): StatesFollower {
  const { transport } = deps;
  let states = noStates;
  const deleted = new Set<string>();
  /** Workstreams of which something was told since the snapshot. */
  const heard = new Set<string>();
  let stopped = false;

  const change = (part: Partial<States>) => {
    if (stopped) return;
    states = { ...states, ...part };
    observe(states);
  };

  const readers = Object.fromEntries(
    listings.map((listing) => [
      listing,
      readOlder(
        transport,
        listing,
        (id) => deleted.has(id),
        (older) => {
          change({ older: { ...states.older, [listing]: older } });
        },
      ),
    ]),
  ) as Readonly<Record<Listing, OlderReader>>;

  const persistent = persist(
    deps,
    (up, signal) =>
      subscribed(
        { transport, signal },
        statesSubscription,
        {},
        ({ workstreamStates: item }) => {
          if (item.__typename === 'StatesSnapshot') {
            heard.clear();
            const there = item.workstreams.filter((row) => !deleted.has(row.id));
            const { after = null, open = false, closed = false } = item.older ?? {};
            change({
              workstreams: new Map(there.map((row) => [row.id, row])),
              older: {
                OPEN: readers.OPEN.begin(open ? after : null),
                CLOSED: readers.CLOSED.begin(closed ? after : null),
                ALL: readers.ALL.begin(after),
              },
            });
            up();
          } else if (item.__typename === 'StateChanged') {
            const row = item.workstream;
            const known = states.workstreams?.get(row.id);
            const overtaken = !heard.has(row.id) && known !== undefined && known.revision > row.revision;
            if (deleted.has(row.id) || overtaken) return null;
            heard.add(row.id);
            change({ workstreams: new Map(states.workstreams ?? []).set(row.id, row) });
          } else if (item.__typename === 'WorkstreamDeleted') {
            deleted.add(item.workstreamId);
            change({ workstreams: withoutRow(states.workstreams, item.workstreamId) });
            for (const listing of listings) readers[listing].drop(item.workstreamId);
          } else if (item.__typename === 'ServerPersistenceChanged')
            change({ persistence: persistenceOf(item.persistence) });
          return null;
        },
        'The server ended the list.',
      ),
    (connection) => {
      change({ connection });
    },
  );
  return {
    nudge: persistent.nudge,
    loadOlder(listing) {
      readers[listing].more();
    },
    stop() {
      stopped = true;
      for (const listing of listings) readers[listing].stop();
      persistent.stop();
    },
  };
}

function withoutRow(
  rows: ReadonlyMap<string, WorkstreamSummary> | null,
  id: string,
): ReadonlyMap<string, WorkstreamSummary> | null {
  if (!rows?.has(id)) return rows;
  const left = new Map(rows);
  left.delete(id);
  return left;
}
