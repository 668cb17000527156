/**
 * Owns: how many calls of one alias are under way, and who waits (D-36).
 *
 * Invariants: strictly first come, first served, also when there is room for more, and those who yield after all others;
 * never more holders than the limit allowed when each was admitted; a wider limit admits at once, a narrower one lets
 * holders finish; who leaves while waiting is never admitted; of those who yield and hold a slot, as many are told that it
 * is wanted as must leave for all others that wait to be let in, and each once.
 */

export interface Gate {
  /**
   * Waits for a slot. Null: `signal` was aborted first. What is given lets the slot go; again does no harm. Who gives
   * `onWanted` yields: it is called, once, while the slot is held and another one waits for it.
   */
  enter(
    signal: AbortSignal,
    onWait: (ahead: number) => void,
    onWanted?: () => void,
  ): Promise<(() => void) | null>;
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
  const yielding = new Set<() => void>();
  /** Of those who yield and hold a slot: who was not told yet that it is wanted, and who was. */
  const untold = new Set<() => void>();
  const told = new Set<() => void>();

  const hasRoom = (): boolean => limit === null || holders < limit;

  function hold(onWanted?: () => void): () => void {
    holders += 1;
    let held = true;
    if (onWanted) untold.add(onWanted);
    return () => {
      if (!held) return;
      held = false;
      holders -= 1;
      if (onWanted && !told.delete(onWanted)) untold.delete(onWanted);
      admit();
    };
  }

  function admit(): void {
    for (const line of [queue, yielding])
      for (const next of line) {
        if (!hasRoom()) return;
        line.delete(next);
        next();
      }
  }

  function want(): void {
    if (limit === null || queue.size === 0) return;
    const lacking = queue.size + holders - limit - told.size;
    for (const onWanted of [...untold].slice(0, Math.max(0, lacking))) {
      untold.delete(onWanted);
      told.add(onWanted);
      onWanted();
    }
  }

  return {
    enter(signal, onWait, onWanted) {
      if (signal.aborted) return Promise.resolve(null);
      // Whoever waits where there is room waits for others who came before.
      if (queue.size + yielding.size === 0 && hasRoom()) return Promise.resolve(hold(onWanted));
      return new Promise((resolve) => {
        const line = onWanted ? yielding : queue;
        const admitted = (): void => {
          signal.removeEventListener('abort', left);
          resolve(hold(onWanted));
        };
        const left = (): void => {
          line.delete(admitted);
          resolve(null);
        };
        signal.addEventListener('abort', left, { once: true });
        line.add(admitted);
        onWait((onWanted ? queue.size : 0) + line.size - 1);
        if (!onWanted) want();
      });
    },
    resize(next) {
      limit = next;
      admit();
      want();
    },
    inUse: () => holders,
    waiting: () => queue.size + yielding.size,
  };
}
