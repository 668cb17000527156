/** Owns: what the app relies on when it looks what others wrote to the same storage (D-26, D-101). */
import { emptyProjection } from 'schema/projection';
import { describe, expect, it } from 'vitest';
import type { Storage } from '../../src/adapters/storage/index.ts';
import { failedLoadsBeforeQuarantine, type Session } from '../../src/ports/ownership.ts';
import {
  after,
  ada,
  batchOf,
  birth,
  configuration,
  message,
  openWorkstream,
  randomId,
  receipt,
  type Made,
} from '../adapters/storage/fixtures.ts';

export function elsewhereContract(get: () => { readonly storage: Storage; readonly session: Session }): void {
  const workstream = (): Promise<Made> => openWorkstream(get().storage, get().session);
  async function commit(made: Made, ...bodies: Parameters<typeof batchOf>[1]): Promise<Made> {
    const batch = batchOf(made, bodies);
    expect(await get().storage.journal.commit(batch)).toEqual({ type: 'committed' });
    return after(made, batch);
  }
  const markNow = async (): Promise<string> => (await get().storage.elsewhere.look([], null)).mark;
  /** Ids of what has changed since, and what was deleted; and the next mark. */
  async function since(mark: string) {
    const look = await get().storage.elsewhere.look([], mark);
    return { ...look, changed: look.changed.map((row) => row.id), rows: look.changed };
  }

  describe('A look at what others wrote', () => {
    it('begins with nothing but a mark', async () => {
      await workstream();
      expect(await get().storage.elsewhere.look([], null)).toMatchObject({
        asked: [],
        changed: [],
        deleted: [],
      });
    });

    it('tells each change of what the list shows once, as the list shows it', async () => {
      const start = await markNow();
      let made = await workstream();
      const created = await since(start);
      expect(created.changed).toEqual([made.id]);
      expect(created.rows).toEqual(
        (await get().storage.catalog.list({ first: 200, after: null })).items.filter(
          (row) => row.id === made.id,
        ),
      );
      expect(await since(created.mark)).toMatchObject({ changed: [], deleted: [] });
      for (const body of [
        { kind: 'CONFIGURATION' as const, configuration: { ...configuration, title: 'Renamed' } },
        { kind: 'LIFECYCLE' as const, lifecycle: 'CLOSED' as const, by: ada },
        { kind: 'LIFECYCLE' as const, lifecycle: 'OPEN' as const, by: ada },
      ]) {
        const before = await markNow();
        made = await commit(made, body);
        const look = await since(before);
        expect(look.rows).toMatchObject([
          { id: made.id, title: 'Renamed', revision: made.projection.revision },
        ]);
        expect((await since(look.mark)).changed).toEqual([]);
      }
    });

    it('does not tell what the list does not show: an entry, an owner, a change of hands', async () => {
      const made = await workstream();
      const mark = await markNow();
      await commit(made, message('hello'));
      await get().storage.ownership.release(made.id, get().session.id, made.epoch);
      await get().storage.ownership.claim(made.id, get().session.id);
      expect((await since(mark)).changed).toEqual([]);
    });

    it('tells that one is quarantined, as an error (D-71)', async () => {
      const { id } = await workstream();
      const mark = await markNow();
      for (let i = 0; i < failedLoadsBeforeQuarantine; i += 1)
        await get().storage.ownership.recordFailedLoad(id, 'It does not run.');
      expect((await since(mark)).rows).toMatchObject([{ id, state: 'ERROR' }]);
    });

    it('knows no reservation, neither made nor taken back (D-20)', async () => {
      const { reservations, elsewhere } = get().storage;
      const mark = await markNow();
      const reserved = { id: randomId(), incarnation: randomId() };
      await reservations.reserve({ ...reserved, sessionId: get().session.id });
      expect(await elsewhere.look([reserved.id], mark)).toMatchObject({
        asked: [],
        changed: [],
        deleted: [],
      });
      await reservations.rollback(reserved.id, reserved.incarnation);
      expect(await elsewhere.look([reserved.id], mark)).toMatchObject({
        asked: [],
        changed: [],
        deleted: [],
      });
      const published = { ...reserved, id: randomId(), epoch: 0, projection: emptyProjection };
      await reservations.reserve({ ...published, sessionId: get().session.id });
      const between = await markNow();
      await reservations.publish(batchOf(published, birth('Published')));
      expect((await since(between)).changed).toEqual([published.id]);
    });

    it('tells a deletion once, and nothing else of what was deleted (D-26)', async () => {
      const mark = await markNow();
      const made = await workstream();
      await get().storage.removal.remove({
        workstreamId: made.id,
        incarnation: made.incarnation,
        epoch: made.epoch,
        sessionId: get().session.id,
        receipt: receipt('ada', randomId()),
      });
      const look = await since(mark);
      expect(look).toMatchObject({ changed: [], deleted: [made.id] });
      expect((await since(look.mark)).deleted).toEqual([]);
    });

    it('answers how far those are that it is asked about, and leaves out what is not there', async () => {
      const { storage } = get();
      const made = await commit(await workstream(), message('hello'));
      const look = await storage.elsewhere.look([randomId(), made.id, "no id, '); drop", ''], null);
      expect(look.asked).toMatchObject([
        { id: made.id, incarnation: made.incarnation, epoch: made.epoch, revision: made.projection.revision },
      ]);
      expect(look.asked).toHaveLength(1);
      expect(look.changed).toEqual([]);
    });
  });
}
