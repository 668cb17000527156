import fc from 'fast-check';
import type { HistoryPage, HistoryRange } from 'schema/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../src/ports/storage-unavailable.ts';
import { ada, createWorld, newKey, saying, settled, until, type World } from './support/world.ts';

let world: World;
let id: string;
beforeEach(async () => {
  world = await createWorld();
  id = await world.open();
});

const page = async (range: HistoryRange): Promise<HistoryPage> =>
  (await world.services.history.page(id, range))!;
const revisions = (p: HistoryPage) => p.entries.map((e) => e.revision);
/** Messages, stored; then more of them, accepted and held back. */
async function grow(durable: number, pending: number): Promise<void> {
  const actor = await world.load(id);
  const send = () => actor.ask(ada, { scope: 's', key: newKey(), inputHash: 'h' }, saying('x'));
  for (let i = 0; i < durable; i += 1) send();
  await until(() => actor.state().pending.length === 0);
  world.storage.goAway();
  for (let i = 0; i < pending; i += 1) send();
}
/** Page after page, to the end. */
async function read(direction: 'forward' | 'backward', count: number): Promise<readonly number[]> {
  const found: number[] = [];
  for (let more = true; more;) {
    const got = await page(
      direction === 'forward'
        ? { direction, after: found.at(-1) ?? 0, count }
        : { direction, before: found[0] ?? null, count },
    );
    if (direction === 'forward') found.push(...revisions(got));
    else found.unshift(...revisions(got));
    more = direction === 'forward' ? got.hasNewer : got.hasOlder;
  }
  return found;
}
const head = () => world.registry.peek(id)!.state().projection.revision;

describe('A page of history', () => {
  it('of a workstream that is not loaded is what is stored (D-22, D-53)', async () => {
    const got = await page({ direction: 'forward', after: 0, count: 10 });
    expect(got).toMatchObject({ hasOlder: false, hasNewer: false, revision: 2, durableThrough: 2, epoch: 0 });
    expect(revisions(got)).toEqual([1, 2]);
    expect(world.registry.peek(id)).toBeNull();
    expect(
      await world.services.history.page('nothing', { direction: 'forward', after: 0, count: 1 }),
    ).toBeNull();
  });

  it.each([
    [{ direction: 'forward', after: 0, count: 3 }, [1, 2, 3], false, true],
    [{ direction: 'forward', after: 3, count: 3 }, [4, 5, 6], true, true],
    [{ direction: 'forward', after: 5, count: 9 }, [6, 7], true, false],
    [{ direction: 'forward', after: 7, count: 3 }, [], true, false],
    [{ direction: 'forward', after: 99, count: 3 }, [], true, false],
    [{ direction: 'backward', before: null, count: 3 }, [5, 6, 7], true, false],
    [{ direction: 'backward', before: 5, count: 3 }, [2, 3, 4], true, true],
    [{ direction: 'backward', before: 3, count: 9 }, [1, 2], false, true],
    [{ direction: 'backward', before: 1, count: 3 }, [], false, true],
    [{ direction: 'backward', before: 0, count: 3 }, [], false, true],
    [{ direction: 'backward', before: 99, count: 2 }, [6, 7], true, false],
  ] as const)('%j over 5 stored and 2 pending entries is %j', async (range, expected, hasOlder, hasNewer) => {
    await grow(2, 2);
    expect(head()).toBe(7);
    await settled();
    world.storage.comeBack();
    const got = await page(range);
    expect(got).toMatchObject({ hasOlder, hasNewer, revision: 7, durableThrough: 5 });
    expect(revisions(got)).toEqual(expected);
  });

  it('fails when the stored part cannot be read, rather than give the pending part alone (D-53)', async () => {
    await grow(2, 2);
    const range = { direction: 'backward', before: null, count: 4 } as const;
    await expect(page(range)).rejects.toBeInstanceOf(StorageUnavailableError);
    expect(revisions(await page({ direction: 'backward', before: null, count: 2 }))).toEqual([6, 7]);
  });

  it('has each entry once when entries are stored while it is read (D-53)', async () => {
    const actor = await world.load(id);
    const { read } = world.storage.journal;
    for (const late of ['before', 'after'] as const) {
      let go = (): void => undefined;
      const gate = new Promise<void>((resolve) => (go = resolve));
      // The entries land before or after the stored part is looked at, and either way before it is answered.
      Object.assign(world.storage.journal, {
        read: async (...asked: Parameters<typeof read>) => {
          const early = late === 'after' ? await read(...asked) : null;
          await gate;
          return early ?? read(...asked);
        },
      });
      const key = { scope: 's', key: newKey(), inputHash: 'h' };
      actor.ask(ada, key, saying(late));
      const before = head();
      const reading = page({ direction: 'forward', after: 0, count: 200 });
      await until(() => actor.state().pending.length === 0);
      actor.ask(ada, { ...key, key: newKey() }, saying('later'));
      await until(() => actor.state().pending.length === 0);
      go();
      expect(revisions(await reading)).toEqual(Array.from({ length: before }, (_, n) => n + 1));
    }
  });

  it.each([
    [7, 0],
    [3, 4],
    [1, 6],
  ])(
    'is cut at 2 MiB from the end it begins at, and says that there is more: %i stored, %i pending (D-53)',
    async (durable, pending) => {
      // Revisions 4 and up, but for the turn's: each entry keeps the whole queue, about 0.8 MB.
      const actor = await world.load(id);
      const ask = (text: string) => {
        const key = { scope: 's', key: newKey(), inputHash: 'h' };
        const waiting = actor.state().projection.queue.items[0];
        actor.ask(ada, key, waiting ? { type: 'editQueued', messageId: waiting.id, text } : saying(text));
      };
      ask('begin');
      for (let i = 0; i < durable; i += 1) ask('x'.repeat(800_000 + i));
      await until(() => actor.state().pending.length === 0);
      if (pending > 0) world.storage.goAway();
      for (let i = 0; i < pending; i += 1) ask('y'.repeat(800_000 + i));
      await settled();
      world.storage.comeBack();
      const last = head();
      const all = Array.from({ length: last }, (_, i) => i + 1);
      const newest = await page({ direction: 'backward', before: null, count: 200 });
      expect(revisions(newest)).toEqual([last - 1, last]);
      expect(newest).toMatchObject({ hasOlder: true, hasNewer: false });
      const oldest = await page({ direction: 'forward', after: 0, count: 200 });
      expect(revisions(oldest)).toEqual(all.slice(0, last - durable - pending + 2));
      expect(oldest).toMatchObject({ hasOlder: false, hasNewer: true });
      expect(await read('forward', 200)).toEqual(all);
      expect(await read('backward', 200)).toEqual(all);
    },
  );

  it('after page, both ways, gives every entry once and in order (D-53)', async () => {
    await grow(15, 0);
    world.storage.comeBack();
    const all = Array.from({ length: head() }, (_, i) => i + 1);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 20 }), async (count) => {
        expect([await read('forward', count), await read('backward', count)]).toEqual([all, all]);
      }),
      { numRuns: 20 },
    );
  });
});
