import pg from 'pg';
import { Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import { migrations } from 'migrations';
import { emptyProjection } from 'schema/projection';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStorage } from '../../../src/adapters/storage/index.ts';
import { connectionOf, judgeServer } from '../../../src/adapters/storage/orm.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { entities } from '../../../src/adapters/storage/entities/index.ts';
import { ada, at, containing, matching } from './fixtures.ts';

let database: TestDatabase;

beforeEach(async () => {
  database = await createDatabase({ empty: true });
});
afterEach(() => database.drop());

const tables = () =>
  database.sql(
    `select table_name, column_name from information_schema.columns where table_schema = 'public' order by 1, 2`,
  );

/** Brings the tables to where a Weir that knew no later migration left them. */
async function migrateTo(name: string): Promise<void> {
  const parsed = connectionOf(database.url);
  if (parsed.type === 'refused') throw new Error(parsed.message);
  const { ssl: _, database: dbName, ...connection } = parsed.connection;
  const orm = await MikroORM.init({
    ...connection,
    dbName,
    entities,
    extensions: [Migrator],
    migrations: {
      migrationsList: [...migrations],
      tableName: 'weir_migration',
      snapshot: false,
      silent: true,
    },
  });
  await orm.migrator.up({ to: name });
  await orm.close(true);
}

