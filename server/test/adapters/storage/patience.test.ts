import { beforeEach, describe, expect, it } from 'vitest';
import { createPatience, type Patience } from '../../../src/adapters/storage/embedded/patience.ts';

let now: number;
let sign: string;
let patience: Patience;

beforeEach(() => {
  [now, sign] = [0, 'a'];
  patience = createPatience(
    60_000,
    () => sign,
    () => now,
  );
});

/** Asks every second, as often as it takes; milliseconds until it is over. */
function waits(upTo = Infinity): number {
  const began = now;
  while (!patience.isOver() && now - began < upTo) now += 1_000;
  return now - began;
}

describe('Patience', () => {
  it('is over when nothing has moved for so long', () => {
    expect(waits()).toBe(60_000);
  });

  it('begins anew with every sign of work, however long that takes', () => {
    for (let n = 0; n < 100; n++) {
      expect(waits(59_000)).toBe(59_000);
      sign = `${n}`;
    }
    // The last sign is seen a second after it was given.
    expect(waits()).toBe(61_000);
  });

  it('does not count the time in which nobody could ask: a machine that slept has not waited', () => {
    waits(30_000);
    now += 3_600_000;
    expect(patience.isOver()).toBe(false);
    expect(waits()).toBe(20_000);
  });
});
