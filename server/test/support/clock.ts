/**
 * Owns: a clock that a test moves. Time stands still until `advance`.
 */
import type { Clock } from '../../src/ports/clock.ts';

export interface TestClock extends Clock {
  /**
   * Moves time on by `ms`, running each due timer at its own time, in order, and letting the program react
   * (promises, immediates) before the next one, so that timers set by timers run too when they fall due.
   */
  advance(ms: number): Promise<void>;
  /** Resolves as soon as at least `count` timers wait. Await this before `advance` when a timer is still to be set. */
  waitForTimers(count?: number): Promise<void>;
  /** How many timers wait now. */
  readonly pending: number;
}

/** A test clock that starts at `start` (milliseconds since 1970). */
export function createTestClock(start = Date.UTC(2026, 0, 1)): TestClock {
  interface Timer {
    readonly at: number;
    readonly run: () => void;
  }
  let time = start;
  let timers: readonly Timer[] = [];
  let waiters: readonly { readonly count: number; readonly resolve: () => void }[] = [];

  const notify = (): void => {
    const ready = waiters.filter((w) => timers.length >= w.count);
    waiters = waiters.filter((w) => timers.length < w.count);
    for (const w of ready) w.resolve();
  };

  return {
    now: () => time,
    after(ms, f) {
      const timer: Timer = { at: time + Math.max(0, ms), run: f };
      timers = [...timers, timer];
      notify();
      return () => {
        timers = timers.filter((t) => t !== timer);
      };
    },
    async advance(ms) {
      const end = time + ms;
      for (;;) {
        // Of timers due at the same time the one set first runs first.
        const next = timers
          .filter((t) => t.at <= end)
          .reduce<Timer | null>((best, t) => (best && best.at <= t.at ? best : t), null);
        if (!next) break;
        timers = timers.filter((t) => t !== next);
        time = Math.max(time, next.at);
        next.run();
        await settled();
      }
      time = Math.max(time, end);
      await settled();
    },
    async waitForTimers(count = 1) {
      if (timers.length >= count) return;
      await new Promise<void>((resolve) => {
        waiters = [...waiters, { count, resolve }];
      });
    },
    get pending() {
      return timers.length;
    },
  };
}

/** Lets promise reactions run; three turns of the event loop cover immediates set by immediates. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}
