/**
 * Owns: what goes by itself, at boot and every 5 minutes: reservations that came to nothing (D-21), workstreams that
 * nobody ever used, closed ones that are older than the operator keeps them, folders that were left, whoever deleted
 * what worked in them, and, every minute, those in memory that nobody needs (D-24).
 *
 * Invariants: what is loaded or being made here is left alone, and so is what a live process has; when that cannot be
 * known, everything is left alone (D-10). Each that goes is announced once, also when the answer that says so is lost.
 */
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Doomed, Removed, Sweeper } from '../../ports/removal.ts';
import type { Registry } from '../actor/registry.ts';
import type { Deletions } from '../deletions.ts';
import { giveUpLeftFolders, type FoldersDeps } from '../folders.ts';
import type { Round } from './heartbeat.ts';

/** Milliseconds between two looks. */
const sweepMs = 5 * 60_000;
const idleSweepMs = 60_000;
/** Age from which a reservation, or a workstream that was never used, has come to nothing, milliseconds. */
const staleMs = 2 * 60 * 60_000;
const dayMs = 24 * 60 * 60_000;

interface SweepsDeps extends FoldersDeps {
  readonly registry: Registry;
  readonly deletions: Deletions;
  /** Ids of the reservations that this process is about to publish or to roll back. */
  readonly reserving: ReadonlySet<string>;
  readonly clock: Clock;
  readonly log: Log;
  readonly sessionId: string;
  /** Days after which a closed workstream is deleted; null: never. */
  readonly retentionDays: number | null;
}

/** One look at each of them. Never rejects: what cannot be known or done now is left for the next time. */
export async function sweep(deps: SweepsDeps): Promise<void> {
  const { removal, retentionDays } = deps;
  // Nobody has ever seen one of these, so nobody is told.
  await all(deps, 'reservations that came to nothing', (by) => removal.reap(by, staleMs));
  await allAnnounced(deps, 'workstreams that were never used', (by, doomed) =>
    removal.sweepUnused(by, staleMs, doomed),
  );
  if (retentionDays !== null)
    await allAnnounced(
      deps,
      `workstreams that were closed ${retentionDays} days ago or earlier`,
      (by, doomed) => removal.sweepClosed(by, retentionDays * dayMs, doomed),
    );
  await attempt(deps, 'folders that were left', () => giveUpLeftFolders(deps));
}

/** Deletes all of these, some at a time. */
const all = (
  deps: SweepsDeps,
  what: string,
  some: (by: Sweeper) => Promise<readonly Removed[]>,
): Promise<void> =>
  attempt(deps, what, async () => {
    for (;;) {
      const except = [...deps.registry.present(), ...deps.reserving];
      const gone = await some({ sessionId: deps.sessionId, except });
      if (gone.length === 0) return;
      deps.log.info({ workstreams: gone.length }, `${what} were deleted`);
    }
  });

/** And says so of each, as soon as it is known. */
const allAnnounced = (
  deps: SweepsDeps,
  what: string,
  some: (by: Sweeper, doomed: Doomed) => Promise<readonly Removed[]>,
): Promise<void> =>
  all(deps, what, async (by) => {
    let open: readonly Removed[] = [];
    try {
      const gone = await some(by, (batch) => (open = batch));
      for (const { id } of gone) deps.deletions.happened(id);
      return gone;
    } catch (error) {
      deps.deletions.leaveOpen(open.map((one) => ({ ...one, actor: null })));
      throw error;
    }
  });

async function attempt(
  { log }: Pick<SweepsDeps, 'log'>,
  what: string,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    log.warn({ error: String(error) }, `${what} could not be looked for; trying again later`);
  }
}

export function createSweeps(deps: SweepsDeps): Round {
  const { clock, log, registry, retentionDays } = deps;
  let stopped = false;
  let cancelSweep = (): void => undefined;
  let cancelIdle = (): void => undefined;

  async function sweeping(): Promise<void> {
    await sweep(deps);
    if (!stopped) cancelSweep = clock.after(sweepMs, () => void sweeping());
  }

  function unloading(): void {
    cancelIdle = clock.after(idleSweepMs, () => {
      const count = registry.unloadIdle();
      if (count > 0) log.info({ workstreams: count }, 'workstreams rest');
      void attempt(deps, 'workstreams that nobody runs', () => registry.giveUpRest());
      unloading();
    });
  }

  return {
    run() {
      log.info(
        { retentionDays },
        retentionDays === null
          ? 'closed workstreams are kept until somebody deletes them'
          : 'closed workstreams are deleted for good when they are this old',
      );
      void sweeping();
      unloading();
    },
    stop() {
      stopped = true;
      cancelSweep();
      cancelIdle();
    },
  };
}
