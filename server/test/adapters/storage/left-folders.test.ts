/**
 * Owns: what PostgreSQL notes of the folders that deletions leave, where several are under way at once (D-25).
 * Does not own: when a folder is left and let go (`contracts/removal.ts`).
 */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emptyProjection } from 'schema/projection';
import type { Storage } from '../../../src/adapters/storage/index.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { beginSession, randomId } from './fixtures.ts';

let database: TestDatabase;
let storage: Storage;
let sessionId: string;

beforeAll(async () => {
  database = await createDatabase();
  storage = await database.openStorage();
  sessionId = (await beginSession(storage)).id;
});
afterAll(() => database.drop());

describe('A folder that two work in', () => {
  it('is taken by whoever lets go of the one while the other is being deleted: no note of it is lost (broke: nobody ever freed it)', async () => {
    const folder = `/made/${randomId()}`;
    const one = { id: randomId(), incarnation: randomId(), epoch: 0, projection: emptyProjection };
    const two = { ...one, id: randomId() };
    for (const made of [one, two]) await storage.reservations.reserve({ ...made, sessionId, folder });
    await storage.reservations.rollback(one.id, one.incarnation);
    expect(await storage.removal.leftFolders('/made')).toEqual([folder]);

    const other = new pg.Client({ connectionString: database.url });
    await other.connect();
    try {
      await other.query('begin');
      await other.query('delete from workstream where id = $1', [two.id]);
      const letting = storage.removal.letGo(folder, () => Promise.resolve('taken'));
      await Promise.race([letting, waiting()]);
      await other.query('commit');
      const how = await letting;
      const noted = await storage.removal.leftFolders('/made');
      expect(how === 'taken' || noted.includes(folder), `${how}, noted ${noted.join()}`).toBe(true);
    } finally {
      await other.end();
    }
  });
});

/** Until somebody waits for the other transaction. */
async function waiting(): Promise<void> {
  for (;;) {
    const blocked = await database.sql(
      'select 1 from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0',
    );
    if (blocked.length > 0) return;
  }
}
