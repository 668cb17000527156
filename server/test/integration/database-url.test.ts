/**
 * Owns: a server on a database it was given: what it makes there, what it leaves there, what it refuses. Does not own:
 * the embedded one (`e2e/specs/process.test.ts`).
 */
import { existsSync } from 'node:fs';
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
