/**
 * Owns: which workstreams are loaded in this process, and loading them: one flight per id (D-22). Commands and
 * recovery load; reads and feeds never do.
 *
 * Invariants: at most one actor per id here; a load takes epoch+1 before anything else, and ends what a predecessor on
 * this host left running before the turn goes on (D-70); a workstream whose load or step throws three times in a row
 * is quarantined, and boot goes on (D-71).
 */
import { liveTurn } from 'schema/projection';
import type { CoreRefusal } from '../../core/refusals.ts';
import type { Log } from '../../ports/log.ts';
import { failedLoadsBeforeQuarantine, type LoadedWorkstream, type Ownership } from '../../ports/ownership.ts';
import type { Processes } from '../../ports/processes.ts';
import { StorageUnavailableError } from '../../ports/storage-unavailable.ts';
import { createActor, type Actor, type ActorDeps } from './actor.ts';

export type LoadRefusal =
  | Extract<CoreRefusal, { code: 'WORKSTREAM_NOT_FOUND' }>
  | { readonly type: 'Rejected'; readonly code: 'OWNER_ELSEWHERE' }
  | { readonly type: 'Rejected'; readonly code: 'OWNER_LOST' }
  | { readonly type: 'Rejected'; readonly code: 'QUARANTINED'; readonly reason: string }
  | { readonly type: 'Rejected'; readonly code: 'SHUTTING_DOWN' }
  | { readonly type: 'Rejected'; readonly code: 'STORAGE_UNAVAILABLE' }
  /** The database refused what was accepted; nothing more is, until that is discarded (D-51). */
  | { readonly type: 'Rejected'; readonly code: 'UNSAVED_CONFLICT' }
  /** Accepted, not stored, and discarded before it was. */
  | { readonly type: 'Rejected'; readonly code: 'DISCARDED' }
  | { readonly type: 'Rejected'; readonly code: 'NOTHING_TO_DISCARD' };

export type Loading = { readonly type: 'loaded'; readonly actor: Actor } | LoadRefusal;

export interface Registry {
  /** The actor, loaded now if need be. */
  load(workstreamId: string): Promise<Loading>;
  /** Loads it, and again when that fails, until it runs or is quarantined: for turns nobody waits for (D-71). */
  recover(workstreamId: string): Promise<Loading>;
  /** Drops what the loaded actor could not store and loads what is durable (D-51). */
  discard(workstreamId: string): Promise<Loading>;
  /** The actor if it is loaded here. */
  peek(workstreamId: string): Actor | null;
  loaded(): readonly Actor[];
  /** This process is not the owner of anything any more. */
  deposeAll(): void;
  /** Refuses loads, lets every actor store what it accepted, gives the workstreams up. */
  stop(withinMs: number): Promise<void>;
}

export interface RegistryDeps extends Omit<ActorDeps, 'onEnd' | 'onRest'> {
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
  /** Why nothing is loaded any more, once that is so. */
  let closed: 'SHUTTING_DOWN' | 'OWNER_LOST' | null = null;

  async function load(id: string): Promise<Loading> {
    if (closed) return { type: 'Rejected', code: closed };
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
  }

  /** A throw on the way, for any reason but the database being away, is a failed load (D-71). */
  async function claimAndRun(id: string): Promise<Loading> {
    try {
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
      await endLeftovers(workstream);
      if (closed) {
        await deps.ownership.release(id, deps.sessionId, workstream.epoch);
        return { type: 'Rejected', code: closed };
      }
      deps.hub.publish(id, {
        type: 'EpochStarted',
        epoch: workstream.epoch,
        from: workstream.projection.revision,
      });
      return { type: 'loaded', actor: run(workstream) };
    } catch (error) {
      if (!(error instanceof StorageUnavailableError)) await failed(id, messageOf(error));
      throw error;
    }
  }

  /** Throws when already the first step does. */
  function run(workstream: LoadedWorkstream): Actor {
    const { id } = workstream;
    let bug: string | null = null;
    let failedBefore = workstream.failedLoads > 0;
    let running: Actor | null = null;
    const actor = createActor(
      {
        ...deps,
        onEnd(reason, detail) {
          if (actors.get(id) === running) actors.delete(id);
          if (reason !== 'bug') return;
          bug = detail ?? 'a step threw';
          if (running) void carryOn(id, running, bug);
        },
        onRest() {
          if (failedBefore) void deps.ownership.recordFailedLoad(id, null).catch(() => undefined);
          failedBefore = false;
        },
      },
      workstream,
    );
    if (bug !== null) throw new Error(bug);
    running = actor;
    actors.set(id, actor);
    return actor;
  }

  /** A step threw: a turn that was live is recovered here and now, not when somebody happens to ask (D-71). */
  async function carryOn(id: string, ended: Actor, bug: string): Promise<void> {
    try {
      const count = await failed(id, bug);
      if (count < failedLoadsBeforeQuarantine && liveTurn(ended.state().projection)) await recover(id);
    } catch (error) {
      deps.log.warn({ workstream: id, error: messageOf(error) }, 'a failure could not be recorded');
    }
  }

  async function recover(id: string): Promise<Loading> {
    let loading = await load(id);
    for (let again = 1; again < failedLoadsBeforeQuarantine; again += 1) {
      if (loading.type === 'loaded' || loading.code !== 'OWNER_LOST') break;
      loading = await load(id);
    }
    return loading;
  }

  /** Kills process groups of calls that were running on this host when their server died. */
  async function endLeftovers(workstream: LoadedWorkstream): Promise<void> {
    if (workstream.previousHost !== deps.host) return;
    const { batch, turn } = workstream.projection;
    const started = [
      ...(batch?.calls ?? [])
        .filter((open) => open.started && open.result === null)
        .map((open) => open.call.callId),
      // What a forced turn left running is ended with the rest (D-66).
      ...(turn?.outcome?.unconfirmed ?? []),
    ];
    if (started.length === 0) return;
    const ended = await deps.processes.endLeftovers(started);
    if (ended.length > 0)
      deps.log.info({ workstream: workstream.id, calls: ended }, 'ended processes a dead server left behind');
  }

  /** Counts it; answers how many in a row. */
  async function failed(id: string, reason: string): Promise<number> {
    const count = await deps.ownership.recordFailedLoad(id, reason);
    const level = count >= failedLoadsBeforeQuarantine ? 'is quarantined' : 'failed to run';
    deps.log.error({ workstream: id, reason, count }, `a workstream ${level}`);
    return count;
  }

  return {
    load,
    recover,
    discard(id) {
      actors.get(id)?.depose('discarded');
      actors.delete(id);
      return load(id);
    },
    peek: (id) => actors.get(id) ?? null,
    loaded: () => [...actors.values()],
    deposeAll() {
      closed ??= 'OWNER_LOST';
      for (const actor of actors.values()) actor.depose('ownerLost');
      actors.clear();
    },
    async stop(withinMs) {
      closed ??= 'SHUTTING_DOWN';
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
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
