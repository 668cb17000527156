/**
 * Owns: what must hold of watches whatever happens to them (D-80 to D-84), worked out from what the database was asked
 * and answered, what landed in the journals, and which commands ran. Shares no code with what it judges.
 *
 * Invariants: each law is looked at when what it is about has just been done, in the order of the database; the first
 * one that does not hold stays.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Entry, Fire, Watch } from 'schema/projection';
import type { ClaimedPoll, Landing, PollOutcome } from '../../../src/ports/watches.ts';

/** One life of a server. */
export interface Holder {
  readonly name: string;
  /** It lives, and the database takes its session for alive. */
  isLive(): boolean;
}

interface Claim {
  readonly poll: ClaimedPoll;
  readonly holder: Holder;
  readonly leaseMs: number;
  until: number;
  /** Times its command was started. */
  runs: number;
  /** A command of it runs. */
  running: boolean;
  landing: Landing | null;
  /** Its watch was edited, paused or ended since. */
  canceled: boolean;
  /** The clock went on without it, which may end its lease in the middle of the poll. */
  slept: boolean;
}

interface Known {
  readonly workstreamId: string;
  watch: Watch;
  /** When the next poll is to be, by the database's clock; null: never. */
  due: number | null;
  /** The clock went back since: it may be due sooner. */
  sooner: boolean;
  /** Polls that were written down. */
  polls: number;
  /**
   * There may be one poll more: one was written down of a watch that had been changed meanwhile, it was edited, or it was
   * made due before its workstream had written down that it is over.
   */
  excess: boolean;
  readonly claims: Claim[];
  /** What is to be told, by its poll. */
  readonly said: Map<number, Fire>;
  readonly told: Set<number>;
  /** How many had not been told when this poll was kept. */
  readonly waited: Map<number, number>;
  /** The poll of the fire that ended it; null: it was canceled, or lives. */
  endedBy: number | null;
}

export interface WatchLaws {
  readonly violation: string | null;
  violate(law: string, detail: string): void;
  claimed(holder: Holder, polls: readonly ClaimedPoll[], leaseMs: number): void;
  /** It knows of these, and of no others that it was given. */
  gaveBack(holder: Holder, except: readonly ClaimedPoll[]): void;
  started(holder: Holder, claim: string, watchId: string): void;
  /** A command ended, or its server died and took it along. */
  ended(claim: string, watchId: string): void;
  recorded(outcome: PollOutcome, landing: Landing): void;
  committed(workstreamId: string, entries: readonly Entry[]): void;
  removed(workstreamId: string): void;
  clockWasSet(ms: number): void;
  /** It stood still, and its leases went on. */
  woke(holder: Holder): void;
  /** Nothing is under way, everything is open: what was to be told was told. */
  atRest(): void;
  /** Nobody is in trouble: nothing that is due waits longer than this. */
  noneLate(ms: number): void;
  watches(): readonly {
    readonly workstreamId: string;
    readonly watch: Watch;
    readonly running: boolean;
    /** A server has it to poll. */ readonly held: boolean;
  }[];
  /** Those that are there. */
  workstreams(): readonly { readonly id: string; readonly lifecycle: 'OPEN' | 'CLOSED' }[];
}

const perWorkstream = 2;
/** Fires of a watch, of which some may be left out when there is one more. */
const mostWaiting = 5;

