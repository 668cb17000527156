/**
 * Owns: when watches are polled here (D-81): the due ones, a few at a time, and looking when the next one is due.
 * Does not own: what is due and whose it is (the store), a poll (`watches/poll.ts`), telling of it (`watches/tell.ts`).
 *
 * Invariants: one look at a time; at most `concurrency` polls at once, of one watch one at a time: its claim is held until
 * its command has ended, which is ended within a look when the watch has been changed; what came of a poll is kept before it
 * is told, and tried again to be kept while the database is away: the command is not run again for that, so none is claimed
 * until then. What was claimed and never heard of is given back, so that nobody waits for it.
 */
import { isFired } from 'schema/projection';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { whenAway } from '../../ports/storage-unavailable.ts';
import type { ClaimedPoll, Landing, PollOutcome, WatchStore } from '../../ports/watches.ts';
import { poll, pollTimeoutMs, type PollDeps } from '../watches/poll.ts';
import type { Teller } from '../watches/tell.ts';
import { within } from '../within.ts';
import type { Round } from './heartbeat.ts';

/** Most polls at once (D-81), and of one workstream. */
const usualConcurrency = 16;
const perWorkstream = 2;
/** The longest wait before the next look, milliseconds: what others make due meanwhile is late by at most that. */
const lookMs = 500;
const awayMs = 1_000;
/** How often what waits to be told is looked for. */
const tellMs = 10_000;
/** A claim outlives its command, and the keeping of what came of it. */
const leaseMs = pollTimeoutMs + 60_000;
/** Lateness of polls that is remembered for the figures. */
const latenessKept = 1_024;

export interface WatchFigures {
  readonly running: number;
  readonly polls: number;
  /** Of those: at which what is waited for had happened; an end without is none. */
  readonly fires: number;
  readonly errors: number;
  /** Of the last polls, milliseconds between due and begun, the greatest of 99 %; null: there was none. */
  readonly lateP99Ms: number | null;
}

export interface WatchRound extends Round {
  figures(): WatchFigures;
  /** Tells a workstream at once what waits for it, as far as that can be; else it is told with the others. */
  tell(workstreamId: string): void;
  /** No poll begins any more, and those under way are ended; they are due again. */
  end(withinMs: number): Promise<void>;
}

export interface WatchRoundDeps extends PollDeps {
  readonly store: WatchStore;
  readonly teller: Teller;
  readonly clock: Clock;
  readonly log: Log;
  readonly sessionId: string;
  readonly host: string;
  readonly concurrency?: number;
}

