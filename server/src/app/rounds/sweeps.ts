/**
 * Owns: what goes by itself, at boot and every 5 minutes: reservations that came to nothing (D-21), workstreams that
 * nobody ever used, closed ones that are older than the operator keeps them, and, every minute, those in memory that
 * nobody needs (D-24).
 *
 * Invariants: what is loaded or being made here is left alone, and so is what a live process has; when that cannot be
 * known, everything is left alone (D-10).
 */
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Removal, Removed, Sweeper } from '../../ports/removal.ts';
import type { Registry } from '../actor/registry.ts';
import { giveUpFolder, type FoldersDeps } from '../folders.ts';
import type { Round } from './heartbeat.ts';

/** Milliseconds between two looks. */
const sweepMs = 5 * 60_000;
const idleSweepMs = 60_000;
/** Age from which a reservation, or a workstream that was never used, has come to nothing, milliseconds. */
const staleMs = 2 * 60 * 60_000;
const dayMs = 24 * 60 * 60_000;

interface SweepsDeps extends FoldersDeps {
  readonly removal: Removal;
  readonly registry: Registry;
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
  const { removal, registry, log, retentionDays } = deps;
  const by = (): Sweeper => ({
    sessionId: deps.sessionId,
    except: [...registry.present(), ...deps.reserving],
  });
  const attempt = async (
    what: string,
    work: () => Promise<readonly Removed[]>,
  ): Promise<readonly Removed[]> => {
    try {
      const gone = await work();
      if (gone.length > 0) log.info({ workstreams: gone.length }, `${what} were deleted`);
      for (const one of gone) await giveUpFolder(deps, one);
      return gone;
    } catch (error) {
      log.warn({ error: String(error) }, `${what} could not be looked for; trying again later`);
      return [];
    }
  };
  // Nobody has ever seen one of these, so nobody is told.
  await attempt('reservations that came to nothing', () => removal.reap(by(), staleMs));
  for (const { id } of await attempt('workstreams that were never used', () =>
    removal.sweepUnused(by(), staleMs),
  ))
    registry.deleted(id, null);
  if (retentionDays === null) return;
  const closed = `workstreams that were closed ${retentionDays} days ago or earlier`;
  for (const { id } of await attempt(closed, () => removal.sweepClosed(by(), retentionDays * dayMs)))
    registry.deleted(id, null);
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