export function createWatchLaws(now: () => number, note: (what: string) => void): WatchLaws {
  const known = new Map<string, Known>();
  const lifecycles = new Map<string, 'OPEN' | 'CLOSED'>();
  /** Deleted with their workstream. */
  const gone = new Set<string>();
  let violation: string | null = null;

  function violate(law: string, detail: string): void {
    note(`✗ ${law}: ${detail}`);
    violation ??= `${law}: ${detail}`;
  }

  const deadlineOf = ({ definition }: Watch): number =>
    definition.deadline === null ? Infinity : Date.parse(definition.deadline);
  const everyOf = ({ definition }: Watch): number => definition.everySeconds * 1_000;
  /** Its server is to poll, whether it knows that or not. */
  const isHeld = ({ landing, until, holder }: Claim): boolean =>
    landing === null && now() < until && holder.isLive();
  /** By the last claim: whoever had it before has lost it, also where the clock goes back into his lease. */
  const isPolled = ({ claims }: Known): boolean => claims.slice(-1).some(isHeld);
  const runs = ({ running, holder, until }: Claim): boolean => running && holder.isLive() && now() < until;
  const living = (): readonly Known[] => [...known.values()].filter(({ watch }) => watch.status !== 'ENDED');

  function claimed(holder: Holder, polls: readonly ClaimedPoll[], leaseMs: number): void {
    for (const poll of polls) {
      const one = known.get(poll.watchId);
      const what = `${holder.name} gets poll ${poll.poll} of ${poll.watchId}`;
      if (!one) {
        violate('D-81', `${what}, which is not there`);
        continue;
      }
      const { watch, claims } = one;
      if (watch.status !== 'ACTIVE') violate('D-80', `${what}, which is ${watch.status}`);
      if (lifecycles.get(one.workstreamId) !== 'OPEN') violate('D-84', `${what}, which is closed`);
      if (watch.version !== poll.version) violate('D-84', `${what}, as it was in version ${poll.version}`);
      if (one.due === null) violate('D-81', `${what}, which has no next poll`);
      const at = Date.parse(poll.scheduledAt);
      if (at > now()) violate('D-81', `${what}, which is not due for ${at - now()} ms`);
      if (one.due !== null && at !== one.due && !(one.sooner && at < one.due))
        violate('D-81', `${what} as of ${poll.scheduledAt}, due ${new Date(one.due).toISOString()}`);
      if (poll.overdue !== deadlineOf(watch) <= now())
        violate('D-80', `${what}, ${poll.overdue ? 'over' : 'as if it were not over'}`);
      if (poll.poll !== one.polls + 1) violate('D-86', `${what}, after ${one.polls}`);
      if (poll.poll > watch.definition.maxPolls && !one.excess)
        violate('D-80', `${what}, of at most ${watch.definition.maxPolls}`);
      const last = claims.at(-1);
      if (last && isHeld(last)) violate('D-81', `${what}, which ${last.holder.name} polls`);
      if (last?.holder === holder && last.landing === null && last.runs > 0 && !last.slept)
        violate('D-81', `${what}, and has not kept what came of the one before`);
      one.due = at;
      one.sooner = false;
      claims.push({
        poll,
        holder,
        leaseMs,
        until: now() + leaseMs,
        runs: 0,
        running: false,
        landing: null,
        canceled: false,
        slept: false,
      });
      const others = [...known.values()].filter(({ workstreamId }) => workstreamId === one.workstreamId);
      const underway = others.filter((other) => isPolled(other)).length;
      if (underway > perWorkstream) violate('D-81', `${underway} watches of ${one.workstreamId} are polled`);
    }
  }

  function gaveBack(holder: Holder, except: readonly ClaimedPoll[]): void {
    for (const [id, { claims }] of known) {
      const last = claims.at(-1);
      if (last?.holder !== holder || last.landing !== null) continue;
      if (except.some(({ claim }) => claim === last.poll.claim)) continue;
      if (last.running) violate('D-81', `${holder.name} gives ${id} back, and runs its command`);
      last.landing = 'LOST';
    }
  }

  const claimOf = (watchId: string, claim: string): Claim | undefined =>
    known.get(watchId)?.claims.find(({ poll }) => poll.claim === claim);

  function started(holder: Holder, name: string, watchId: string): void {
    // It was deleted since it was given: the next look ends its command.
    if (gone.has(watchId)) return;
    const claim = claimOf(watchId, name);
    const what = `${holder.name} runs the command of ${watchId}`;
    if (claim?.holder !== holder) return violate('D-81', `${what}, which it has not got`);
    // Of its own a server knows also when the lease ran out while it slept.
    const other = known
      .get(watchId)
      ?.claims.find((one) => runs(one) || (one.running && one.holder === holder));
    if (other) violate('D-81', `${what}, which still runs at ${other.holder.name}`);
    claim.runs += 1;
    claim.running = true;
    if (claim.runs > 1) violate('D-81', `${what} again for one poll`);
    if (claim.poll.overdue) violate('D-80', `${what} after its deadline`);
  }

  function ended(name: string, watchId: string): void {
    const claim = claimOf(watchId, name);
    if (claim) claim.running = false;
  }

  function recorded({ claim: poll, fire }: PollOutcome, landing: Landing): void {
    const one = known.get(poll.watchId);
    const what = `poll ${poll.poll} of ${poll.watchId} (${poll.claim}) is ${landing}`;
    if (landing === 'LOST') return;
    const claim = claimOf(poll.watchId, poll.claim);
    if (!one || !claim) return violate('D-81', `${what}, and nobody had it`);
    if (claim !== one.claims.at(-1)) violate('D-81', `${what}, and somebody else has it`);
    if (claim.landing !== null) violate('D-81', `${what} after ${claim.landing}`);
    claim.landing = landing;
    if (!poll.overdue) {
      if (poll.poll !== one.polls + 1) violate('D-86', `${what}, after ${one.polls}`);
      one.polls += 1;
    }
    if (landing === 'STALE') {
      one.excess = true;
      return;
    }
    const { watch } = one;
    if (claim.canceled) violate('D-84', `${what}, and the watch was changed meanwhile`);
    if (watch.status !== 'ACTIVE' || watch.version !== poll.version)
      violate('D-84', `${what}, and the watch is ${watch.status} in version ${watch.version}`);
    if (poll.poll >= watch.definition.maxPolls && !fire?.ended)
      violate('D-80', `${what}, the last, and does not end`);
    if (one.due === Date.parse(poll.scheduledAt)) one.due = fire?.ended ? null : nextSlot(one.due, watch);
    if (fire?.ended) one.due = null;
    if (!fire) return;
    note(`${fire.reason}${fire.ended ? '' : ' and goes on'} is to be told`);
    if (
      one.said.has(fire.poll) &&
      fire.reason !== 'DEADLINE' &&
      one.said.get(fire.poll)?.reason !== 'DEADLINE'
    )
      violate('D-84', `${what}, and said something before`);
    const untold = [...one.said.keys()].filter((before) => !one.told.has(before) && before < fire.poll);
    one.waited.set(fire.poll, untold.length);
    if (!one.said.has(fire.poll)) one.said.set(fire.poll, fire);
  }

  /** The first place in the cadence that is still to come, at most an interval from now. */
  function nextSlot(slot: number, watch: Watch): number {
    let next = slot + everyOf(watch);
    let missed = 0;
    for (; next <= now(); next += everyOf(watch)) missed += 1;
    if (missed > 0) note('polls were missed');
    return Math.min(next, now() + everyOf(watch), deadlineOf(watch));
  }

  function committed(workstreamId: string, entries: readonly Entry[]): void {
    for (const entry of entries) {
      if (entry.kind === 'LIFECYCLE')
        lifecycles.set(workstreamId, entry.lifecycle === 'CLOSED' ? 'CLOSED' : 'OPEN');
      if (entry.kind === 'WATCH') writtenDown(workstreamId, entry.watch);
      if (entry.kind === 'SYSTEM' && entry.fire) told(workstreamId, entry.fire);
    }
    const isClosed = lifecycles.get(workstreamId) === 'CLOSED';
    for (const { watch, workstreamId: of } of living())
      if (of === workstreamId && (isClosed ? watch.status === 'ACTIVE' : watch.pausedBy === 'CLOSED'))
        violate(
          'D-84',
          `${watch.id} is ${watch.status} where its workstream is ${isClosed ? 'closed' : 'open'}`,
        );
  }

  function writtenDown(workstreamId: string, watch: Watch): void {
    const one = known.get(watch.id);
    const isSame = one?.watch.version === watch.version;
    const said = watch.due === 'NOW' ? now() : now() + everyOf(watch);
    const due = watch.due === null ? (one?.due ?? null) : Math.min(said, deadlineOf(watch));
    // What it has still to tell is its end.
    const isOver = [...(one?.said.values() ?? [])].some(
      ({ poll, ended: ends, reason, definition }) =>
        ends &&
        !one?.told.has(poll) &&
        (reason === 'DEADLINE' || isDeepStrictEqual(definition, watch.definition)),
    );
    const next = watch.status === 'ACTIVE' && !isOver ? due : null;
    if (!one) {
      known.set(watch.id, {
        workstreamId,
        watch,
        due: next,
        sooner: false,
        polls: 0,
        excess: false,
        claims: [],
        said: new Map(),
        told: new Set(),
        waited: new Map(),
        endedBy: null,
      });
      return;
    }
    if (one.watch.status === 'ENDED') violate('D-80', `${watch.id} has ended, and is ${watch.status} again`);
    if (watch.status === 'ENDED' && watch.end !== 'CANCELED') one.endedBy = Math.max(0, ...one.told);
    if (!isSame || watch.due === 'NOW') one.excess = true;
    if (!isSame || watch.status !== 'ACTIVE') for (const claim of one.claims) claim.canceled = true;
    if (watch.due !== null) one.sooner = false;
    one.due = next;
    one.watch = watch;
  }

  function told(workstreamId: string, fire: Fire): void {
    const one = known.get(fire.watchId);
    const what = `poll ${fire.poll} of ${fire.watchId} is told (${fire.reason})`;
    if (one?.workstreamId !== workstreamId) return violate('D-84', `${what} to ${workstreamId}`);
    if (one.told.has(fire.poll)) violate('D-84', `${what} again`);
    if ([...one.told].some((poll) => poll > fire.poll)) violate('D-84', `${what} after a later one`);
    if (one.watch.status === 'ENDED') violate('D-84', `${what}, and it has ended`);
    if (lifecycles.get(workstreamId) !== 'OPEN') violate('D-84', `${what}, which is closed`);
    const { skipped, ...kept } = fire;
    const said = one.said.get(fire.poll);
    if (!said || !isDeepStrictEqual({ ...said, skipped }, { ...kept, skipped }))
      violate('D-84', `${what} otherwise than it was kept`);
    const last = Math.max(0, ...one.told);
    const left = [...one.said.values()].filter(({ poll }) => poll > last && poll < fire.poll);
    if (left.length !== skipped) violate('D-84', `${what}, ${skipped} left out, of ${left.length}`);
    if (left.some(({ ended: ends }) => ends)) violate('D-84', `${what}, and an end is left out`);
    if (left.length > 0) {
      note('some are left out');
      if (one.waited.get(fire.poll)! < mostWaiting)
        violate('D-84', `${what}, and some are left out where ${one.waited.get(fire.poll)} waited`);
    }
    one.told.add(fire.poll);
    note('told');
  }

  return {
    get violation() {
      return violation;
    },
    violate,
    claimed,
    gaveBack,
    started,
    ended,
    recorded,
    committed,
    removed(workstreamId) {
      lifecycles.delete(workstreamId);
      for (const [id, one] of known) {
        if (one.workstreamId !== workstreamId) continue;
        known.delete(id);
        gone.add(id);
      }
    },
    clockWasSet(ms) {
      for (const one of known.values()) {
        if (ms < 0) {
          one.sooner = true;
          for (const claim of one.claims) claim.until = Math.min(claim.until, now() + claim.leaseMs);
        } else for (const claim of one.claims) claim.slept = true;
      }
    },
    woke(holder) {
      for (const { claims } of known.values())
        for (const claim of claims) if (claim.holder === holder) claim.slept = true;
    },
    atRest() {
      for (const [id, { watch, said, told: heard, endedBy }] of known)
        for (const [poll, fire] of said) {
          const isOver = watch.end === 'CANCELED' || (endedBy !== null && endedBy <= poll);
          // What was left out is counted with the next that was told.
          const isLeftOut = !fire.ended && [...heard].some((later) => later > poll);
          if (!heard.has(poll) && !isOver && !isLeftOut)
            violate(
              'D-84',
              `poll ${poll} of ${id} (${fire.reason}) was kept, and is never told; the watch is ${watch.status} ${watch.end}`,
            );
        }
      for (const { watch, due } of living())
        if (watch.status === 'ACTIVE' && due === null) violate('D-81', `${watch.id} is never polled again`);
    },
    noneLate(ms) {
      for (const one of living()) {
        const { watch, due, sooner, workstreamId } = one;
        if (isPolled(one)) continue;
        if (watch.status !== 'ACTIVE' || due === null || lifecycles.get(workstreamId) !== 'OPEN') continue;
        if (now() - due > ms) violate('D-81', `${watch.id} is due for ${now() - due} ms`);
        if (due - now() > everyOf(watch) && !sooner)
          violate('D-81', `${watch.id} is put off by ${due - now()} ms`);
      }
    },
    watches: () =>
      living().map((one) => ({
        workstreamId: one.workstreamId,
        watch: one.watch,
        running: one.claims.some(runs),
        held: isPolled(one),
      })),
    workstreams: () => [...lifecycles].map(([id, lifecycle]) => ({ id, lifecycle })),
  };
}
