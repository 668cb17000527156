/**
 * Owns: a server on a database it was given: what it makes there, what it leaves there, what it refuses. Does not own:
 * the embedded one (`e2e/specs/process.test.ts`).
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makePlace, removePlace, spawnWeir, startWeir, type Place } from '../../../e2e/support/weir.ts';
import { ofKind } from '../../../e2e/support/journal-laws.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startScriptedProvider } from '../support/scripted-provider.ts';

let place: Place;
let database: TestDatabase;
const cleanup: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  place = makePlace();
  database = await createDatabase({ empty: true });
});
afterEach(async () => {
  for (const end of cleanup.splice(0).reverse()) await end();
  await removePlace(place);
  await database.drop();
});

describe('with DATABASE_URL', () => {
  it('makes its tables in an empty database, keeps everything there, and finds it again after kill -9', async () => {
    const provider = await startScriptedProvider();
    cleanup.push(() => provider.close());
    provider.script([{ stream: ['Once upon a ', { gate: 'half' }, 'time.'] }, { stream: ['Long ago.'] }]);
    const weir = await startWeir({ databaseUrl: database.url, provider }, place);
    cleanup.push(() => weir.kill('SIGKILL'));
    const token = await weir.signIn();
    const id = await weir.api(token).create({ title: 'Kept' });
    await weir.api(token).send(id, 'A story.');
    await provider.waitForGate('half');
    await weir.kill('SIGKILL');
    expect(existsSync(join(place.data, 'postgres'))).toBe(false);

    const next = await weir.restart();
    cleanup.push(() => next.kill('SIGKILL'));
    const { entries, view } = await next.api(token).waitForState(id, 'IDLE');
    expect(view.projection.configuration.title).toBe('Kept');
    expect(ofKind(entries, 'ASSISTANT').map((e) => e.text)).toEqual(['Long ago.']);
    const { data } = await next.api(token).query<{ server: { database: string } }>('{ server { database } }');
    expect(data!.server.database).toMatch(/^PostgreSQL \d+/);
    expect(data!.server.database).not.toMatch(/embedded/);
    expect(await next.stop()).toEqual({ code: 0, signal: null });
    expect(await openSessions()).toEqual([]);
    provider.assertDone();
  });

  it('refuses a second server of the same node name, which the first does not feel (D-100)', async () => {
    const env = { WEIR_NODE: 'twin' };
    const weir = await startWeir({ databaseUrl: database.url, env }, place);
    cleanup.push(() => weir.kill('SIGKILL'));
    const api = weir.api(await weir.signIn());
    const twin = spawnWeir(place, { databaseUrl: database.url, env });
    cleanup.push(() => twin.kill('SIGKILL'));
    expect(await twin.exited).toEqual({ code: 1, signal: null });
    expect(twin.output()).toMatch(/node name "twin" is running on this database.*WEIR_NODE/);
    expect(await api.create()).toBeTruthy();
  });

  it('refuses a database of a newer version and leaves it as it is', async () => {
    const weir = await startWeir({ databaseUrl: database.url }, place);
    expect(await weir.stop()).toEqual({ code: 0, signal: null });
    await database.sql(
      `insert into weir_migration (name, executed_at) values ('Migration29990101000000_from_the_future', now())`,
    );
    const before = await database.sql('select * from weir_migration order by id');
    const older = spawnWeir(place, { databaseUrl: database.url });
    cleanup.push(() => older.kill('SIGKILL'));
    expect(await older.exited).toEqual({ code: 1, signal: null });
    expect(older.output().trim().split('\n')).toHaveLength(1);
    expect(older.output()).toMatch(/newer/i);
    expect(await database.sql('select * from weir_migration order by id')).toEqual(before);
    expect(await openSessions()).toEqual([]);
  });

  /** It does not start: what it says. */
  const refusal = async (databaseUrl: string | undefined): Promise<string> => {
    const weir = spawnWeir(place, databaseUrl === undefined ? {} : { databaseUrl });
    cleanup.push(() => weir.kill('SIGKILL'));
    expect(await weir.exited).toEqual({ code: 1, signal: null });
    expect(weir.output().trim().split('\n')).toHaveLength(1);
    return weir.output();
  };
  const mark = (): string => join(place.data, 'database-id');

  it('refuses a data folder of another database, a copy of it or the embedded one, and leaves it as it is (broke: each took what the other made in it for its own)', async () => {
    const weir = await startWeir({ databaseUrl: database.url }, place);
    expect(await weir.stop()).toEqual({ code: 0, signal: null });
    const copy = await createDatabase({ copyOf: database });
    cleanup.push(() => copy.drop());
    const before = readFileSync(mark(), 'utf8');
    expect(await refusal(copy.url)).toMatch(
      /does not name the database at DATABASE_URL, .*WEIR_DATA.*delete .*database-id/,
    );
    expect(await refusal(undefined)).toMatch(/belongs to a database elsewhere, and DATABASE_URL is not set/);
    expect(existsSync(join(place.data, 'postgres'))).toBe(false);
    expect(readFileSync(mark(), 'utf8')).toBe(before);
    // As that says: it took the place of the other.
    rmSync(mark());
    const next = await startWeir({ databaseUrl: copy.url }, place);
    expect(await next.stop()).toEqual({ code: 0, signal: null });
    expect(await refusal(database.url)).toMatch(/belongs to another one/);
  });

  it('refuses a data folder that has a database in it, and says nothing in it of its own', async () => {
    mkdirSync(join(place.data, 'postgres'), { recursive: true });
    writeFileSync(join(place.data, 'postgres', 'PG_VERSION'), '18\n');
    expect(await refusal(database.url)).toMatch(
      /belongs to the database in it, and DATABASE_URL names another/,
    );
    expect(existsSync(mark())).toBe(false);
  });

  it('refuses one that says of itself what cannot be read', async () => {
    mkdirSync(mark(), { recursive: true });
    expect(await refusal(database.url)).toMatch(/delete .*database-id/);
  });

  it('is given to one of two that start in a new folder at once, and to the same one for ever', async () => {
    const other = await createDatabase({ empty: true });
    cleanup.push(() => other.drop());
    const urls = [database.url, other.url];
    const both = urls.map((databaseUrl, i) =>
      spawnWeir(place, { databaseUrl, env: { WEIR_NODE: `n${i}`, PORT: '0' } }),
    );
    for (const weir of both) cleanup.push(() => weir.kill('SIGKILL'));
    await Promise.race(both.map((weir) => weir.exited));
    const lost = both.findIndex((weir) => !weir.isRunning());
    expect(both[lost]!.output()).toMatch(/belongs to another one/);
    expect(both[1 - lost]!.isRunning()).toBe(true);
    await both[1 - lost]!.kill('SIGKILL');
    expect(await refusal(urls[lost])).toMatch(/belongs to another one/);
  });

  it('refuses a database that is not there, in one sentence without the password', async () => {
    const url = new URL(database.url);
    url.pathname = '/no_such_database';
    url.password = 'hunter2';
    const weir = spawnWeir(place, { databaseUrl: url.href });
    cleanup.push(() => weir.kill('SIGKILL'));
    expect(await weir.exited).toEqual({ code: 1, signal: null });
    expect(weir.output().trim().split('\n')).toHaveLength(1);
    expect(weir.output()).toContain('no_such_database');
    expect(weir.output()).not.toContain('hunter2');
  });
});

const openSessions = (): Promise<unknown[]> =>
  database.sql('select id from node_session where ended_at is null');
