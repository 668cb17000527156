/**
 * Owns: watches and how their polls go, without a database; part of `memory-storage.ts`, under the same contract as the
 * tables. Times are the test's clock.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Entry, Fire, Watch } from 'schema/projection';
import { recordParameters } from '../../src/adapters/storage/watches.ts';
import { fireCapacity, watchCapacity } from '../../src/core/watches/definition.ts';
import type { Clock } from '../../src/ports/clock.ts';
import {
  pollsKept,
  type ClaimedPoll,
  type Landing,
  type PollOutcome,
  type PollRecord,
  type WatchRow,
  type WatchStore,
} from '../../src/ports/watches.ts';

/** A workstream as far as watches depend on it. */
export interface WatchedWorkstream {
  readonly lifecycle: 'CREATING' | 'OPEN' | 'CLOSED';
  readonly quarantine: string | null;
  readonly owner: string | null;
  readonly host: string | null;
  readonly workspace: string;
}

interface Row {
  readonly workstreamId: string;
  readonly watch: Watch;
  readonly next: number | null;
  readonly claim: string | null;
  readonly claimedBy: string | null;
  readonly lease: number | null;
  readonly canceled: boolean;
  readonly polls: number;
  readonly fires: number;
  readonly errors: number;
  readonly lastPollAt: number | null;
  readonly lastExitCode: number | null;
  readonly lastOutput: string | null;
  readonly lastError: string | null;
  readonly history: readonly PollRecord[];
  readonly waiting: readonly Fire[];
}

/** What the store answers, at once. */
type Sync<T> = {
  readonly [K in keyof T]: T[K] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never;
};

export interface MemoryWatches {
  readonly store: Sync<WatchStore>;
  /** Does what the entries of a batch say, or answers why the tables refuse it, and does nothing. */
  commit(workstreamId: string, entries: readonly Entry[]): string | null;
  drop(workstreamId: string): void;
}

const stored = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
const everyMs = ({ watch }: Row): number => watch.definition.everySeconds * 1_000;
const deadlineOf = ({ definition }: Watch): number =>
  definition.deadline === null ? Infinity : Date.parse(definition.deadline);

