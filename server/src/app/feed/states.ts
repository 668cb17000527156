/**
 * Owns: the live list: a snapshot, then changes, then heartbeats. A slow subscriber gets the latest of each
 * workstream and of the server, not every one in between.
 *
 * Invariants: whoever lives is in the snapshot, however old (up to `snapshotLimits.living`); changes are told of
 * every workstream, whether the snapshot has it or not.
 */
import type { WorkstreamStateItem, WorkstreamSummaryModel } from 'schema/model';
import { liveTurn, type Persistence } from 'schema/projection';
import type { Reading } from 'schema/services';
import type { Catalog, Overview, SummaryRow } from '../../ports/catalog.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Registry } from '../actor/registry.ts';
import { worstOf } from '../views/persistence.ts';
import { heartbeatMs } from './follow.ts';
import type { Hub } from './hub.ts';
import { whileHere } from './reading.ts';

/** Workstreams in the snapshot; the rest is paged by the list query. What is not stored yet comes on top. */
export const snapshotLimits = {
  newest: 200,
  /** Older ones with a live turn; those that wait for a person come first. */
  living: 1_000,
} as const;

type StatesSnapshot = Extract<WorkstreamStateItem, { type: 'StatesSnapshot' }>;

export interface StatesDeps {
  readonly catalog: Catalog;
  readonly registry: Registry;
  readonly hub: Hub;
  readonly clock: Clock;
  readonly reading: Reading;
  /** Resolves once what other servers change from now on is told to the hub. */
  readonly awake: () => Promise<void>;
}

export async function* states(deps: StatesDeps, signal: AbortSignal): AsyncGenerator<WorkstreamStateItem> {
  /** The latest of each workstream; null: it was deleted, which nothing overtakes. */
  const changed = new Map<string, WorkstreamSummaryModel | null>();
  let beatDue = false;
  /** What the subscriber was last told of the server; null before the first word. */
  let told: string | null = null;
  let persistenceChanged = true;
  let wake = (): void => undefined;
  const leaveList = deps.hub.onAnnounce((summary) => {
    if (changed.get(summary.id) !== null) changed.set(summary.id, summary);
    wake();
  });
  const leaveDeleted = deps.hub.onDeleted((id) => {
    changed.set(id, null);
    wake();
  });
  const leavePersistence = deps.hub.onPersistence(() => {
    persistenceChanged = true;
    wake();
  });
  let cancelBeat = (): void => undefined;
  const beat = (): void => {
    cancelBeat = deps.clock.after(heartbeatMs, () => {
      beatDue = true;
      wake();
      beat();
    });
  };
  /** Nothing is left behind from here on, also when nobody takes another item. */
  const stop = (): void => {
    cancelBeat();
    leaveList();
    leaveDeleted();
    leavePersistence();
    wake();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    await deps.awake();
    const overview = await whileHere(deps.reading, signal).ask(
      () => deps.catalog.overview(snapshotLimits),
      () => true,
    );
    beat();
    yield snapshotOf(deps.registry, overview);
    deps.reading.letGo();
    while (!signal.aborted) {
      const persistence = persistenceChanged ? serverPersistence(deps.registry) : null;
      persistenceChanged = false;
      const next = changed.entries().next();
      if (persistence && JSON.stringify(persistence) !== told) {
        told = JSON.stringify(persistence);
        yield { type: 'ServerPersistenceChanged', persistence };
      } else if (!next.done) {
        const [id, workstream] = next.value;
        changed.delete(id);
        yield workstream
          ? { type: 'StateChanged', workstream }
          : { type: 'WorkstreamDeleted', workstreamId: id };
      } else if (beatDue) {
        beatDue = false;
        yield { type: 'StatesHeartbeat', at: new Date(deps.clock.now()).toISOString() };
      } else {
        await new Promise<void>((resolve) => (wake = resolve));
      }
    }
  } catch (error) {
    // Nobody is there to hear of it.
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

function snapshotOf(registry: Registry, { newest, living, older }: Overview): StatesSnapshot {
  const stored = [...newest, ...living];
  const there = new Set(stored.map((row) => row.id));
  // What began here may not be stored yet; and what cannot be stored needs a person too.
  const here = registry
    .loaded()
    .filter((a) => liveTurn(a.state().projection) !== null || a.persistence().status !== 'HEALTHY')
    .map((actor) => actor.summary())
    .filter((row) => !there.has(row.id));
  return {
    type: 'StatesSnapshot',
    workstreams: [...stored.map((row) => current(registry, row)), ...here].toSorted(newerFirst),
    older,
  };
}

/** Of one moment, the id decides, as in the list. */
const newerFirst = (a: WorkstreamSummaryModel, b: WorkstreamSummaryModel): number => {
  const [one, other] = a.createdAt === b.createdAt ? [a.id, b.id] : [a.createdAt, b.createdAt];
  return one < other ? 1 : -1;
};

/** The actor's own word if it is loaded here: the stored row may be a batch behind. */
export const current = (registry: Registry, row: SummaryRow): WorkstreamSummaryModel =>
  registry.peek(row.id)?.summary() ?? { ...row, persistence: 'HEALTHY' };

/** The worst word of all that runs here. */
export const serverPersistence = (registry: Registry): Persistence =>
  worstOf(registry.loaded().map((actor) => actor.persistence()));