describe('Opening a database', () => {
  it('by several servers at once brings its tables up once', async () => {
    const all = await Promise.all([1, 2, 3].map(() => database.openStorage()));
    expect(all).toHaveLength(3);
    const applied = await database.sql('select name from weir_migration order by id');
    expect(applied.map((row) => row['name'])).toEqual(migrations.map((m) => m.name));
  });

  it('leaves tables that are exactly what the entities say', async () => {
    const orm = await database.openOrm();
    expect(await orm.schema.getUpdateSchemaSQL({ wrap: false })).toBe('');
    expect(await orm.migrator.checkSchema()).toBe(false);
  });

  it('again changes nothing', async () => {
    await database.openStorage();
    const before = await tables();
    await database.openStorage();
    expect(await tables()).toEqual(before);
  });

  it('that is older fills in what its journals and folds lack, and changes nothing else', async () => {
    await migrateTo('Migration20261130101330_initial');
    const old = {
      configuration: { title: 'Old', model: 'demo', workspace: '/tmp/w' },
      items: ['one', 'two'].map((text) => ({ id: text, text, author: ada, afterStop: false, at })),
    };
    const entries = [
      { kind: 'LIFECYCLE', payload: { lifecycle: 'OPEN' } },
      { kind: 'CONFIGURATION', payload: { configuration: old.configuration } },
      { kind: 'QUEUE', payload: { queue: { items: old.items, held: true } } },
      { kind: 'QUEUE', payload: { queue: { items: [], held: false } } },
      { kind: 'USER', payload: { text: 'h'.repeat(40), author: ada, source: 'MESSAGE' } },
      {
        kind: 'ASSISTANT',
        payload: { text: 'é'.repeat(20), calls: [{ name: 'shell', arguments: '1234567' }] },
      },
      { kind: 'TOOL', payload: { callId: 'c', name: 'shell', content: '' } },
    ];
    const {
      superseded: _,
      watches: _w,
      origin: _o,
      context,
      checkpoint: _c,
      budgetLimit: _b,
      ...fold
    } = emptyProjection;
    const projections = [
      { ...fold, ...old, queue: { items: old.items, held: true }, items: undefined },
      { ...fold, configuration: old.configuration, lifecycle: 'OPEN', revision: entries.length },
    ];
    for (const [i, projection] of projections.entries())
      await database.sql(
        `insert into workstream (id, incarnation, lifecycle, epoch, revision, generation, projection, state, title, model, workspace, stopping, failed_loads, created_at, updated_at)
         values ($1, 'i', 'OPEN', 1, $2, 1, $3, 'IDLE', 'Old', 'demo', '/tmp/w', false, 0, $4, $4)`,
        [`w${i}`, entries.length, projection, at],
      );
    for (const [i, { kind, payload }] of entries.entries())
      await database.sql(
        `insert into entry (workstream_id, revision, id, kind, epoch, generation, commit_key, payload, at) values ('w0', $1, $2, $3, 1, 1, $2, $4, $5)`,
        [i + 1, `e${i}`, kind, payload, at],
      );
    await database.sql(
      `insert into queued_message (id, workstream_id, position, text, author_id, author_name, after_stop, at) values ('one', 'w0', 0, 'one', 'ada', 'Ada', false, $1)`,
      [at],
    );
    for (const [scope, key] of [
      ['ada/w0', 'sent'],
      ['ada', 'created'],
    ])
      await database.sql(
        `insert into receipt (scope, key, input_hash, outcome, created_at) values ($1, $2, 'h', '{}', $3)`,
        [scope, key, at],
      );

    const storage = await database.openStorage();
    const nobody = { approvalMode: 'ASK', approvalModeBy: { id: '', name: '' } };
    const configuration = { ...old.configuration, ...nobody, titleSource: 'PERSON' };
    const items = old.items.map((item) => ({ ...item, delivery: 'QUEUE', turnId: null }));
    const folds = await Promise.all(['w0', 'w1'].map((id) => storage.catalog.get(id)));
    expect(folds.map((row) => row?.projection)).toEqual([
      { ...emptyProjection, configuration, queue: { items, held: true }, context: { ...context, told: 39 } },
      { ...emptyProjection, configuration, lifecycle: 'OPEN', revision: entries.length },
    ]);
    const read = await storage.journal.read('w0', { after: 0, through: 9, limit: 9 });
    const place = { epoch: 1, generation: 1, lane: null, turnId: null, at };
    expect(read).toEqual(
      [
        { kind: 'LIFECYCLE', lifecycle: 'OPEN', by: null },
        { kind: 'CONFIGURATION', configuration },
        { kind: 'QUEUE', queue: { items, held: true } },
        { kind: 'QUEUE', queue: { items: [], held: false } },
        { kind: 'USER', text: 'h'.repeat(40), author: ada, source: 'MESSAGE', tokens: 14 },
        {
          kind: 'ASSISTANT',
          text: 'é'.repeat(20),
          calls: [{ name: 'shell', arguments: '1234567' }],
          tokens: 21,
        },
        { kind: 'TOOL', callId: 'c', name: 'shell', content: '', tokens: 4 },
      ].map((body, i) => ({ ...place, id: `e${i}`, revision: i + 1, ...body })),
    );
    expect(await database.sql('select delivery, turn_id from queued_message')).toEqual([
      { delivery: 'QUEUE', turn_id: null },
    ]);
    expect(await database.sql('select key, workstream_id from receipt order by key')).toEqual([
      { key: 'created', workstream_id: null },
      { key: 'sent', workstream_id: 'w0' },
    ]);
  });

  it('that is older counts what its models are told, however much it is, but what was taken back (D-39)', async () => {
    await migrateTo('Migration20261130165943_elsewhere');
    const { context: _, watches: _w, checkpoint: _c, budgetLimit: _b, ...fold } = emptyProjection;
    const spans = [
      { after: 10, through: 20 },
      { after: 100, through: 350 },
    ];
    await database.sql(
      `insert into workstream (id, incarnation, lifecycle, epoch, revision, generation, projection, state, title, model, workspace, stopping, failed_loads, created_at, updated_at)
       select 'w' || n, 'i', 'OPEN', 1, 450, 1, $1, 'IDLE', 'Old', 'demo', '/tmp/w', false, 0, now(), now() from generate_series(1, 3) n`,
      [{ ...fold, superseded: spans }],
    );
    await database.sql(
      `insert into entry (workstream_id, revision, id, kind, epoch, generation, commit_key, payload, at)
       select 'w' || n, r, n || '-' || r, 'USER', 1, 1, r, jsonb_build_object('text', '1234'), now() from generate_series(1, 3) n, generate_series(1, 450) r`,
    );
    const listed = await database.sql('select id, listed_xid from workstream order by id');
    const storage = await database.openStorage();
    const folds = await Promise.all(['w1', 'w2', 'w3'].map((id) => storage.catalog.get(id)));
    expect(folds.map((row) => row?.projection.context.told)).toEqual(Array(3).fill((450 - 10 - 250) * 5));
    expect(await database.sql(`select distinct payload ->> 'tokens' as tokens from entry`)).toEqual([
      { tokens: '5' },
    ]);
    expect(await database.sql('select id, listed_xid from workstream order by id')).toEqual(listed);
  });

  it('of a newer Weir is refused and nothing is changed', async () => {
    await database.sql(
      `create table weir_migration (id serial primary key, name varchar(255), executed_at timestamptz default now())`,
    );
    await database.sql(`insert into weir_migration (name) values ('Migration29991231235959_beyond')`);
    const before = await tables();
    const outcome = await openStorage({ databaseUrl: database.url });
    expect(outcome).toEqual({
      type: 'refused',
      message: matching(/newer Weir.*Migration29991231235959_beyond.*Nothing was changed/),
    });
    expect(await tables()).toEqual(before);
  });

  it('that is not there says so without the password', async () => {
    const url = new URL(database.url);
    url.pathname = '/nowhere';
    url.password = 'sesame';
    const outcome = await openStorage({ databaseUrl: url.href });
    expect(outcome).toEqual({
      type: 'refused',
      message: matching(/no database "nowhere".*createdb/),
    });
    expect(JSON.stringify(outcome)).not.toContain('sesame');
  });

  it('where nothing listens says where', async () => {
    const outcome = await openStorage({ databaseUrl: 'postgresql://u:sesame@127.0.0.1:1/x' });
    expect(outcome).toEqual({ type: 'refused', message: containing('127.0.0.1:1') });
    expect(JSON.stringify(outcome)).not.toContain('sesame');
  });

  it.each(['', 'weir', 'mysql://u:sesame@h/x', 'postgresql://:::', 'postgresql://%zz@h/x'])(
    'at the malformed address "%s" is refused without quoting it',
    async (url) => {
      const outcome = await openStorage({ databaseUrl: url });
      expect(outcome.type).toBe('refused');
      expect(JSON.stringify(outcome)).not.toContain('sesame');
    },
  );

  it('in another encoding than UTF8 is refused', async () => {
    const name = `weir_ascii_${process.pid}`;
    await database.sql(
      `create database ${name} template template0 encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C'`,
    );
    const url = new URL(database.url);
    url.pathname = `/${name}`;
    try {
      const outcome = await openStorage({ databaseUrl: url.href });
      expect(outcome).toEqual({ type: 'refused', message: containing('UTF8') });
    } finally {
      await database.sql(`drop database ${name}`);
    }
  });

  it('of PostgreSQL 14 is refused, of 15 is not', () => {
    const server = { version: '14.9', encoding: 'UTF8' };
    expect(judgeServer({ ...server, number: '140009' })).toEqual({
      type: 'refused',
      message: containing('PostgreSQL 15 or newer'),
    });
    expect(judgeServer({ ...server, number: '150000' }).type).toBe('good');
  });

  it('describes the server', async () => {
    const client = new pg.Client(database.url);
    await client.connect();
    const { rows } = await client.query<{ version: string }>(
      `select split_part(current_setting('server_version'), ' ', 1) as version`,
    );
    await client.end();
    expect(await (await database.openStorage()).describe()).toBe(`PostgreSQL ${rows[0]?.version}`);
  });
});
