/**
 * Owns: following the list of workstreams. It needs no cursor: each subscription begins with a snapshot.
 * Invariants: what is told stands in the order it is told, but for what a snapshot has overtaken: of the row in the
 * snapshot and the first one told after it, that of the higher revision stays (later a lower one is news: what could
 * not be stored was discarded); a deleted workstream never comes back, whatever is said of it late, since ids are not
 * used again.
 */
import type { Persistence } from '../projection/index.ts';
import { subscribed } from './attempt.ts';
import { statesSubscription } from './operations/follow.ts';
import { persist, type Connection, type Pace, type Persistent } from './persist.ts';
import type { Transport } from './transport.ts';
import { persistenceOf, type WorkstreamSummary } from './wire.ts';

export interface States {
  readonly connection: Connection;
  /** By id; null until the first snapshot has come. */
  readonly workstreams: ReadonlyMap<string, WorkstreamSummary> | null;
  /** How storing goes for the whole server; null until it has said so. */
  readonly persistence: Persistence | null;
}

export function followStates(
  deps: { readonly transport: Transport; readonly pace: Pace },
  observe: (states: States) => void,
): Persistent {
  const { transport } = deps;
  let states: States = { connection: { status: 'CONNECTING' }, workstreams: null, persistence: null };
  const deleted = new Set<string>();
  /** Workstreams of which something was told since the snapshot. */
  const heard = new Set<string>();
  let stopped = false;

  const change = (part: Partial<States>) => {
    if (stopped) return;
    states = { ...states, ...part };
    observe(states);
  };

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
            change({ workstreams: new Map(there.map((row) => [row.id, row])) });
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
    stop() {
      stopped = true;
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
