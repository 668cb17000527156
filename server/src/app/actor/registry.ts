/**
 * Owns: which workstreams are loaded in this process, and loading them: one flight per id (D-22). Commands and
 * recovery load; reads and feeds never do.
 *
 * Invariants: at most one actor per id here; a load takes epoch+1 before anything else, and ends what a predecessor on
 * this host left running before the turn goes on (D-70); a workstream whose load or step throws three times in a row
 * is quarantined, and boot goes on (D-71).
 */
import type { CoreRefusal } from '../../core/refusals.ts';
import type { Log } from '../../ports/log.ts';
import type { Ownership, LoadedWorkstream } from '../../ports/ownership.ts';
import type { Processes } from '../../ports/processes.ts';
import { StorageUnavailableError } from '../../ports/storage-unavailable.ts';
import { createActor, type Actor, type ActorDeps } from './actor.ts';

/** Loads or steps in a row that may throw (D-71). */
export const maxFailedLoads = 3;

export type LoadRefusal =
  | Extract<CoreRefusal, { code: 'WORKSTREAM_NOT_FOUND' }>
  | { readonly type: 'Rejected'; readonly code: 'OWNER_ELSEWHERE' }
  | { readonly type: 'Rejected'; readonly code: 'OWNER_LOST' }
  | { readonly type: 'Rejected'; readonly code: 'QUARANTINED'; readonly reason: string }
  | { readonly type: 'Rejected'; readonly code: 'SHUTTING_DOWN' }
  | { readonly type: 'Rejected'; readonly code: 'STORAGE_UNAVAILABLE' };

export type Loading = { readonly type: 'loaded'; readonly actor: Actor } | LoadRefusal;

export interface Registry {
  /** The actor, loaded now if need be. */
  load(workstreamId: string): Promise<Loading>;
  /** The actor if it is loaded here. */
  peek(workstreamId: string): Actor | null;
  loaded(): readonly Actor[];
  /** This process is not the owner of anything any more. */
  deposeAll(): void;
  /** Refuses loads, lets every actor store what it accepted, gives the workstreams up. */
  stop(withinMs: number): Promise<void>;
}

export interface RegistryDeps extends Omit<ActorDeps, 'onEnd' | 'onProgress'> {
  readonly ownership: Ownership;
  readonly processes: Processes;
  readonly sessionId: string;
  /** Name of this machine. */
  readonly host: string;
  readonly log: Log;
}

export function createRegistry(deps: RegistryDeps): Registry {
  const actors = new Map<string, Actor>();
  const flights = new Map<string, Promise<Loading>>();
  let stopping = false;

  async function claimAndRun(id: string): Promise<Loading> {
    const claim = await deps.ownership.claim(id, deps.sessionId);
    switch (claim.type) {
      case 'notFound':
        return { type: 'Rejected', code: 'WORKSTREAM_NOT_FOUND' };
      case 'elsewhere':
        return { type: 'Rejected', code: 'OWNER_ELSEWHERE' };
      case 'quarantined':
        return { type: 'Rejected', code: 'QUARANTINED', reason: claim.reason };
      case 'claimed':
        break;
    }
    const { workstream } = claim;
    try {
      await endLeftovers(workstream);
      if (stopping) {
        await deps.ownership.release(id, deps.sessionId, workstream.epoch);
        return { type: 'Rejected', code: 'SHUTTING_DOWN' };
      }
      deps.hub.publish(id, {
        type: 'EpochStarted',
        epoch: workstream.epoch,
        from: workstream.projection.revision,
      });
      const actor = run(workstream);
      return actor ? { type: 'loaded', actor } : { type: 'Rejected', code: 'OWNER_LOST' };
    } catch (error) {
      if (error instanceof StorageUnavailableError) throw error;
      await failed(id, error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  function run(workstream: LoadedWorkstream): Actor | null {
    const { id } = workstream;
    let live = true;
    const actor = createActor(
      {
        ...deps,
        onEnd(reason, detail) {
          live = false;
          actors.delete(id);
          // A step that throws is a recovery: the next actor carries the turn on, until the third in a row (D-71).
          if (reason === 'bug') void failed(id, detail ?? 'a step threw').then(reload(id), () => undefined);
        },
        onProgress() {
          if (workstream.failedLoads > 0)
            void deps.ownership.recordFailedLoad(id, null).catch(() => undefined);
        },
      },
      workstream,
    );
    if (live) actors.set(id, actor);
    return live ? actor : null;
  }

  /** Kills process groups of calls that were running on this host when their server died. */
  async function endLeftovers(workstream: LoadedWorkstream): Promise<void> {
    if (workstream.previousHost !== deps.host) return;
    const started = (workstream.projection.batch?.calls ?? [])
      .filter((open) => open.started && open.result === null)
      .map((open) => open.call.callId);
    if (started.length === 0) return;
    const ended = await deps.processes.endLeftovers(started);
    if (ended.length > 0)
      deps.log.info({ workstream: workstream.id, calls: ended }, 'ended processes a dead server left behind');
  }

  const reload =
    (id: string) =>
    async (failures: number): Promise<void> => {
      if (failures < maxFailedLoads) await registry.load(id);
    };

  async function failed(id: string, reason: string): Promise<number> {
    const count = await deps.ownership.recordFailedLoad(id, reason);
    const level = count >= maxFailedLoads ? 'quarantined' : 'failed to run';
    deps.log.error({ workstream: id, reason, count }, `a workstream ${level}`);
    return count;
  }

  const registry: Registry = {
    async load(id) {
      if (stopping) return { type: 'Rejected', code: 'SHUTTING_DOWN' };
      const known = actors.get(id);
      if (known) return { type: 'loaded', actor: known };
      const flight =
        flights.get(id) ??
        claimAndRun(id)
          .catch((error: unknown): Loading => {
            deps.log.warn({ workstream: id, error: String(error) }, 'a workstream could not be loaded');
            return error instanceof StorageUnavailableError
              ? { type: 'Rejected', code: 'STORAGE_UNAVAILABLE' }
              : { type: 'Rejected', code: 'OWNER_LOST' };
          })
          .finally(() => flights.delete(id));
      flights.set(id, flight);
      return flight;
    },
    peek: (id) => actors.get(id) ?? null,
    loaded: () => [...actors.values()],
    deposeAll() {
      for (const actor of actors.values()) actor.depose('ownerLost');
      actors.clear();
    },
    async stop(withinMs) {
      stopping = true;
      await Promise.all(flights.values());
      await Promise.all(
        [...actors].map(async ([id, actor]) => {
          await actor.stop(withinMs);
          await deps.ownership
            .release(id, deps.sessionId, actor.state().epoch)
            .catch((error: unknown) =>
              deps.log.warn({ workstream: id, error: String(error) }, 'could not release a workstream'),
            );
        }),
      );
      actors.clear();
    },
  };
  return registry;
}
