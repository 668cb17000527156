/**
 * Owns: which workstreams are loaded in this process: loading them, one flight per id (D-22), and letting them rest
 * (D-24). Commands and recovery load; reads and feeds never do.
 *
 * Invariants: at most one actor per id here, and none of a workstream that storage has deleted; no more of them than
 * `maxLoaded`, but for recovery, which carries on what was accepted; a load takes epoch+1 before anything else, and
 * ends what a predecessor on this host left running before the turn goes on (D-70); a workstream whose load or step
 * throws three times in a row is quarantined, and boot goes on (D-71).
 */
import { liveTurn, type Fire, type Projection } from 'schema/projection';
import type { CoreRefusal } from '../../core/refusals.ts';
import { reasonOf } from '../../core/kit/reason.ts';
import type { Log } from '../../ports/log.ts';
import { failedLoadsBeforeQuarantine, type LoadedWorkstream, type Ownership } from '../../ports/ownership.ts';
import type { Processes } from '../../ports/processes.ts';
import { StorageUnavailableError } from '../../ports/storage-unavailable.ts';
import type { ServerRefusal } from '../refusals.ts';
import { createActor, type Actor, type ActorDeps } from './actor.ts';

type LoadRefusal = ServerRefusal | Extract<CoreRefusal, { code: 'WORKSTREAM_NOT_FOUND' }>;

export type Loading = { readonly type: 'loaded'; readonly actor: Actor } | LoadRefusal;

export interface Registry {
  /** The actor, loaded now if need be. */
  load(workstreamId: string): Promise<Loading>;
  /** Loads it, and again when that fails, until it runs or is quarantined: for turns nobody waits for (D-71). */
  recover(workstreamId: string): Promise<Loading>;
  /**
   * Loads what is durable in the place of this actor, which drops what it could not store (D-51). It goes on as it was
   * until all that takes the database has been done; refused before then, nothing was dropped.
   */
  discard(workstreamId: string, actor: Actor): Promise<Loading>;
  /** Lets it rest, if it can; commands that come meanwhile wait and load it again. */
  unload(workstreamId: string): boolean;
  /** Lets everything rest that nobody needed for `idleUnloadMs`, or is too much; answers how many. */
  unloadIdle(): number;
  /**
   * Gives up what storage has as loaded here and is not: the database was away when it was to rest, or before it ran. No
   * other server could take it. Rejects when the database is away.
   */
  giveUpRest(): Promise<void>;
  /** What a load of this workstream waits for now; resolves when that is over. */
  gate(workstreamId: string): Promise<unknown> | undefined;
  /** Runs `work` while nothing loads this workstream: after the flight under way, before the next. One at a time. */
  alone<T>(workstreamId: string, work: () => Promise<T>): Promise<T>;
  /** Storage has deleted it, which was loaded as `was`: ends that, and its feeds, and says so once. */
  deleted(workstreamId: string, was: Actor | null): void;
  /** Ends processes that a dead server on this host left running for a workstream that nobody runs. */
  endLeftovers(workstreamId: string, projection: Projection): Promise<void>;
  /** Ids of what is loaded, or being loaded. */
  present(): readonly string[];
  /** The actor if it is loaded here. */
  peek(workstreamId: string): Actor | null;
  loaded(): readonly Actor[];
  /** This process is not the owner of anything any more. */
  deposeAll(): void;
  /** Refuses loads, lets every actor store what it accepted, gives the workstreams up. */
  stop(withinMs: number): Promise<void>;
}

export interface RegistryLimits {
  /** Workstreams in memory at once. */
  readonly maxLoaded: number;
  /** How long one may be there unused, milliseconds. */
  readonly idleUnloadMs: number;
}

const defaultLimits: RegistryLimits = { maxLoaded: 500, idleUnloadMs: 30 * 60_000 };

export interface RegistryDeps extends Omit<ActorDeps, 'onEnd' | 'onRest'> {
  readonly ownership: Ownership;
  readonly processes: Processes;
  readonly sessionId: string;
  /** Name of this machine. */
  readonly host: string;
  readonly log: Log;
  readonly limits?: RegistryLimits;
  /** What watches of a workstream have said and it has not written down. */
  readonly fires: (workstreamId: string) => Promise<readonly Fire[]>;
}

