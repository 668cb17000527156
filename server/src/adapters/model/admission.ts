/**
 * Owns: how many calls of one alias are under way, and who waits (D-36).
 *
 * Invariants: strictly first come, first served, also when there is room for more; never more holders than the limit
 * allowed when each was admitted; a wider limit admits at once, a narrower one lets holders finish; who leaves while
 * waiting is never admitted.
 */

export interface Gate {
  /** Waits for a slot. Null: `signal` was aborted first. What is given lets the slot go; again does no harm. */
  enter(signal: AbortSignal, onWait: (ahead: number) => void): Promise<(() => void) | null>;
  /** Null: no bound; holders are counted nevertheless. */
  resize(limit: number | null): void;
  inUse(): number;
  waiting(): number;
}

export function createGate(initial: number | null): Gate {
  let limit = initial;
  let holders = 0;
  /** A set keeps the order in which they came, and lets go of one in the middle at once. */
  const queue = new Set<() => void>();

  const hasRoom = (): boolean => limit === null || holders < limit;

  function hold(): () => void {
    holders += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      holders -= 1;
      admit();
    };
  }

  function admit(): void {
    for (const next of queue) {
      if (!hasRoom()) return;
      queue.delete(next);
      next();
    }
  }

  return {
    enter(signal, onWait) {
      if (signal.aborted) return Promise.resolve(null);
      if (queue.size === 0 && hasRoom()) return Promise.resolve(hold());
      return new Promise((resolve) => {
        const admitted = (): void => {
          signal.removeEventListener('abort', left);
          resolve(hold());
        };
        const left = (): void => {
          queue.delete(admitted);
          resolve(null);
        };
        signal.addEventListener('abort', left, { once: true });
        queue.add(admitted);
        onWait(queue.size - 1);
      });
    },
    resize(next) {
      limit = next;
      admit();
    },
    inUse: () => holders,
    waiting: () => queue.size,
  };
}
