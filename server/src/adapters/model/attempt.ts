/**
 * Owns: how long one attempt lives, and letting its connection go. Does not own: what is read meanwhile.
 */
import type { Clock } from '../../ports/clock.ts';

/** Grace for the endpoint to close after [DONE], so that the connection can be used again. */
const drainMs = 1_000;

/** One attempt's lifetime: ends by the caller's abort, by silence, or by `end`. */
export interface Attempt {
  readonly signal: AbortSignal;
  /** Gives the endpoint this long until it is heard of again. */
  expect(ms: number): void;
  expected(): number;
  timedOut(): boolean;
  /** Lets the endpoint finish for a moment in the background, then lets the connection go. */
  drain(reader: ReadableStreamDefaultReader<Uint8Array>): void;
  /** Lets the connection go, unless it is being drained. */
  end(): void;
}

/** An attempt that is over, at the latest, when `caller` is aborted. */
export function createAttempt(clock: Clock, caller: AbortSignal): Attempt {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  let cancelTimer = (): void => undefined;
  let state: 'OPEN' | 'DRAINING' | 'TIMED_OUT' = 'OPEN';
  let ms = 0;
  caller.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    expect(limit) {
      cancelTimer();
      ms = limit;
      cancelTimer = clock.after(limit, () => {
        state = 'TIMED_OUT';
        abort();
      });
    },
    expected: () => ms,
    timedOut: () => state === 'TIMED_OUT',
    drain(reader) {
      state = 'DRAINING';
      cancelTimer();
      cancelTimer = clock.after(drainMs, abort);
      const rest = async (): Promise<void> => {
        while (!(await reader.read()).done);
      };
      void rest()
        .catch(() => undefined)
        .finally(() => cancelTimer());
    },
    end() {
      caller.removeEventListener('abort', abort);
      if (state === 'DRAINING') return;
      cancelTimer();
      abort();
    },
  };
}