export function createRegistry(deps: RegistryDeps): Registry {
  const { clock } = deps;
  const { maxLoaded, idleUnloadMs } = deps.limits ?? defaultLimits;
  /** Least recently used first, and when that was. */
  const actors = new Map<string, { readonly actor: Actor; readonly usedAt: number }>();
  /** What the next load of a workstream waits for. */
  const gates = new Map<string, Promise<unknown>>();
  const flights = new Map<string, Promise<Loading>>();
  /** Why nothing is loaded any more, once that is so. */
  let closed: 'SHUTTING_DOWN' | 'OWNER_LOST' | null = null;

  /** `instead`: an actor whose place the loaded one is to take. */
  async function load(id: string, recovers = false, instead: Actor | null = null): Promise<Loading> {
    for (;;) {
      if (closed) return { type: 'Rejected', code: closed };
      const known = peek(id);
      if (known && known !== instead) {
        use(id, known);
        return { type: 'loaded', actor: known };
      }
      const flight = flights.get(id);
      if (flight) return flight;
      const gate = gates.get(id);
      if (!gate) break;
      await gate;
    }
    if (!recovers && !instead && !makeRoom())
      return { type: 'Rejected', code: 'AT_CAPACITY', capacity: maxLoaded };
    const flight = claimAndRun(id, instead)
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

  const peek = (id: string): Actor | null => actors.get(id)?.actor ?? null;
  const loaded = (): readonly Actor[] => [...actors.values()].map(({ actor }) => actor);

  function use(id: string, actor: Actor): void {
    actors.delete(id);
    actors.set(id, { actor, usedAt: clock.now() });
  }

  /** True when one more may be loaded; the least recently used one that can rest makes way. */
  function makeRoom(): boolean {
    const flying = [...flights.keys()].filter((id) => !actors.has(id)).length;
    while (actors.size + flying >= maxLoaded) if (![...actors.keys()].some(unload)) return false;
    return true;
  }

  function unload(id: string): boolean {
    const actor = peek(id);
    if (!actor?.seal()) return false;
    actors.delete(id);
    const { epoch } = actor.state();
    // Given up in order, so that another server may take it; the next load waits, for it would be fenced otherwise.
    shutGate(id, giveUp(id, epoch));
    return true;
  }

  function shutGate(id: string, until: Promise<unknown>): void {
    const gate = Promise.all([gates.get(id), until]).finally(() => {
      if (gates.get(id) === gate) gates.delete(id);
    });
    gates.set(id, gate);
  }

  const giveUp = (id: string, epoch: number): Promise<void> =>
    deps.ownership
      .release(id, deps.sessionId, epoch)
      .catch((error: unknown) =>
        deps.log.warn({ workstream: id, error: String(error) }, 'could not release a workstream'),
      );

  async function alone<T>(id: string, work: () => Promise<T>): Promise<T> {
    for (let gate = gates.get(id); gate; gate = gates.get(id)) await gate;
    let open = (): void => undefined;
    shutGate(id, new Promise<void>((resolve) => (open = resolve)));
    try {
      await flights.get(id);
      return await work();
    } finally {
      open();
    }
  }

  function deleted(id: string, was: Actor | null): void {
    // Its own lane was quicker, and has said so.
    if (was?.ended() === 'gone') return;
    if (was && peek(id) === was) actors.delete(id);
    if (was?.ended() === null) was.depose('gone');
    else deps.hub.publish(id, { type: 'Ended', reason: 'This workstream was deleted.', resumable: false });
    deps.hub.announceDeleted(id);
  }

  /** A throw on the way, for any reason but the database being away, is a failed load (D-71). */
  async function claimAndRun(id: string, instead: Actor | null): Promise<Loading> {
    try {
      const claim = await deps.ownership.claim(id, deps.sessionId);
      switch (claim.type) {
        case 'notFound':
          if (instead) deleted(id, instead);
          return { type: 'Rejected', code: 'WORKSTREAM_NOT_FOUND' };
        case 'elsewhere':
          if (instead) drop(id, instead, 'ownerLost');
          return { type: 'Rejected', code: 'OWNER_ELSEWHERE' };
        case 'quarantined':
          return { type: 'Rejected', code: 'QUARANTINED', reason: claim.reason };
        case 'claimed':
          break;
      }
      const { workstream } = claim;
      if (workstream.previousHost === deps.host) await endLeftovers(id, workstream.projection);
      if (closed) {
        await deps.ownership.release(id, deps.sessionId, workstream.epoch);
        return { type: 'Rejected', code: closed };
      }
      if (instead) drop(id, instead, 'discarded');
      deps.hub.publish(id, {
        type: 'EpochStarted',
        epoch: workstream.epoch,
        from: workstream.projection.revision,
      });
      return { type: 'loaded', actor: run(workstream) };
    } catch (error) {
      if (!(error instanceof StorageUnavailableError)) await failed(id, reasonOf(error));
      throw error;
    }
  }

  function drop(id: string, actor: Actor, reason: 'ownerLost' | 'discarded'): void {
    actor.depose(reason);
    if (peek(id) === actor) actors.delete(id);
  }

  /** Throws when already the first step does. */
  function run(workstream: LoadedWorkstream): Actor {
    const { id, projection } = workstream;
    const isWatching = projection.watches.length > 0;
    let bug: string | null = null;
    let failedBefore = workstream.failedLoads > 0;
    let running: Actor | null = null;
    const actor = createActor(
      {
        ...deps,
        onEnd(reason, detail) {
          if (running && peek(id) === running) actors.delete(id);
          if (reason === 'gone') deps.hub.announceDeleted(id);
          if (reason !== 'bug') return;
          bug = detail ?? 'a step threw';
          if (running) void carryOn(id, running, bug);
        },
        onRest() {
          if (failedBefore) void deps.ownership.recordFailedLoad(id, null).catch(() => undefined);
          failedBefore = false;
          if (running && peek(id) === running) use(id, running);
        },
      },
      workstream,
    );
    if (bug !== null) throw new Error(bug);
    running = actor;
    use(id, actor);
    if (isWatching) void hear(id, actor);
    return actor;
  }

  /** What its watches said while it was not loaded; else the round of watches tells it. */
  async function hear(id: string, actor: Actor): Promise<void> {
    try {
      actor.fired(await deps.fires(id));
    } catch (error) {
      deps.log.info(
        { workstream: id, error: reasonOf(error) },
        'what its watches said could not be read yet',
      );
    }
  }

  /** A step threw: a turn that was live is recovered here and now, not when somebody happens to ask (D-71). */
  async function carryOn(id: string, ended: Actor, bug: string): Promise<void> {
    try {
      const count = await failed(id, bug);
      if (count < failedLoadsBeforeQuarantine && liveTurn(ended.state().projection)) await recover(id);
    } catch (error) {
      deps.log.warn({ workstream: id, error: reasonOf(error) }, 'a failure could not be recorded');
    }
  }

  async function recover(id: string): Promise<Loading> {
    let loading = await load(id, true);
    for (let again = 1; again < failedLoadsBeforeQuarantine; again += 1) {
      if (loading.type === 'loaded' || loading.code !== 'OWNER_LOST') break;
      loading = await load(id, true);
    }
    return loading;
  }

  /**
   * Kills process groups of calls that were running on this host when their server died. What its turns do not wait for
   * is ended by the round that looks for sessions that are over.
   */
  async function endLeftovers(id: string, { batch }: Projection): Promise<void> {
    const started = (batch?.calls ?? [])
      .filter((open) => open.started && open.result === null)
      .map((open) => open.call.callId);
    if (started.length === 0) return;
    const ended = await deps.processes.endLeftovers({ callIds: started });
    if (ended.length > 0)
      deps.log.info({ workstream: id, calls: ended }, 'killed what was found running of a dead server');
  }

  /** Counts it; answers how many in a row. */
  async function failed(id: string, reason: string): Promise<number> {
    const count = await deps.ownership.recordFailedLoad(id, reason);
    const level = count >= failedLoadsBeforeQuarantine ? 'is quarantined' : 'failed to run';
    deps.log.error({ workstream: id, reason, count }, `a workstream ${level}`);
    return count;
  }

  return {
    load: (id) => load(id),
    recover,
    unload,
    discard: (id, actor) => load(id, false, actor),
    unloadIdle() {
      const before = clock.now() - idleUnloadMs;
      return [...actors].filter(
        ([id, { usedAt }]) => (actors.size > maxLoaded || usedAt <= before) && unload(id),
      ).length;
    },
    async giveUpRest() {
      const held = await deps.ownership.held(deps.sessionId);
      // Whoever loads one from here on has another epoch, of which that says nothing.
      const rest = held.filter(({ id }) => !actors.has(id) && !flights.has(id) && !gates.has(id));
      for (const { id, epoch } of rest) await deps.ownership.release(id, deps.sessionId, epoch);
    },
    gate: (id) => gates.get(id),
    alone,
    deleted,
    endLeftovers,
    present: () => [...new Set([...actors.keys(), ...flights.keys()])],
    peek,
    loaded,
    deposeAll() {
      closed ??= 'OWNER_LOST';
      for (const actor of loaded()) actor.depose('ownerLost');
      actors.clear();
    },
    async stop(withinMs) {
      closed ??= 'SHUTTING_DOWN';
      await Promise.all(flights.values());
      await Promise.all(
        [...actors].map(async ([id, { actor }]) => {
          await actor.stop(withinMs);
          await giveUp(id, actor.state().epoch);
        }),
      );
      actors.clear();
      await Promise.all(gates.values());
    },
  };
}
