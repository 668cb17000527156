/**
 * Owns: following the list of workstreams. It needs no cursor: each subscription begins with a snapshot.
 * Invariant: of two rows of one workstream the one of the higher revision stays.
 */
import type { Persistence } from '../projection/index.ts';
import { endOf } from './follow.ts';
import { statesSubscription } from './operations.ts';
import { persist, type AttemptEnd, type Connection, type Pace, type Persistent } from './persist.ts';
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
  const { transport, pace } = deps;
  let states: States = { connection: { status: 'CONNECTING' }, workstreams: null, persistence: null };
  let stopped = false;

  const change = (part: Partial<States>) => {
    if (stopped) return;
    states = { ...states, ...part };
    observe(states);
  };

  const attempt = (up: () => void, signal: AbortSignal): Promise<AttemptEnd> =>
    new Promise((resolve) => {
      const finish = (end: AttemptEnd) => {
        signal.removeEventListener('abort', abort);
        unsubscribe();
        resolve(end);
      };
      const abort = () => {
        finish({ type: 'again' });
      };
      signal.addEventListener('abort', abort);
      const unsubscribe = transport.subscribe(
        statesSubscription,
        {},
        {
          next: ({ workstreamStates: item }) => {
            if (item.__typename === 'StatesSnapshot') {
              change({ workstreams: new Map(item.workstreams.map((row) => [row.id, row])) });
              up();
            } else if (item.__typename === 'StateChanged')
              change({ workstreams: withRow(states.workstreams, item.workstream) });
            else if (item.__typename === 'ServerPersistenceChanged')
              change({ persistence: persistenceOf(item.persistence) });
          },
          end: (failure) => {
            finish(failure ? endOf(failure) : { type: 'later', reason: 'The server ended the list.' });
          },
        },
      );
      if (signal.aborted) abort();
    });

  const persistent = persist(pace, attempt, (connection) => {
    change({ connection });
  });
  const forget = transport.onConnected(persistent.nudge);
  return {
    nudge: persistent.nudge,
    stop() {
      stopped = true;
      forget();
      persistent.stop();
    },
  };
}

function withRow(
  rows: ReadonlyMap<string, WorkstreamSummary> | null,
  row: WorkstreamSummary,
): ReadonlyMap<string, WorkstreamSummary> {
  const known = rows?.get(row.id);
  if (rows && known && known.revision > row.revision) return rows;
  return new Map(rows ?? []).set(row.id, row);
}
