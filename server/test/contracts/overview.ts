/** Owns: what the app relies on in what the live list begins with: it is small, and nobody who lives is left out. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Storage } from '../../src/adapters/storage/index.ts';
import type { Session } from '../../src/ports/ownership.ts';
import {
  ada,
  batchOf,
  completed,
  cycle,
  openWorkstream,
  randomId,
  turn,
} from '../adapters/storage/fixtures.ts';

export function overviewContract(
  get: () => {
    readonly opened: {
      remove(workstreamId: string): Promise<void>;
      age(workstreamIds: readonly string[], ms: number): Promise<void>;
    };
    readonly storage: Storage;
    readonly session: Session;
  },
): void {
  const hours = 60 * 60_000;

  describe('What the list begins with', () => {
    let made: Record<string, string>;
    beforeEach(async () => {
      made = {};
      const { opened, storage } = get();
      const turnId = randomId();
      const running = { kind: 'TURN', turn: turn(turnId), turnId } as const;
      const bodies = {
        closed: [{ kind: 'LIFECYCLE', lifecycle: 'CLOSED', by: ada }],
        waiting: [running, { kind: 'APPROVAL', cycle: cycle(randomId(), turnId), turnId }],
        idle: [],
        settled: [running, { kind: 'TURN', turn: completed(turnId), turnId }],
        running: [running],
        newest: [],
      } as const;
      for (const [name, [...entries]] of Object.entries(bodies)) {
        const session = get().session;
        const one = await openWorkstream(storage, session);
        made[name] = one.id;
        const own = JSON.parse(JSON.stringify(entries).replaceAll(turnId, randomId())) as typeof entries;
        if (own.length > 0)
          expect(await storage.journal.commit(batchOf(one, own))).toEqual({ type: 'committed' });
      }
      // The oldest is named first; all but the newest are older than what other tests made.
      for (const [i, name] of Object.keys(bodies).slice(0, -1).entries())
        await opened.age([made[name]!], (9_999 - i) * hours);
    });
    afterEach(async () => {
      for (const id of Object.values(made)) await get().opened.remove(id);
    });

    it('is the newest, and of older ones those with a live turn: who waits for a person first', async () => {
      const { catalog } = get().storage;
      const all = await catalog.list({ first: 200, after: null });
      const newest = all.items.findIndex((row) => row.id === made['running']);
      expect(newest).toBe(all.items.length - 5);
      const { living, ...overview } = await catalog.overview({ newest, living: 1_000 });
      const last = all.items[newest - 1]!;
      expect(overview).toEqual({
        newest: all.items.slice(0, newest),
        older: { after: { at: last.createdAt, id: last.id }, open: true, closed: true },
      });
      expect(living.map((row) => [row.id, row.state])).toEqual([
        [made['waiting'], 'ATTENTION'],
        [made['running'], 'THINKING'],
      ]);
      const bounded = await catalog.overview({ newest, living: 1 });
      expect(bounded.living.map((row) => row.id)).toEqual([made['waiting']]);
    });

    it('says of which lifecycle there are older ones, and that there are none', async () => {
      const { catalog } = get().storage;
      const { items, totalCount } = await catalog.list({ first: 200, after: null });
      const upTo = async (newest: number) => (await catalog.overview({ newest, living: 9 })).older;
      expect(await upTo(totalCount - 1)).toMatchObject({ open: false, closed: true });
      expect(await upTo(totalCount)).toBeNull();
      expect(await upTo(totalCount + 1)).toBeNull();
      expect(await catalog.overview({ newest: totalCount, living: 9 })).toEqual({
        newest: items,
        living: [],
        older: null,
      });
    });
  });
}
