/**
 * Owns: when waiting for something has been enough: when nothing moved for so long, in time this process lived
 * through. A machine that slept, or a process that was stopped, has not waited.
 */
export interface Patience {
  /** True once nothing has moved for so long. Ask often: the time between two questions counts for 10 s at most. */
  isOver(): boolean;
}

/** More than one question takes; less than any sleep. */
const longestStepMs = 10_000;
const lookMs = 1_000;

/** `sign` is a text that changes while there is progress; `now` counts milliseconds. */
export function createPatience(
  ms: number,
  sign: () => string,
  now: () => number = () => performance.now(),
): Patience {
  let [looked, seen, stillMs] = [now(), sign(), 0];
  return {
    isOver() {
      const at = now();
      if (at - looked < Math.min(lookMs, ms / 4)) return stillMs >= ms;
      stillMs += Math.min(at - looked, longestStepMs);
      looked = at;
      const sees = sign();
      if (sees !== seen) [seen, stillMs] = [sees, 0];
      return stillMs >= ms;
    },
  };
}
