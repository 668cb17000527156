/** Owns: the gate of an alias (D-36): who may call, and when. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGate } from '../../../src/adapters/model/admission.ts';

const never = new AbortController().signal;

/** Who was admitted so far, in order; each comes with the handle that lets its slot go. */
function visitors(limit: number | null) {
  const gate = createGate(limit);
  const admitted: number[] = [];
  const told: (readonly [n: number, ahead: number])[] = [];
  /** Who yields and was told that the slot is wanted, in order. */
  const wanted: number[] = [];
  const leave = new Map<number, () => void>();
  async function come(n: number, signal: AbortSignal = never, yields = false): Promise<void> {
    const done = await gate.enter(
      signal,
      (ahead) => void told.push([n, ahead]),
      yields ? () => void wanted.push(n) : undefined,
    );
    if (!done) return;
    admitted.push(n);
    leave.set(n, done);
  }
  /** Everything that promises have to say has been said. */
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { gate, admitted, told, wanted, come, leave: (n: number) => leave.get(n)!(), settle };
}

describe('The gate of an alias (D-36)', () => {
  it('lets in as many as there are slots, the others in the order in which they came', async () => {
    const v = visitors(2);
    for (const n of [1, 2, 3, 4]) void v.come(n);
    await v.settle();
    expect(v.admitted).toEqual([1, 2]);
    expect(v.told).toEqual([
      [3, 0],
      [4, 1],
    ]);
    expect([v.gate.inUse(), v.gate.waiting()]).toEqual([2, 2]);
    v.leave(2);
    v.leave(1);
    await v.settle();
    expect(v.admitted).toEqual([1, 2, 3, 4]);
  });

  it('lets nobody overtake one who waits, also when there is room again', async () => {
    const v = visitors(1);
    void v.come(1);
    void v.come(2);
    await v.settle();
    v.gate.resize(0);
    v.leave(1);
    void v.come(3);
    v.gate.resize(1);
    await v.settle();
    expect(v.admitted).toEqual([1, 2]);
  });

  it('counts holders without a bound too, so that a bound that comes later holds', async () => {
    const v = visitors(null);
    for (const n of [1, 2, 3]) void v.come(n);
    await v.settle();
    v.gate.resize(2);
    void v.come(4);
    v.leave(1);
    await v.settle();
    expect(v.admitted).toEqual([1, 2, 3]);
    v.leave(2);
    await v.settle();
    expect(v.admitted).toEqual([1, 2, 3, 4]);
  });

  it('admits at once whom a wider bound has room for', async () => {
    const v = visitors(1);
    for (const n of [1, 2, 3]) void v.come(n);
    v.gate.resize(3);
    await v.settle();
    expect(v.admitted).toEqual([1, 2, 3]);
  });

  it('never admits one who left while waiting, nor one who is gone before coming', async () => {
    const v = visitors(1);
    const leaving = new AbortController();
    void v.come(1);
    void v.come(2, leaving.signal);
    void v.come(3);
    await v.settle();
    leaving.abort();
    void v.come(4, leaving.signal);
    v.leave(1);
    await v.settle();
    expect(v.admitted).toEqual([1, 3]);
    expect([v.gate.inUse(), v.gate.waiting()]).toEqual([1, 0]);
  });

  it('lets those who yield in after all others, and tells one that holds a slot for each other that waits', async () => {
    const v = visitors(2);
    for (const n of [1, 2, 3]) void v.come(n, never, true);
    await v.settle();
    expect([v.admitted, v.wanted]).toEqual([[1, 2], []]);
    void v.come(4);
    expect(v.wanted).toEqual([1]);
    void v.come(5);
    void v.come(6);
    expect(v.wanted).toEqual([1, 2]);
    expect(v.told).toEqual([
      [3, 0],
      [4, 0],
      [5, 1],
      [6, 2],
    ]);
    for (const n of [1, 2, 4, 5]) {
      v.leave(n);
      await v.settle();
    }
    expect(v.admitted).toEqual([1, 2, 4, 5, 6, 3]);
    void v.come(7);
    expect(v.wanted).toEqual([1, 2, 3]);
  });

  it('tells those who yield also where a narrower limit is what another one waits for (broke: one of two stayed)', async () => {
    const v = visitors(2);
    for (const n of [1, 2]) void v.come(n, never, true);
    await v.settle();
    v.gate.resize(1);
    expect(v.wanted).toEqual([]);
    void v.come(3);
    expect(v.wanted).toEqual([1, 2]);
    v.leave(1);
    v.leave(2);
    await v.settle();
    expect(v.admitted).toEqual([1, 2, 3]);
  });

  it('tells those who yield when the limit becomes narrower while another one waits', async () => {
    const v = visitors(3);
    for (const n of [1, 2, 3]) void v.come(n, never, true);
    await v.settle();
    void v.come(4);
    expect(v.wanted).toEqual([1]);
    v.gate.resize(2);
    expect(v.wanted).toEqual([1, 2]);
    v.gate.resize(1);
    expect(v.wanted).toEqual([1, 2, 3]);
  });

  it('tells no more of those who yield than are needed, and another one when who was told is followed by more', async () => {
    const v = visitors(2);
    for (const n of [1, 2]) void v.come(n, never, true);
    await v.settle();
    const gone = new AbortController();
    void v.come(3, gone.signal);
    gone.abort();
    void v.come(4);
    expect(v.wanted).toEqual([1]);
    void v.come(5);
    expect(v.wanted).toEqual([1, 2]);
  });

  it('gives a slot back once, however often it is let go', async () => {
    const v = visitors(1);
    for (const n of [1, 2, 3]) void v.come(n);
    await v.settle();
    v.leave(1);
    v.leave(1);
    await v.settle();
    expect(v.admitted).toEqual([1, 2]);
  });

  it('keeps its bound and its order whatever happens, and ends empty', async () => {
    const move = fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant('come' as const), yields: fc.boolean() }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('leave' as const), pick: fc.nat() }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('giveUp' as const), pick: fc.nat() }) },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant('resize' as const),
          to: fc.option(fc.integer({ min: 0, max: 4 }), { nil: null }),
        }),
      },
    );
    // Those of one group come before a promise has said anything.
    const groups = fc.array(fc.array(move, { minLength: 1, maxLength: 3 }), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(groups, async (all) => {
        let limit: number | null = 2;
        const v = visitors(limit);
        const signals = new Map<number, AbortController>();
        const yielding = new Set<number>();
        const gone = new Set<number>();
        const out = new Set<number>();
        let n = 0;
        const inside = (): number[] => v.admitted.filter((who) => !out.has(who));
        for (const group of all) {
          const before = v.admitted.length;
          let widest = limit ?? Infinity;
          for (const move of group) {
            const there = inside();
            if (move.do === 'come') {
              n += 1;
              signals.set(n, new AbortController());
              if (move.yields) yielding.add(n);
              void v.come(n, signals.get(n)!.signal, move.yields);
            } else if (move.do === 'resize') {
              limit = move.to;
              widest = Math.max(widest, limit ?? Infinity);
              v.gate.resize(limit);
            } else if (move.do === 'leave' && there.length > 0) {
              const who = there[move.pick % there.length]!;
              out.add(who);
              v.leave(who);
            } else if (move.do === 'giveUp' && n > 0) {
              signals.get(1 + (move.pick % n))!.abort();
              gone.add(1 + (move.pick % n));
            }
          }
          await v.settle();
          const letIn = v.admitted.length - before;
          if (letIn > 0) expect(inside().length).toBeLessThanOrEqual(widest);
          expect(v.gate.inUse()).toBe(inside().length);
          for (const yields of [true, false]) {
            const those = v.admitted.filter((who) => yielding.has(who) === yields);
            expect(those).toEqual(those.toSorted((a, b) => a - b));
          }
          const waiting = Array.from({ length: n }, (_, i) => i + 1).filter(
            (who) => !v.admitted.includes(who) && !gone.has(who),
          );
          const others = waiting.filter((who) => !yielding.has(who));
          const isFull = limit !== null && inside().length >= limit;
          expect({ waiting: waiting.length > 0 && !isFull }).toEqual({ waiting: false });
          expect(new Set(v.wanted).size).toBe(v.wanted.length);
          expect(v.wanted.every((who) => yielding.has(who) && v.admitted.includes(who))).toBe(true);
          // As many as still hold a slot and are to leave it as let in all others that wait, as far as any yield.
          const untold = inside().filter((who) => yielding.has(who) && !v.wanted.includes(who));
          const told = inside().filter((who) => v.wanted.includes(who));
          const lacking = others.length > 0 ? others.length + inside().length - (limit ?? Infinity) : 0;
          if (untold.length > 0) expect(told.length).toBeGreaterThanOrEqual(lacking);
        }
        v.gate.resize(null);
        await v.settle();
        for (const who of inside()) {
          out.add(who);
          v.leave(who);
        }
        expect([v.gate.inUse(), v.gate.waiting()]).toEqual([0, 0]);
      }),
      { seed: 20_261_130, numRuns: 2_000 },
    );
  });
});
