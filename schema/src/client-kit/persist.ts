/**
 * Owns: keeping something going over a connection that fails: when to try again, and what to tell a person meanwhile.
 * Does not own: what an attempt does (`attempt.ts` and who uses it).
 *
 * Invariants: one attempt at a time; the pause doubles with each failure in a row, up to 15 s, and is shorter by chance
 * so that many clients do not come back at once; a nudge, or a connection that is back, ends a pause at once.
 */
import type { Transport } from './transport.ts';

export type Connection =
  | { readonly status: 'CONNECTING' }
  | { readonly status: 'CONNECTED' }
  /** Waits before the next attempt; `retryAt` in ms since 1970. */
  | {
      readonly status: 'WAITING';
      readonly attempt: number;
      readonly retryAt: number;
      readonly reason: string;
    }
  /** The token is not accepted: nothing is tried any more. */
  | { readonly status: 'SIGNED_OUT'; readonly reason: string }
  /** There is nothing more to come. */
  | { readonly status: 'ENDED'; readonly reason: string };

export type AttemptEnd =
  /** Try again at once. */
  | { readonly type: 'again' }
  /** Try again after a pause. */
  | { readonly type: 'later'; readonly reason: string }
  | { readonly type: 'over'; readonly connection: Connection };

/** Time and chance, given so that tests need neither. */
export interface Pace {
  now(): number;
  random(): number;
  /** Resolves after `ms`, or at once when the signal aborts. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

export interface Persistent {
  /** Ends a pause, for example because the network is back. */
  nudge(): void;
  stop(): void;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
/** So many attempts in a row may ask for another one at once without having come up. */
const HASTE = 3;

const pauseAfter = (failures: number, random: number): number =>
  Math.round(Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS) * (0.75 + random / 4));

/** Repeats `attempt` until it is over or stopped. An attempt calls `up` when it has what it came for. */
export function persist(
  { transport, pace }: { readonly transport: Pick<Transport, 'onConnected'>; readonly pace: Pace },
  attempt: (up: () => void, signal: AbortSignal) => Promise<AttemptEnd>,
  report: (connection: Connection) => void,
): Persistent {
  const stopped = new AbortController();
  let pausing = new AbortController();
  let failures = 0;
  let hasty = 0;

  const up = () => {
    failures = 0;
    hasty = 0;
    if (!stopped.signal.aborted) report({ status: 'CONNECTED' });
  };

  const run = async () => {
    report({ status: 'CONNECTING' });
    while (!stopped.signal.aborted) {
      const end = await attempt(up, stopped.signal);
      if (stopped.signal.aborted) return;
      if (end.type === 'over') {
        report(end.connection);
        return;
      }
      if (end.type === 'again' && hasty < HASTE) {
        hasty += 1;
        continue;
      }
      failures += 1;
      const ms = pauseAfter(failures, pace.random());
      const reason = end.type === 'later' ? end.reason : 'The server sends what does not fit.';
      report({ status: 'WAITING', attempt: failures, retryAt: pace.now() + ms, reason });
      pausing = new AbortController();
      await pace.pause(ms, AbortSignal.any([pausing.signal, stopped.signal]));
    }
  };
  const nudge = () => {
    pausing.abort();
  };
  const forget = transport.onConnected(nudge);
  void run();

  return {
    nudge,
    stop: () => {
      forget();
      stopped.abort();
    },
  };
}

export const realPace: Pace = {
  now: () => Date.now(),
  random: () => Math.random(),
  pause: (ms, signal) =>
    new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener('abort', done);
      if (signal.aborted) done();
    }),
};
