/**
 * Owns: opening MikroORM on a database: connection settings, limits, migrations. Does not own: what is stored.
 *
 * Invariants: a database that cannot be used (too old a server, a newer Weir's tables) is refused before anything
 * is changed; migrations run under an advisory lock, one process at a time.
 */
import { Migrator } from '@mikro-orm/migrations';
import { MikroORM, type Options } from '@mikro-orm/postgresql';
import { migrations, migrationsFolder } from 'migrations';
import pg from 'pg';
import { reasonOf } from '../../core/kit/reason.ts';
import { entities } from './entities/index.ts';
import { faultOf } from './faults.ts';
import { poolOptions } from './pool.ts';

export type Orm = MikroORM;

export interface Connection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly password?: string;
  readonly ssl?: unknown;
}

export type OpenFailure = { readonly type: 'refused'; readonly message: string };
export type OrmOutcome =
  | {
      readonly type: 'opened';
      readonly orm: Orm;
      readonly version: string;
      /** The same under any address and after a failover, and of a copy of the files; another one of what was restored from a dump. */
      readonly identity: string;
    }
  | OpenFailure;

const oldestServer = 150_000;
/** Any number, the same in every Weir; a transaction-free lock of the connection that migrates. */
const migrationLock = '8243715226837104';
const migrationPatience = '10min';
const connectTimeoutMs = 5_000;
/** The server gives up on a statement before the client gives up on the server. */
const statementTimeoutMs = 15_000;
const queryTimeoutMs = 20_000;

/** Settings of a connection URL, read the way libpq reads them; `refused` when it is not one. */
export function connectionOf(
  url: string,
): { readonly type: 'connection'; readonly connection: Connection } | OpenFailure {
  if (!/^postgres(ql)?:\/\//.test(url)) {
    return refused(
      'DATABASE_URL must begin with postgresql:// (for example postgresql://user:password@host:5432/weir).',
    );
  }
  try {
    const { host, port, user, database, password, ssl } = new pg.Client(url);
    if (!database || !user) return refused('DATABASE_URL must name a user and a database.');
    return {
      type: 'connection',
      connection: { host, port, user, database, ssl, ...(password ? { password: String(password) } : {}) },
    };
  } catch {
    return refused('DATABASE_URL is not a valid connection URL.');
  }
}

