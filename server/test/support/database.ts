/**
 * Owns: databases for tests: one server for the whole run, one migrated database per test file, cloned from a
 * template in milliseconds. `TEST_DATABASE_URL` (a superuser's, PostgreSQL 15 or newer) takes the place of the
 * embedded server.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { inject } from 'vitest';
import { startEmbeddedPostgres } from '../../src/adapters/storage/embedded-postgres.ts';
import { openStorage, type Storage } from '../../src/adapters/storage/index.ts';
import { connectionOf, openOrm, type Orm } from '../../src/adapters/storage/orm.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of a database on the server, for making others. */
    readonly testServer: string;
    /** Name of the migrated database that others are cloned from. */
    readonly testTemplate: string;
  }
}

/** vitest's globalSetup. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startServer();
  const template = `weir_template_${randomBytes(6).toString('hex')}`;
  await run(server.url, `create database ${template}`);
  const opened = await openStorage({ databaseUrl: withDatabase(server.url, template) });
  if (opened.type === 'refused') throw new Error(opened.message);
  await opened.storage.close();
  project.provide('testServer', server.url);
  project.provide('testTemplate', template);
  return async () => {
    await run(server.url, `drop database ${template}`).catch(() => undefined);
    await server.stop();
  };
}

export interface TestDatabase {
  /** For `openStorage({ databaseUrl })`, a server process, or plain SQL. */
  readonly url: string;
  /** Plain SQL over a connection of its own. */
  sql<Row extends object = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  openStorage(): Promise<Storage>;
  openOrm(): Promise<Orm>;
  /** Closes what was opened through this, and drops the database. */
  drop(): Promise<void>;
}

/** A migrated database of its own; drop it in `afterAll`. `empty`: without any table. `copyOf`: of one that nobody uses. */
export async function createDatabase(
  options: { readonly empty?: boolean; readonly copyOf?: TestDatabase } = {},
): Promise<TestDatabase> {
  const server = inject('testServer');
  const name = `weir_test_${randomBytes(6).toString('hex')}`;
  const copied = options.copyOf && new URL(options.copyOf.url).pathname.slice(1);
  const template = copied ?? (options.empty ? 'template0' : inject('testTemplate'));
  await run(server, `create database ${name} template ${template}`);
  const url = withDatabase(server, name);
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on('error', () => undefined);
  const opened: (() => Promise<unknown>)[] = [];
  return {
    url,
    sql: async <Row extends object>(text: string, values?: unknown[]) =>
      (await pool.query<Row & pg.QueryResultRow>(text, values)).rows,
    openStorage: async () => {
      const outcome = await openStorage({ databaseUrl: url });
      if (outcome.type === 'refused') throw new Error(outcome.message);
      opened.push(() => outcome.storage.close());
      return outcome.storage;
    },
    openOrm: async () => {
      const parsed = connectionOf(url);
      if (parsed.type === 'refused') throw new Error(parsed.message);
      const outcome = await openOrm(parsed.connection);
      if (outcome.type === 'refused') throw new Error(outcome.message);
      opened.push(() => outcome.orm.close(true));
      return outcome.orm;
    },
    drop: async () => {
      await Promise.all(opened.map((close) => close()));
      await pool.end();
      await run(server, `drop database ${name} with (force)`);
    },
  };
}

/** A server for databases, of whose embedded kind `stop` deletes everything; whoever is not in this run's project needs one. */
export async function startServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const given = process.env['TEST_DATABASE_URL'];
  if (given) return { url: given, stop: () => Promise.resolve() };
  const dataDir = mkdtempSync(join(tmpdir(), 'weir-test-'));
  chmodSync(dataDir, 0o711);
  const started = await startEmbeddedPostgres({ dataDir, fsync: false });
  if (started.type === 'refused') throw new Error(started.message);
  const { connection, stop } = started.server;
  const { host, port, user, database } = connection;
  return {
    url: `postgresql://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`,
    stop: async () => {
      await stop();
      rmSync(dataDir, { recursive: true, force: true });
      rmSync(host, { recursive: true, force: true });
    },
  };
}

/** One statement over a connection of its own. */
export async function run(url: string, sql: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

export interface Connection {
  sql<Row extends object = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  end(): Promise<void>;
}

/** Plain SQL, to a server that may go away. */
export async function connect(url: string): Promise<Connection> {
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  await client.connect();
  return {
    sql: async <Row extends object>(text: string, values?: unknown[]) =>
      (await client.query<Row & pg.QueryResultRow>(text, values)).rows,
    end: () => client.end().catch(() => undefined),
  };
}

/** The URL of another database of the same server. */
export function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}
