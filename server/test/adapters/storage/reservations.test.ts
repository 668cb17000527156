import { emptyProjection } from 'schema/projection';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Storage } from '../../../src/adapters/storage/index.ts';
import type { Page, Position, SummaryRow } from '../../../src/ports/catalog.ts';
import type { Session } from '../../../src/ports/ownership.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import {
  batchOf,
  beginSession,
  birth,
  cycle,
  message,
  openWorkstream,
  randomId,
  receipt,
  turn,
  type Made,
} from './fixtures.ts';

let database: TestDatabase;
let storage: Storage;
let session: Session;

beforeAll(async () => {
  database = await createDatabase();
  storage = await database.openStorage();
});
// One for each test: terms end by the clock of the database, and all tests together may take longer.
beforeEach(async () => {
  session = await beginSession(storage);
});
afterEach(() => session.end());
afterAll(() => database.drop());

async function reserve(): Promise<Made> {
  const made: Made = { id: randomId(), incarnation: randomId(), epoch: 0, projection: emptyProjection };
  await storage.reservations.reserve({ ...made, sessionId: session.id });
  return made;
}

const seen = async (id: string) => {
  const all = await storage.catalog.list({ first: 200, after: null });
  return {
    got: await storage.catalog.get(id),
    listed: all.items.some((item) => item.id === id),
    counted: all.totalCount,
  };
};

describe('A reservation', () => {
  it('is invisible to every reader until it is published (D-20)', async () => {
    const before = await seen('nobody');
    const made = await reserve();
    expect(await seen(made.id)).toEqual({ got: null, listed: false, counted: before.counted });
    expect((await storage.journal.head(made.id))?.lifecycle).toBe('CREATING');

    const batch = batchOf(made, birth('Mine'), { receipts: [receipt('ada', randomId())] });
    expect(await storage.reservations.publish(batch)).toEqual({ type: 'published' });
    const after = await seen(made.id);
    expect(after).toMatchObject({ listed: true, counted: before.counted + 1 });
    expect(after.got).toMatchObject({ projection: batch.projection, revision: 2, owner: null });
    expect(await storage.journal.read(made.id, { after: 0, through: 9, limit: 9 })).toEqual(batch.entries);
    expect(await storage.journal.findReceipt('ada', batch.receipts[0]!.key)).toEqual(batch.receipts[0]);
  });

  it('takes no ordinary commit', async () => {
    const made = await reserve();
    expect(await storage.journal.commit(batchOf(made, birth('Sneaky')))).toEqual({ type: 'fenced' });
    expect((await storage.journal.head(made.id))?.revision).toBe(0);
  });

  it('published under a key that is taken leaves no trace of the second', async () => {
    const key = randomId();
    const [one, two] = [await reserve(), await reserve()];
    const published = await storage.reservations.publish(
      batchOf(one, birth('1'), { receipts: [receipt('ada', key)] }),
    );
    expect(published).toEqual({ type: 'published' });
    const again = await storage.reservations.publish(
      batchOf(two, birth('2'), { receipts: [receipt('ada', key)] }),
    );
    expect(again).toEqual({ type: 'duplicate' });
    expect((await storage.journal.head(two.id))?.lifecycle).toBe('CREATING');
    expect(await storage.journal.read(two.id, { after: 0, through: 9, limit: 9 })).toEqual([]);
    await storage.reservations.rollback(two.id, two.incarnation);
    expect(await storage.journal.head(two.id)).toBeNull();
  });

  it('published twice under one key at the same time is published once', async () => {
    const key = randomId();
    const both = await Promise.all([reserve(), reserve()]);
    const outcomes = await Promise.all(
      both.map((made) =>
        storage.reservations.publish(batchOf(made, birth('x'), { receipts: [receipt('ada', key)] })),
      ),
    );
    expect(outcomes.map((o) => o.type).toSorted()).toEqual(['duplicate', 'published']);
  });

  it('rolled back is gone, and cannot be published any more', async () => {
    const made = await reserve();
    await storage.reservations.rollback(made.id, randomId());
    expect(await storage.journal.head(made.id)).not.toBeNull();
    await storage.reservations.rollback(made.id, made.incarnation);
    expect(await storage.journal.head(made.id)).toBeNull();
    expect(await storage.reservations.publish(batchOf(made, birth('x')))).toEqual({ type: 'gone' });
  });

  it('once published is not rolled back and not published again', async () => {
    const made = await reserve();
    await storage.reservations.publish(batchOf(made, birth('x')));
    await storage.reservations.rollback(made.id, made.incarnation);
    expect((await seen(made.id)).listed).toBe(true);
    expect(await storage.reservations.publish(batchOf(made, birth('y')))).toEqual({ type: 'gone' });
  });

  it('of another incarnation is not published', async () => {
    const made = await reserve();
    expect(
      await storage.reservations.publish(batchOf({ ...made, incarnation: randomId() }, birth('x'))),
    ).toEqual({
      type: 'gone',
    });
  });
});

describe('The catalog', () => {
  it('lists newest first, page by page, each once', async () => {
    for (let i = 0; i < 7; i++) await openWorkstream(storage, session, `number ${i}`);
    // The same moment for several: the id decides.
    await database.sql(`update workstream set created_at = date_trunc('minute', created_at)`);
    const { items: all, totalCount } = await storage.catalog.list({ first: 200, after: null });
    expect(all).toHaveLength(totalCount);
    const paged: string[] = [];
    for (let after: Position | null = null; ;) {
      const page: Page<SummaryRow> = await storage.catalog.list({ first: 3, after });
      paged.push(...page.items.map((item) => item.id));
      expect(page.totalCount).toBe(totalCount);
      if (!page.hasNext) break;
      const { createdAt, id } = page.items.at(-1)!;
      after = { at: createdAt, id };
    }
    expect(paged).toEqual(all.map((item) => item.id));
    expect(new Set(paged).size).toBe(totalCount);
    const times = all.map((item) => item.createdAt);
    expect(times).toEqual(times.toSorted().toReversed());
  });

  it('lists open approvals newest first, page by page, past one that was decided meanwhile', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      const made = await openWorkstream(storage, session);
      const [turnId, id] = [randomId(), randomId()];
      ids.unshift(id);
      const asked = cycle(id, turnId, { openedAt: `2026-11-30T10:00:0${i}.000Z` });
      const outcome = await storage.journal.commit(
        batchOf(made, [
          message('x'),
          { kind: 'TURN', turn: turn(turnId) },
          { kind: 'APPROVAL', cycle: asked },
        ]),
      );
      expect(outcome.type).toBe('committed');
    }
    const first = await storage.catalog.openCycles({ first: 2, after: null });
    expect(first).toMatchObject({ hasNext: true, totalCount: 5 });
    expect(first.items.map((i) => i.cycle.id)).toEqual(ids.slice(0, 2));
    await database.sql(`update approval_cycle set status = 'SETTLED' where id = $1`, [ids[1]]);
    const second = await storage.catalog.openCycles({
      first: 9,
      after: { at: '2026-11-30T10:00:03.000Z', id: ids[1]! },
    });
    expect(second).toMatchObject({ hasNext: false, totalCount: 4 });
    expect(second.items.map((i) => i.cycle.id)).toEqual(ids.slice(2));
  });
});