export function createWatchRound(deps: WatchRoundDeps): WatchRound {
  const { store, teller, clock, log, sessionId, host, concurrency = usualConcurrency } = deps;
  const underway = new Map<ClaimedPoll, { readonly cut: AbortController; readonly done: Promise<void> }>();
  let stopped = false;
  const lateness: number[] = [];
  let cancelLook = (): void => undefined;
  let cancelTell = (): void => undefined;
  let looking = false;
  /** A slot was freed while it looked. */
  let again = false;
  /** Outcomes that the database was away for. */
  let unkept = 0;
  /** There may be claims of this session that nobody here knows of. */
  let unanswered = false;
  let [polls, fires, errors] = [0, 0, 0];

  const over = (): boolean => stopped;

  function lookIn(ms: number): void {
    cancelLook();
    if (!over()) cancelLook = clock.after(ms, () => void look());
  }

  async function look(): Promise<void> {
    if (looking) {
      again = true;
      return;
    }
    looking = true;
    let next = awayMs;
    try {
      next = await begin();
    } catch (error) {
      log.warn({ error: String(error) }, 'due watches could not be looked for; trying again');
    } finally {
      looking = false;
    }
    lookIn(again ? 0 : next);
    again = false;
  }

  /** Begins what is due; answers when to look again, milliseconds. */
  async function begin(): Promise<number> {
    await cutChanged();
    // Their leases may be over, and then the database back: their polls would be claimed again, and what came of them lost.
    if (unkept > 0) return awayMs;
    const free = concurrency - underway.size;
    // Who ends a poll looks again.
    if (free <= 0) return lookMs;
    if (unanswered) await store.giveBack(sessionId, [...underway.keys()]);
    unanswered = true;
    const due = await store.claim({ sessionId, host, limit: free, perWorkstream, leaseMs });
    unanswered = false;
    // They are due again with the end of this session.
    if (over()) return lookMs;
    for (const claim of due) start(claim);
    if (due.length === free) return lookMs;
    const until = await store.untilDue({ sessionId, host, leaseMs });
    // What is due and was not given waits for another poll of its workstream.
    return until === null || until <= 0 ? lookMs : Math.min(until, lookMs);
  }

  /** A poll of a watch that was changed meanwhile keeps the next one waiting, for nothing. */
  async function cutChanged(): Promise<void> {
    if (underway.size === 0) return;
    const claims = [...underway.keys()];
    const held = new Set(await store.held(claims));
    for (const claim of claims) if (!held.has(claim)) underway.get(claim)?.cut.abort();
  }

  function start(claim: ClaimedPoll): void {
    if (lateness.push(claim.lateMs) > latenessKept) lateness.shift();
    const cut = new AbortController();
    // The machine slept, so that the lease is over of a poll that still runs here: what comes of that one counts no more.
    const lost = [...underway].filter(([{ watchId }]) => watchId === claim.watchId).map(([, one]) => one);
    for (const one of lost) one.cut.abort();
    const done = Promise.all(lost.map((one) => one.done))
      .then(() => run(claim, cut.signal))
      .catch((error: unknown) =>
        log.error({ watch: claim.watchId, error: String(error) }, 'a poll threw; it is tried again'),
      )
      .finally(() => {
        underway.delete(claim);
        if (!over()) void look();
      });
    underway.set(claim, { cut, done });
  }

  async function run(claim: ClaimedPoll, cut: AbortSignal): Promise<void> {
    const outcome = await poll(deps, claim, cut);
    // It is due again with the end of this session.
    if (cut.aborted && over()) return;
    polls += 1;
    if (outcome.error !== null && !cut.aborted) errors += 1;
    const landing = await keep(outcome);
    if (landing !== 'RECORDED' || !outcome.fire) return;
    if (isFired(outcome.fire)) fires += 1;
    await tell(claim.workstreamId);
  }

  const tell = (workstream: string): Promise<void> =>
    teller.tell(workstream).catch((error: unknown) =>
      // It waits with the others.
      log.warn({ workstream, error: String(error) }, 'a fire could not be told yet; trying again'),
    );

  /** Until it is kept, or another server's by now. Rejects when the database refuses it. */
  async function keep(outcome: PollOutcome): Promise<Landing> {
    const kept = await tryToKeep(outcome);
    if (kept) return kept;
    unkept += 1;
    try {
      while (!over()) {
        await new Promise<void>((resolve) => clock.after(awayMs, resolve));
        const landing = await tryToKeep(outcome);
        if (landing) return landing;
      }
      return 'LOST';
    } finally {
      unkept -= 1;
    }
  }

  /** Null: the database is away. */
  async function tryToKeep(outcome: PollOutcome): Promise<Landing | null> {
    const landing = await store.record(outcome).catch(whenAway(null));
    if (!landing) log.warn({ watch: outcome.claim.watchId }, 'a poll could not be kept; trying again');
    return landing;
  }

  async function tellWaiting(): Promise<void> {
    await teller
      .tellWaiting()
      .catch((error: unknown) =>
        log.warn({ error: String(error) }, 'fires that wait could not be looked for; trying again'),
      );
    if (!over()) cancelTell = clock.after(tellMs, () => void tellWaiting());
  }

  function stop(): void {
    stopped = true;
    for (const { cut } of underway.values()) cut.abort();
    cancelLook();
    cancelTell();
  }

  return {
    run() {
      void look();
      void tellWaiting();
    },
    stop,
    async end(withinMs) {
      stop();
      await within(clock, withinMs, Promise.all([...underway.values()].map(({ done }) => done)));
    },
    tell: (workstreamId) => void tell(workstreamId),
    figures() {
      const sorted = lateness.toSorted((a, b) => a - b);
      const lateP99Ms = sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * 0.99) - 1)] ?? null;
      return { running: underway.size, polls, fires, errors, lateP99Ms };
    },
  };
}
