/**
 * Owns: chance that can be had again: the same seed gives the same numbers.
 */

/** Numbers in [0, 1) (mulberry32). */
export function createChance(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/** One of them; undefined when there is none. */
export const pick = <T>(all: readonly T[], n: number): T | undefined => all[n % Math.max(1, all.length)];

/** 32 hex digits that no other `count` of the same run gives. */
export function idOf(count: number): string {
  const chance = createChance(count * 2_654_435_761);
  const part = (): string =>
    Math.floor(chance() * 0x1_0000_0000)
      .toString(16)
      .padStart(8, '0');
  return count.toString(16).padStart(8, '0') + part() + part() + part();
}
