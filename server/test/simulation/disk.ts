/**
 * Owns: the database of a simulated world, as processes reach it: requests travel, are carried out whole or not at
 * all, and are answered, each when a move says so; it goes away, loses answers, and ends sessions by its own clock.
 * Does not own: what it does with a request (the memory storage, which answers to the same contract as PostgreSQL).
 */
import { applyEntries, emptyProjection, liveTurn, stateOf } from 'schema/projection';
import type { Storage } from '../../src/adapters/storage/index.ts';
import type { CommitOutcome } from '../../src/ports/journal.ts';
import { sessionTermMs, type Session } from '../../src/ports/ownership.ts';
import type { ModelCall, RecordedCall } from '../../src/ports/usage.ts';
import { StorageUnavailableError } from '../../src/ports/storage-unavailable.ts';
import { createMemoryStorage } from '../support/memory-storage.ts';
import { idOf } from './chance.ts';
import type { JournalLaws } from './journal-laws.ts';
import type { Violate } from './laws.ts';
import type { Process, Scheduler } from './scheduler.ts';
import type { Trap } from './trap.ts';

/**
 * How the next request fares. `written`: carried out, its answer lost. `unwritten`: lost on the way. `late`: called
 * unavailable, and carried out some time after that.
 */
export type Mishap = 'written' | 'unwritten' | 'late';

export interface Disk {
  connect(
    process: Process,
  ): Pick<
    Storage,
    | 'journal'
    | 'ownership'
    | 'catalog'
    | 'reservations'
    | 'removal'
    | 'search'
    | 'watches'
    | 'sessions'
    | 'tokens'
    | 'usage'
  >;
  away(is: boolean): void;
  befall(mishap: Mishap): void;
  /** No more mishaps. */
  calm(): void;
  /** Tells a process that its connections broke. */
  breakLocks(process: Process): void;
  /** Another process takes the workstream, and dies. */
  rob(workstreamId: string): void;
  /** Failed loads are forgotten, as by an operator. */
  forgive(workstreamId: string): Promise<void>;
  /** What is counted for it, and what its row says, once nobody owns it any more. */
  audit(
    workstreamId: string,
  ): Promise<{ readonly calls: readonly RecordedCall[]; readonly spent: number } | null>;
  /** Deletes a workstream and restores it, under the same id and another incarnation. */
  replace(workstreamId: string): Promise<void>;
}

interface Term {
  readonly process: Process;
  expiresAt: number;
}

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

