import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { lookParameters, lookSql } from '../../../src/adapters/storage/elsewhere.ts';
import type { Storage } from '../../../src/adapters/storage/index.ts';
import type { Session } from '../../../src/ports/ownership.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { beginSession, openWorkstream, randomId } from './fixtures.ts';

let database: TestDatabase;
let storage: Storage;
let session: Session;
let mark: string;

beforeAll(async () => {
  database = await createDatabase();
  storage = await database.openStorage();
});
beforeEach(async () => {
  session = await beginSession(storage);
  ({ mark } = await storage.elsewhere.look([], null));
});
afterAll(() => database.drop());

const made = async (): Promise<string> => (await openWorkstream(storage, session)).id;
const rename = (id: string) =>
  database.sql('update workstream set title = $2 where id = $1', [id, randomId()]);

/** A transaction of somebody else that a test ends when it likes. */
async function transaction(): Promise<{
  run(sql: string, values?: unknown[]): Promise<void>;
  end(how: string): Promise<void>;
}> {
  const client = new pg.Client(database.url);
  await client.connect();
  await client.query('begin');
  return {
    run: async (sql, values) => void (await client.query(sql, values)),
    async end(how) {
      await client.query(how);
      await client.end();
    },
  };
}

/** What a look tells, and the mark after it is the next one's. */
async function look() {
  const seen = await storage.elsewhere.look([], mark);
  ({ mark } = seen);
  return { changed: seen.changed.map((row) => row.id), deleted: seen.deleted };
}
const nothing = { changed: [], deleted: [] };

describe('A look at the database', () => {
  it('tells what a transaction wrote that began before others and committed after them, and tells each once (D-26)', async () => {
    const [early, late, gone] = [await made(), await made(), await made()];
    await look();
    const slow = await transaction();
    await slow.run('update workstream set title = $2 where id = $1', [early, 'Early']);
    await slow.run('delete from workstream where id = $1', [gone]);
    await rename(late);
    expect(await look()).toEqual({ changed: [late], deleted: [] });
    expect(await look()).toEqual(nothing);
    await slow.end('commit');
    expect(await look()).toEqual({ changed: [early], deleted: [gone] });
    expect(await look()).toEqual(nothing);
  });

  it('does not tell what was rolled back', async () => {
    const [one, two] = [await made(), await made()];
    await look();
    const undone = await transaction();
    await undone.run('update workstream set title = $2 where id = $1', [one, 'Never']);
    await undone.run('delete from workstream where id = $1', [two]);
    await undone.end('rollback');
    expect(await look()).toEqual(nothing);
  });

  it('goes on from its mark however much later it comes', async () => {
    const id = await made();
    await look();
    await rename(id);
    const between = await made();
    for (let i = 0; i < 20; i += 1) await rename(between);
    expect((await look()).changed.toSorted()).toEqual([id, between].toSorted());
  });

  it('does not tell for ever what a dump brought from a database that had counted further', async () => {
    const id = await made();
    await database.sql('alter table workstream disable trigger workstream_listed');
    await database.sql(`update workstream set listed_xid = '999999999999' where id = $1`, [id]);
    await database.sql('alter table workstream enable trigger workstream_listed');
    await look();
    expect(await look()).toEqual(nothing);
    await rename(id);
    expect(await look()).toEqual({ changed: [id], deleted: [] });
  });

  it('is not kept a list of deletions for ever: the sweeps forget them after an hour', async () => {
    const [old, young] = [await made(), await made()];
    await database.sql('delete from workstream where id = any($1)', [[old, young]]);
    await database.sql(
      `update workstream_deletion set at = now() - interval '61 minutes' where workstream_id = $1`,
      [old],
    );
    await storage.removal.reap({ sessionId: session.id, except: [] }, 60_000);
    const left = await database.sql(
      'select workstream_id from workstream_deletion where workstream_id = any($1)',
      [[old, young]],
    );
    expect(left).toEqual([{ workstream_id: young }]);
  });

  it('reads no more of 2,000 workstreams than has changed: by the indexes', async () => {
    const id = await made();
    await database.sql(
      `insert into workstream (id, incarnation, lifecycle, epoch, revision, generation, projection, state, title, model, workspace, stopping, failed_loads, created_at, updated_at)
       select 'many' || n, 'i', 'OPEN', 1, 0, 1, w.projection, 'IDLE', 'One of many', 'demo', '', false, 0, now(), now()
       from generate_series(1, 2000) n, workstream w where w.id = $1`,
      [id],
    );
    await database.sql(
      `insert into workstream_deletion (workstream_id) select 'gone' || n from generate_series(1, 2000) n`,
    );
    await database.sql('analyze');
    await look();
    let parameter = 0;
    const explained = await database.sql<{ 'QUERY PLAN': string }>(
      `explain ${lookSql.replaceAll('?', () => `$${(parameter += 1)}`)}`,
      lookParameters([id], mark),
    );
    const plan = explained.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toContain('workstream_pkey');
    expect(plan).toContain('workstream_listed_xid');
    expect(plan).toContain('workstream_deletion_xid');
    expect(plan).not.toContain('Seq Scan');
  });
});