export function createMemoryWatches({
  clock,
  workstream,
  isLive,
}: {
  readonly clock: Clock;
  workstream(id: string): WatchedWorkstream | undefined;
  isLive(sessionId: string | null): boolean;
}): MemoryWatches {
  let rows: ReadonlyMap<string, Row> = new Map();
  let claims = 0;

  const change = (row: Row, part: Partial<Row>): void =>
    void (rows = new Map(rows).set(row.watch.id, { ...row, ...part }));
  const isRunning = (row: Row): boolean =>
    row.lease !== null && row.lease > clock.now() && isLive(row.claimedBy);
  const isLoadable = (id: string, sessionId: string): boolean => {
    const by = workstream(id);
    if (by?.lifecycle !== 'OPEN' || by.quarantine !== null) return false;
    return by.owner === sessionId || !isLive(by.owner);
  };
  const isHere = (id: string, host: string): boolean => workstream(id)?.host === host;
  /** Of this server, with a next poll, the first first. */
  const mine = ({ sessionId, host }: { readonly sessionId: string; readonly host: string }) =>
    [...rows.values()]
      .filter(
        (row) =>
          row.next !== null && isHere(row.workstreamId, host) && isLoadable(row.workstreamId, sessionId),
      )
      .toSorted((a, b) => (isBefore(a, b) ? -1 : 1));

  const ends = ({ ended, reason, definition }: Fire, watch: Watch): boolean =>
    ended && (reason === 'DEADLINE' || isDeepStrictEqual(stored(definition), stored(watch.definition)));

  function written(before: ReadonlyMap<string, Row>, workstreamId: string, watch: Watch): Row {
    const known = before.get(watch.id);
    const now = clock.now();
    const isActive = watch.status === 'ACTIVE';
    const said = watch.due === 'NOW' ? now : now + watch.definition.everySeconds * 1_000;
    const due = watch.due === null ? (known?.next ?? null) : Math.min(said, deadlineOf(watch));
    const isSame = known?.watch.version === watch.version;
    const row: Row = known ?? {
      workstreamId,
      watch,
      next: null,
      claim: null,
      claimedBy: null,
      lease: null,
      canceled: false,
      polls: 0,
      fires: 0,
      errors: 0,
      lastPollAt: null,
      lastExitCode: null,
      lastOutput: null,
      lastError: null,
      history: [],
      waiting: [],
    };
    return {
      ...row,
      watch: stored(watch),
      next: isActive && !row.waiting.some((fire) => ends(fire, watch)) ? due : null,
      canceled: row.canceled || !isActive || (known !== undefined && !isSame),
      errors: isSame ? row.errors : 0,
      lastOutput: row.watch.definition.command === watch.definition.command ? row.lastOutput : null,
      waiting: watch.status === 'ENDED' ? [] : row.waiting,
    };
  }

  function claimed(row: Row, sessionId: string, leaseMs: number): ClaimedPoll {
    const now = clock.now();
    const { id, version, definition, author, depth, createdAt } = row.watch;
    const claim = `claim-${(claims += 1)}`;
    change(row, { claim, claimedBy: sessionId, lease: now + leaseMs, canceled: false });
    return {
      claim,
      workstreamId: row.workstreamId,
      watchId: id,
      version,
      definition: stored(definition),
      author,
      depth,
      workspace: workstream(row.workstreamId)?.workspace ?? '',
      poll: row.polls + 1,
      scheduledAt: iso(row.next)!,
      createdAt,
      lateMs: Math.max(0, now - row.next!),
      prevOutput: row.lastOutput,
      errors: row.errors,
      fires: row.fires,
      overdue: deadlineOf(row.watch) <= now,
    };
  }

  function record(outcome: PollOutcome): Landing {
    const said = recordParameters(outcome);
    const row = rows.get(said.watchId);
    if (row?.claim !== said.claim) return 'LOST';
    const now = clock.now();
    const { ran } = said;
    const fresh = row.watch.version === said.version && row.watch.status === 'ACTIVE' && !row.canceled;
    const fired = fresh && said.fired;
    const poll = row.polls + (ran ? 1 : 0);
    const at = now - said.durationMs;
    const { exitCode, error, durationMs, tail } = said;
    const kept: PollRecord = {
      poll,
      at: iso(at)!,
      durationMs,
      exitCode,
      fired,
      error,
      outputTail: tail,
    };
    const fire = said.fire === null ? null : (JSON.parse(said.fire) as Fire);
    const isNew = fire !== null && row.waiting.every((other) => other.poll !== fire.poll);
    change(row, {
      claim: null,
      claimedBy: null,
      lease: null,
      polls: poll,
      fires: row.fires + (fired ? 1 : 0),
      ...(ran && { lastPollAt: at, history: [kept, ...row.history].slice(0, pollsKept) }),
      ...(fresh && { errors: said.errors }),
      ...(fresh &&
        ran && { lastExitCode: exitCode, lastError: error, lastOutput: said.output ?? row.lastOutput }),
      ...(fresh &&
        fire && {
          waiting: [...row.waiting.filter((other) => keepsPlace(row, other, fire)), ...(isNew ? [fire] : [])],
        }),
      next: fresh ? nextOf(row, said, now) : row.next,
    });
    return fresh ? 'RECORDED' : 'STALE';
  }

  /** Of workstreams that this server can load, with something to tell. */
  const telling = ({ sessionId, host }: { readonly sessionId: string; readonly host: string }) =>
    [...rows.values()].filter(
      ({ workstreamId, waiting }) =>
        waiting.length > 0 && isHere(workstreamId, host) && isLoadable(workstreamId, sessionId),
    );

  const deliveries = ({ workstreamId, limit }: Parameters<WatchStore['deliveries']>[0]): readonly Fire[] =>
    [...rows.values()]
      .filter((row) => row.workstreamId === workstreamId && workstream(workstreamId)?.lifecycle === 'OPEN')
      .flatMap((row) => row.waiting)
      .toSorted((a, b) => a.poll - b.poll || compare(a.watchId, b.watchId))
      .slice(0, limit)
      .map((fire) => stored(fire));

  const shown = (row: Row): WatchRow => {
    const { workstreamId, watch, polls, fires, next, lastPollAt, lastExitCode, lastOutput, lastError } = row;
    return stored({
      workstreamId,
      watch,
      polls,
      fires,
      nextPollAt: iso(next),
      lastPollAt: iso(lastPollAt),
      lastExitCode,
      lastOutput,
      lastError,
    });
  };
  const isShown = ({ workstreamId }: Row): boolean =>
    (workstream(workstreamId)?.lifecycle ?? 'CREATING') !== 'CREATING';

  return {
    commit(workstreamId, entries) {
      let next = rows;
      for (const entry of entries) {
        if (entry.kind === 'WATCH') {
          next = new Map(next).set(entry.watch.id, written(next, workstreamId, entry.watch));
          const names = [...next.values()]
            .filter((row) => row.workstreamId === workstreamId && row.watch.status !== 'ENDED')
            .map((row) => row.watch.definition.name);
          if (names.length > watchCapacity) return '23514, watch_slot_held';
          if (new Set(names).size < names.length) return '23505, watch_name_unique';
        }
        const fire = entry.kind === 'SYSTEM' ? entry.fire : undefined;
        const teller = fire && next.get(fire.watchId);
        if (fire && teller?.workstreamId === workstreamId)
          next = new Map(next).set(fire.watchId, {
            ...teller,
            waiting: teller.waiting.filter((other) => other.poll > fire.poll),
          });
      }
      rows = next;
      return null;
    },
    drop(workstreamId) {
      rows = new Map([...rows].filter(([, row]) => row.workstreamId !== workstreamId));
    },
    store: {
      claim({ sessionId, host, limit, perWorkstream, leaseMs }) {
        if (!isLive(sessionId)) return [];
        const isDue = (row: Row): boolean => row.next !== null && row.next <= clock.now() && !isRunning(row);
        const hasRoom = (row: Row): boolean =>
          [...rows.values()].filter(
            (other) =>
              other !== row &&
              other.workstreamId === row.workstreamId &&
              (isRunning(other) || isBefore(other, row)),
          ).length < perWorkstream;
        return mine({ sessionId, host })
          .filter((row) => isDue(row) && hasRoom(row))
          .slice(0, limit)
          .map((row) => claimed(row, sessionId, leaseMs));
      },
      giveBack(sessionId, except) {
        for (const row of rows.values())
          if (row.claimedBy === sessionId && except.every(({ claim }) => claim !== row.claim))
            change(row, { claim: null, claimedBy: null, lease: null });
      },
      untilDue(request) {
        const now = clock.now();
        // A clock that went back: see the adapter.
        for (const { watch } of rows.values()) {
          const row = rows.get(watch.id)!;
          if (row.next !== null && row.next > now + everyMs(row))
            change(row, { next: Math.min(now + everyMs(row), deadlineOf(watch)) });
        }
        for (const row of rows.values())
          if (row.lease !== null && row.lease > now + request.leaseMs)
            change(row, { lease: now + request.leaseMs });
        const all = mine(request);
        const first = all.find((row) => !isRunning(row))?.next ?? Infinity;
        const leases = all.filter((row) => row.next! <= now && isRunning(row)).map((row) => row.lease!);
        const at = first <= now ? first : Math.min(first, ...leases);
        return at === Infinity ? null : at - now;
      },
      held: (claims) =>
        claims.filter(({ watchId, claim }) => {
          const row = rows.get(watchId);
          return row?.claim === claim && !row.canceled;
        }),
      record,
      waiting: ({ limit, after, ...by }) =>
        [...new Set(telling(by).map(({ workstreamId }) => workstreamId))]
          .toSorted(compare)
          .filter((id) => after === null || id > after)
          .slice(0, limit),
      deliveries,
      get(id) {
        const row = rows.get(id);
        return row && isShown(row) ? shown(row) : null;
      },
      list({ workstreamId, ended, limit, after }) {
        const all = [...rows.values()]
          .filter(isShown)
          .toSorted((a, b) => compare(placeOf(b), placeOf(a)))
          .filter((row) => workstreamId === null || row.workstreamId === workstreamId)
          .filter((row) => ended || row.watch.status !== 'ENDED');
        const last = after === null ? undefined : rows.get(after);
        if (after !== null && !last) return [];
        return all
          .filter((row) => !last || placeOf(row) < placeOf(last))
          .slice(0, limit)
          .map(shown);
      },
      polls: (id, { limit, before }) =>
        stored(
          (rows.get(id)?.history ?? [])
            .filter(({ poll }) => before === null || poll < before)
            .slice(0, limit),
        ),
      counts(request) {
        const now = clock.now();
        const due = mine(request).filter((row) => row.next! <= now);
        const free = due.filter((row) => !isRunning(row));
        return {
          due: free.length,
          running: due.filter((row) => isRunning(row) && row.claimedBy === request.sessionId).length,
          late: free.filter((row) => row.next! < now - 1_000).length,
          waiting: telling(request).reduce((sum, { waiting }) => sum + waiting.length, 0),
        };
      },
    },
  };
}

function nextOf(
  row: Row,
  said: { readonly ended: boolean; readonly scheduledAt: string },
  now: number,
): number | null {
  if (said.ended) return null;
  const scheduled = Date.parse(said.scheduledAt);
  if (row.next !== scheduled) return row.next;
  const every = everyMs(row);
  const beyond = scheduled + every * (Math.floor(Math.max(0, now - scheduled) / every) + 1);
  return Math.min(beyond, now + every, deadlineOf(row.watch));
}

/** Beside a new one: what is among the first of its watch, or an end. */
const keepsPlace = ({ waiting }: Row, one: Fire, fire: Fire): boolean =>
  one.ended ||
  one.poll > fire.poll ||
  waiting.filter(({ poll }) => poll < one.poll).length < fireCapacity - 1;

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const placeOf = ({ watch }: Row): string => `${watch.createdAt} ${watch.id}`;
/** In the order in which they are due; what has no next poll is before none. */
const isBefore = (a: Row, b: Row): boolean =>
  a.next !== null && b.next !== null && (a.next < b.next || (a.next === b.next && a.watch.id < b.watch.id));