/** Checks the server, brings its tables up to date, opens the ORM. */
export async function openOrm(
  connection: Connection,
  options: {
    readonly poolMax?: number;
    /** Says no once the database's files are gone: what it answers from then on does not count. */
    readonly isThere?: () => boolean;
  } = {},
): Promise<OrmOutcome> {
  const client = dedicatedClient(connection, 'weir migrations');
  let orm: Orm | null = null;
  try {
    await client.connect();
    const server = await checkServer(client);
    if (server.type === 'refused') return server;
    const identity = await identityOf(client);
    orm = await MikroORM.init(ormOptions(connection, options.poolMax ?? 10, options.isThere ?? (() => true)));
    const migrated = await migrate(orm, client);
    if (migrated) {
      await orm.close(true);
      return migrated;
    }
    return { type: 'opened', orm, version: server.version, identity };
  } catch (error) {
    await orm?.close(true).catch(() => undefined);
    return refused(explain(error, connection));
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** A connection outside the pool: for locks that live as long as it does. */
export function dedicatedClient(connection: Connection, name: string): pg.Client {
  const client = new pg.Client({
    ...(connection as pg.ClientConfig),
    application_name: name,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
  });
  // Losing it is seen by the next query and by 'end'; without a listener 'error' would end the process.
  client.on('error', () => undefined);
  return client;
}

function ormOptions(connection: Connection, poolMax: number, isThere: () => boolean): Options {
  const { host, port, user, database, password, ssl } = connection;
  return {
    host,
    port,
    user,
    dbName: database,
    ...(password === undefined ? {} : { password }),
    entities,
    extensions: [Migrator],
    // Its lines can hold what people wrote.
    logger: () => undefined,
    forceUtcTimezone: true,
    ensureDatabase: false,
    pool: { min: 0, max: poolMax, idleTimeoutMillis: 30_000 },
    driverOptions: {
      ...poolOptions(isThere),
      ssl,
      application_name: 'weir',
      // However the database is set up, days and times are written as they are read here.
      options: '-c datestyle=ISO',
      connectionTimeoutMillis: connectTimeoutMs,
      statement_timeout: statementTimeoutMs,
      lock_timeout: 10_000,
      idle_in_transaction_session_timeout: 30_000,
      query_timeout: queryTimeoutMs,
      keepAlive: true,
    },
    migrations: {
      path: migrationsFolder,
      pathTs: migrationsFolder,
      migrationsList: [...migrations],
      tableName: 'weir_migration',
      snapshotName: '.snapshot',
      snapshotOnMigrate: false,
      snapshot: false,
      silent: true,
      // All or nothing: a failed start leaves the database as it was.
      allOrNothing: true,
    },
  };
}

async function checkServer(
  client: pg.Client,
): Promise<{ readonly type: 'good'; readonly version: string } | OpenFailure> {
  const answer = await client.query<{ number: string; version: string; encoding: string }>(
    `select current_setting('server_version_num') as number, split_part(current_setting('server_version'), ' ', 1) as version, current_setting('server_encoding') as encoding`,
  );
  return judgeServer(answer.rows[0]!);
}

/** Whether a server with these settings can be used. */
export function judgeServer(server: {
  /** Like 180004. */
  readonly number: string;
  readonly version: string;
  readonly encoding: string;
}): { readonly type: 'good'; readonly version: string } | OpenFailure {
  const { number, version, encoding } = server;
  if (Number(number) < oldestServer) {
    return refused(`Weir needs PostgreSQL 15 or newer; the server at DATABASE_URL is PostgreSQL ${version}.`);
  }
  if (encoding !== 'UTF8') {
    return refused(
      `Weir needs a database in the encoding UTF8; this one is in ${encoding}. Create it with ENCODING 'UTF8'.`,
    );
  }
  return { type: 'good', version };
}

/** The cluster by what was drawn when it was made, unless that may not be known, and the database in it. */
async function identityOf(client: pg.Client): Promise<string> {
  const [{ oid }] = (
    await client.query<{ oid: string }>(
      'select oid::text from pg_database where datname = current_database()',
    )
  ).rows as [{ oid: string }];
  const [cluster] = await client
    .query<{ id: string }>('select system_identifier::text as id from pg_control_system()')
    .then(
      ({ rows }) => rows,
      () => [],
    );
  return `${cluster?.id ?? 'unknown'}/${oid}`;
}

/** Null when the tables are up to date now. */
async function migrate(orm: Orm, client: pg.Client): Promise<OpenFailure | null> {
  await client.query(`set lock_timeout = '${migrationPatience}'`);
  await client.query('select pg_advisory_lock($1)', [migrationLock]);
  try {
    const newer = await unknownMigrations(client);
    if (newer.length > 0) {
      return refused(
        `The database was made by a newer Weir (it has the migration ${newer.at(-1)}, which this one does not know). Nothing was changed. Start the newer Weir, or use another database.`,
      );
    }
    await orm.migrator.up();
    return null;
  } finally {
    await client.query('select pg_advisory_unlock($1)', [migrationLock]).catch(() => undefined);
  }
}

async function unknownMigrations(client: pg.Client): Promise<readonly string[]> {
  const table = await client.query<{ found: string | null }>(`select to_regclass('weir_migration') as found`);
  if (!table.rows[0]?.found) return [];
  const known = new Set(migrations.map((m) => m.name));
  const applied = await client.query<{ name: string }>('select name from weir_migration order by id');
  return applied.rows.map((row) => row.name).filter((name) => !known.has(name));
}

const refused = (message: string): OpenFailure => ({ type: 'refused', message });

function explain(error: unknown, connection: Connection): string {
  const where = connection.host.startsWith('/')
    ? `the socket folder ${connection.host}`
    : `${connection.host}:${connection.port}`;
  switch ((error as { code?: unknown }).code) {
    case '3D000':
      return `There is no database "${connection.database}" at ${where}. Create it (createdb ${connection.database}) and start again.`;
    case '28P01':
    case '28000':
      return `The database at ${where} refuses the user "${connection.user}". Check user and password in DATABASE_URL.`;
    case '42501':
      return `The user "${connection.user}" may not create tables in the database "${connection.database}". Grant it (alter database … owner to …) and start again.`;
    case '55P03':
      return 'Another process has been changing the tables for 10 minutes. See whether it hangs, and start again.';
  }
  const fault = faultOf(error);
  if (fault.type === 'unavailable')
    return `No PostgreSQL can be reached at ${where}: ${fault.message} Check that it runs, that host and port in DATABASE_URL are its own, and that no firewall is between; or leave DATABASE_URL out to use the embedded one.`;
  return `The database at ${where} could not be opened: ${reasonOf(error)}`;
}