export function createDisk(deps: {
  readonly scheduler: Scheduler;
  readonly laws: JournalLaws;
  readonly trap: Trap;
  readonly violate: Violate;
  /** Model calls were counted beside any batch. */
  counted(workstreamId: string, calls: readonly ModelCall[]): void;
}): Disk {
  const { scheduler, laws, trap, violate } = deps;
  const inner = createMemoryStorage({ now: scheduler.now, after: () => () => undefined });
  const terms = new Map<string, Term>();
  const lockListeners: { readonly process: Process; readonly callback: () => void }[] = [];
  let mishaps: readonly Mishap[] = [];
  let isAway = false;
  let replaced = 0;

  /** The database's own clock ends what was not renewed. */
  function endTerms(): void {
    for (const [id, { expiresAt }] of terms) {
      if (scheduler.now() <= expiresAt) continue;
      inner.expire(id);
      terms.delete(id);
    }
  }

  function call<T>(
    process: Process,
    what: string,
    work: () => Promise<T>,
    unavailable: () => Promise<T>,
  ): Promise<T> {
    if (!process.alive) return never();
    const title = `${process.name}: ${what}`;
    return new Promise<T>((resolve, reject) => {
      const answer = (given: Promise<T>): void =>
        void given.then(
          (value) => scheduler.later(process, `${title} is answered`, () => resolve(value)),
          (error: Error) => scheduler.later(process, `${title} fails`, () => reject(error)),
        );
      const carryOut = (): Promise<T> => {
        endTerms();
        return scheduler.during(work());
      };
      scheduler.send(process, title, () => {
        if (isAway || process.cutOff) return answer(unavailable());
        const [mishap, ...rest] = mishaps;
        mishaps = rest;
        if (mishap === undefined) return answer(carryOut());
        if (mishap === 'late')
          scheduler.send(process, `${title} arrives late`, () => {
            if (!isAway) void carryOut().catch(() => undefined);
          });
        if (mishap !== 'written') return answer(unavailable());
        void carryOut()
          .catch(() => undefined)
          .then(() => answer(unavailable()));
      });
    });
  }

  const gone = (): Promise<never> =>
    Promise.reject(new StorageUnavailableError('The database does not answer (SIM).'));

  /** Every function of a port, over the wire; `watch` sees what it did as soon as it is done. */
  function over<P extends object>(
    process: Process,
    name: string,
    port: P,
    watch: { readonly [K in keyof P]?: (args: never, value: never) => void } = {},
  ): P {
    const entries = Object.entries(port) as [keyof P & string, (...args: unknown[]) => Promise<unknown>][];
    return Object.fromEntries(
      entries.map(([method, f]) => [
        method,
        (...args: unknown[]) =>
          call(
            process,
            `${name}.${method}`,
            async () => {
              const value = await f(...args);
              watch[method]?.(args as never, value as never);
              return value;
            },
            gone,
          ),
      ]),
    ) as unknown as P;
  }

  const isLive = (session: string): boolean => terms.has(session);

  /** One flight at a time loads a workstream into a process. */
  function oneAtATime(process: Process, ownership: Storage['ownership']): Storage['ownership'] {
    const flying = new Set<string>();
    return {
      ...ownership,
      claim(id, session) {
        if (flying.has(id)) violate('D-22', `${process.name} loads ${id} twice at once`);
        flying.add(id);
        return ownership.claim(id, session).finally(() => flying.delete(id));
      },
    };
  }

  return {
    connect(process) {
      const { name } = process;
      const journal = over(process, 'journal', inner.journal, {
        conversation: () => void trap.springs(process, 'read', 'after'),
      });
      const usage = over(process, 'usage', inner.usage, {
        record: ([id, calls]: Parameters<Storage['usage']['record']>) => {
          laws.usage.written(id, calls, null);
          deps.counted(id, calls);
          trap.springs(process, 'count', 'after');
        },
      });
      return {
        usage: {
          ...usage,
          record: (id, calls) =>
            process.alive && !trap.springs(process, 'count', 'before') ? usage.record(id, calls) : never(),
        },
        journal: {
          ...journal,
          conversation: (id, range) =>
            process.alive && !trap.springs(process, 'read', 'before')
              ? journal.conversation(id, range)
              : never(),
          commit(batch) {
            if (!process.alive || trap.springs(process, 'commit', 'before')) return never();
            const last = batch.expectedHead + batch.entries.length;
            return call<CommitOutcome>(
              process,
              `commit ${batch.expectedHead + 1}..${last} of epoch ${batch.epoch} (${batch.entries.map((e) => e.kind).join(' ')})`,
              async () => {
                const outcome = await inner.journal.commit(batch);
                laws.committed(batch, outcome, name, inner.entries(batch.workstreamId));
                trap.springs(process, 'commit', 'after');
                return outcome;
              },
              () => Promise.resolve({ type: 'unavailable', message: 'The database does not answer (SIM).' }),
            );
          },
        },
        ownership: oneAtATime(
          process,
          over(process, 'ownership', inner.ownership, {
            claim: (
              [id, session]: [string, string],
              outcome: Awaited<ReturnType<Storage['ownership']['claim']>>,
            ) => {
              if (outcome.type !== 'claimed') return;
              laws.claimed(id, outcome.workstream.epoch, session, name, isLive);
              laws.usage.claimed(id, outcome.workstream.epoch, outcome.workstream.spent);
              trap.springs(process, 'claim', 'after');
            },
            release: ([id]: [string]) => {
              if (inner.owner(id) === null) laws.released(id);
            },
          }),
        ),
        catalog: over(process, 'catalog', inner.catalog),
        tokens: over(process, 'tokens', inner.tokens),
        removal: over(process, 'removal', inner.removal),
        search: over(process, 'search', inner.search),
        watches: over(process, 'watches', inner.watches),
        reservations: over(process, 'reservations', inner.reservations, {
          publish: (
            [batch]: Parameters<Storage['reservations']['publish']>,
            outcome: Awaited<ReturnType<Storage['reservations']['publish']>>,
          ) => {
            if (outcome.type === 'published') laws.published(batch);
            trap.springs(process, 'commit', 'after');
          },
        }),
        sessions: {
          begin: (nodeId, host) =>
            call(
              process,
              'sessions.begin',
              async () => {
                // A dead process holds no lock: whoever gets it ends the session that was left.
                for (const [id, term] of terms)
                  if (term.process.nodeId === nodeId && !term.process.alive) {
                    inner.expire(id);
                    terms.delete(id);
                  }
                const begun = await inner.sessions.begin(nodeId, host);
                if (begun.type === 'busy') return begun;
                terms.set(begun.session.id, { process, expiresAt: scheduler.now() + sessionTermMs });
                return { type: 'begun', session: sessionOf(process, begun.session) };
              },
              gone,
            ),
        },
      };
    },
    away: (is) => void (isAway = is),
    befall: (mishap) => void (mishaps = [...mishaps, mishap]),
    calm: () => void (mishaps = []),
    breakLocks(process) {
      for (const listener of lockListeners)
        if (listener.process === process)
          scheduler.later(process, `${process.name} loses its lock`, listener.callback);
    },
    rob(id) {
      const book = laws.book(id);
      if (!book) return;
      inner.takeOver(id);
      laws.claimed(id, book.epoch + 1, 'another', 'another', () => false);
    },
    forgive: async (id) => void (await scheduler.during(inner.ownership.recordFailedLoad(id, null))),
    async audit(id) {
      for (const session of terms.keys()) inner.expire(session);
      terms.clear();
      const begun = await scheduler.during(inner.sessions.begin('auditor', 'nowhere'));
      if (begun.type !== 'begun') return null;
      const claim = await scheduler.during(inner.ownership.claim(id, begun.session.id));
      const calls = await scheduler.during(inner.usage.calls(id, { limit: 100_000, before: null }));
      return claim.type === 'claimed' ? { calls, spent: claim.workstream.spent } : null;
    },
    async replace(id) {
      const old = laws.book(id)!;
      const incarnation = idOf(900_000 + (replaced += 1));
      // With the epoch that the next load will make that of the old owner, and at its head.
      const whole = liveTurn(old.fold) === null && old.epoch > 0;
      const epoch = whole ? old.epoch - 1 : 0;
      const entries = (whole ? old.entries : old.entries.slice(0, 2)).map((entry) => ({
        ...entry,
        id: `${incarnation}-${entry.revision}`,
        epoch,
      }));
      inner.remove(id);
      laws.removed(id);
      const projection = applyEntries(emptyProjection, entries);
      const batch = {
        workstreamId: id,
        incarnation,
        epoch,
        expectedHead: 0,
        entries,
        projection,
        state: stateOf(projection),
        receipts: [],
        calls: [],
      };
      await scheduler.during(inner.reservations.reserve({ id, incarnation, sessionId: 'an administrator' }));
      const outcome = await scheduler.during(inner.reservations.publish(batch));
      if (outcome.type === 'published') laws.published(batch);
      else violate('D-22', `${id} could not be made again`);
    },
  };

  function sessionOf(process: Process, session: Session): Session {
    return {
      id: session.id,
      nodeId: session.nodeId,
      renew: () =>
        call(
          process,
          'session.renew',
          async () => {
            const renewed = await session.renew();
            const term = terms.get(session.id);
            if (renewed && term) term.expiresAt = scheduler.now() + sessionTermMs;
            return renewed;
          },
          gone,
        ),
      end: () =>
        call(
          process,
          'session.end',
          async () => {
            await session.end();
            terms.delete(session.id);
          },
          () => Promise.resolve(),
        ),
      onLost: (callback) => void lockListeners.push({ process, callback }),
    };
  }
}
