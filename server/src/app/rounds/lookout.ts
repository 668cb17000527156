/**
 * Owns: what other processes on the same database do, told to those who listen here (D-101): every 2 s one query for
 * all of them, while somebody listens. Followers of what moved elsewhere read it themselves (`follow.ts`).
 *
 * Invariants: of what this process runs, it says nothing; what is told is what the database holds, each change and each
 * end once (the hub sees to that); whoever reads the list after `awake` misses nothing that comes after. While the
 * database is away nothing is told, and nothing is lost: the next look begins where the last one that succeeded ended.
 */
import type { WorkstreamSummaryModel } from 'schema/model';
import type { SummaryRow } from '../../ports/catalog.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Elsewhere, Look } from '../../ports/elsewhere.ts';
import type { Log } from '../../ports/log.ts';
import type { Registry } from '../actor/registry.ts';
import type { Hub } from '../feed/hub.ts';
import type { Round } from './heartbeat.ts';

/** Milliseconds between two looks. */
const lookMs = 2_000;

export interface Lookout extends Round {
  /**
   * Resolves once everything that others change from now on will be told here. Rejects when the database is away. To be
   * called by who listens already.
   */
  awake(): Promise<void>;
}

/** For a database that no other process can reach: there is nobody to look for. */
export const noLookout: Lookout = {
  run: () => undefined,
  stop: () => undefined,
  awake: () => Promise.resolve(),
};

export function createLookout(deps: {
  readonly elsewhere: Elsewhere;
  readonly registry: Registry;
  readonly hub: Hub;
  readonly clock: Clock;
  readonly log: Log;
}): Lookout {
  const { elsewhere, registry, hub, clock, log } = deps;
  /** The moment of the last look; null: nobody listened then. */
  let mark: string | null = null;
  let looking: Promise<void> | null = null;
  /** Where those who follow were last told that it is. */
  let heads: ReadonlyMap<string, string> = new Map();
  /** What ran here at the last look, or was passed over: its last word here may not be what is stored in the end. */
  let again: ReadonlySet<string> = new Set();
  let cancel = (): void => undefined;
  let away = false;
  let stopped = false;

  const look = (): Promise<void> => (looking ??= lookNow().finally(() => (looking = null)));

  async function lookNow(): Promise<void> {
    const since = mark;
    const present = new Set(registry.present());
    const followed = hub.followed().filter((id) => !present.has(id));
    const left = new Set([...again].filter((id) => since !== null && !present.has(id)));
    const moment = hub.moment();
    const seen = await elsewhere.look([...new Set([...followed, ...left])], since);
    if (stopped) return;
    // Since the list was last listened to, others changed what nobody here was told of.
    if (since === null) hub.forgetTold(moment);
    mark = seen.mark;
    wakeFollowers(followed, seen);
    const news = [...seen.asked.filter(({ id }) => left.has(id)), ...seen.changed];
    // Of what runs here, or was spoken of here while this was read, the list may know more. It is asked for again.
    const passed = new Set<string>();
    for (const row of news)
      if (present.has(row.id) || runsHere(row.id) || hub.toldSince(row.id, moment)) passed.add(row.id);
      else hub.announce(summaryOfRow(row));
    again = new Set([...present, ...passed]);
    for (const id of seen.deleted) hub.announceDeleted(id);
  }

  function wakeFollowers(followed: readonly string[], { asked }: Look): void {
    const there = new Map(asked.map((row) => [row.id, row]));
    const next = new Map<string, string>();
    for (const id of followed) {
      if (runsHere(id)) continue;
      const row = there.get(id);
      if (!row) {
        hub.publish(id, { type: 'Ended', reason: 'This workstream was deleted.', resumable: false });
        continue;
      }
      const { incarnation, epoch, revision } = row;
      const head = `${incarnation}.${epoch}.${revision}`;
      next.set(id, head);
      if (heads.get(id) !== head) hub.moved(id, { incarnation, epoch, revision });
    }
    heads = next;
  }

  const runsHere = (id: string): boolean => registry.peek(id) !== null;

  async function round(): Promise<void> {
    const listened = hub.isListed() || hub.followed().length > 0;
    if (listened) await lookAgain();
    else mark = null;
    next();
  }

  /** Never rejects; says so once when the database goes away. */
  async function lookAgain(): Promise<void> {
    try {
      await look();
      away = false;
    } catch (error) {
      if (!away)
        log.warn({ error: String(error) }, 'what other servers do cannot be read; trying until it can');
      away = true;
    }
  }

  function next(): void {
    if (!stopped) cancel = clock.after(lookMs, () => void round());
  }

  return {
    run: next,
    async awake() {
      if (mark === null) await look();
    },
    stop() {
      stopped = true;
      cancel();
    },
  };
}

const summaryOfRow = (row: SummaryRow): WorkstreamSummaryModel => {
  const { id, title, state, stopping, lifecycle, model, revision, createdAt, updatedAt } = row;
  return {
    ...{ id, title, state, stopping, lifecycle, model, revision, createdAt, updatedAt },
    // Whoever runs it accepted what it shows, and stored it.
    persistence: 'HEALTHY',
  };
};
