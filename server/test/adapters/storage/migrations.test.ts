import pg from 'pg';
import { migrations } from 'migrations';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStorage } from '../../../src/adapters/storage/index.ts';
import { judgeServer } from '../../../src/adapters/storage/orm.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { containing, matching } from './fixtures.ts';

let database: TestDatabase;

beforeEach(async () => {
  database = await createDatabase({ empty: true });
});
afterEach(() => database.drop());

const tables = () =>
  database.sql(
    `select table_name, column_name from information_schema.columns where table_schema = 'public' order by 1, 2`,
  );

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
