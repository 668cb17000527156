/**
 * Owns: asking again and again while somebody can see the answer.
 *
 * Invariants: one question at a time; the next one comes so long after the answer; a hidden page asks nothing, and at once
 * when it is seen again.
 */

/** Time, and whether anybody can see the page; given so that tests need neither. */
export interface Sight {
  hidden(): boolean;
  /** Calls back when the page is seen again, until the returned function is called. */
  onShown(callback: () => void): () => void;
  /** Calls back once after so many milliseconds, unless the returned function is called first. */
  after(ms: number, callback: () => void): () => void;
}

export const browserSight: Sight = {
  hidden: () => document.hidden,
  onShown(callback) {
    document.addEventListener('visibilitychange', callback);
    return () => {
      document.removeEventListener('visibilitychange', callback);
    };
  },
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => {
      clearTimeout(timer);
    };
  },
};

export interface Looking {
  /** Asks at once, or once more after the question that is under way, which may be answered as it was before. */
  now(): void;
  stop(): void;
}

/** Asks at once and then again and again, until stopped. `restMs`: how long after this answer; asked for each. */
export function whileSeen(
  restMs: () => number,
  ask: () => Promise<void>,
  sight: Sight = browserSight,
): Looking {
  let rest: (() => void) | null = null;
  let asking = false;
  let again = false;
  let stopped = false;
  const look = () => {
    if (stopped || sight.hidden()) return;
    if (asking) {
      again = true;
      return;
    }
    rest?.();
    rest = null;
    asking = true;
    void ask().then(() => {
      asking = false;
      if (stopped) return;
      if (again) {
        again = false;
        look();
      } else
        rest = sight.after(restMs(), () => {
          rest = null;
          look();
        });
    });
  };
  const forget = sight.onShown(() => {
    if (!rest) look();
  });
  look();
  return {
    now: look,
    stop: () => {
      stopped = true;
      rest?.();
      forget();
    },
  };
}
