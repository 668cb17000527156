import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openStorage, type Storage } from '../../../src/adapters/storage/index.ts';
import type { Session } from '../../../src/ports/ownership.ts';
import { StorageUnavailableError } from '../../../src/ports/storage-unavailable.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import {
  ada,
  batchOf,
  beginSession,
  type Made,
  matching,
  message,
  openWorkstream,
  randomId,
} from './fixtures.ts';

/** Between the storage and its database: passes everything on until told to lose something. */
interface Line {
  readonly url: string;
  /** What happens to the next COMMIT. `lost`: it never arrives. `unanswered`: it arrives, the answer does not. */
  atCommit: 'pass' | 'lost' | 'unanswered';
  down(): Promise<void>;
  close(): Promise<void>;
}

async function createLine(url: string): Promise<Line> {
  const { host, port, database, user, password } = new pg.Client(url);
  const target = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
  const sockets = new Set<Socket>();
  const server: Server = createServer((client) => {
    const upstream = connect(target);
    let cut = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (data) => {
      const commits = data.toString('latin1').toLowerCase().includes('commit\0');
      if (commits && line.atCommit === 'lost') {
        line.atCommit = 'pass';
        client.destroy();
        return;
      }
      if (commits && line.atCommit === 'unanswered') {
        line.atCommit = 'pass';
        cut = true;
      }
      upstream.write(data);
    });
    upstream.on('data', (data) => (cut ? client.destroy() : client.write(data)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const through = new URL(`postgresql://127.0.0.1:${(server.address() as AddressInfo).port}/${database}`);
  through.username = user ?? '';
  through.password = typeof password === 'string' ? password : '';
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  const line: Line = { url: through.href, atCommit: 'pass', down: close, close };
  return line;
}

let database: TestDatabase;
let line: Line;
let storage: Storage;
let session: Session;
let made: Made;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  line = await createLine(database.url);
  const outcome = await openStorage({ databaseUrl: line.url });
  if (outcome.type === 'refused') throw new Error(outcome.message);
  storage = outcome.storage;
  session = await beginSession(storage);
  made = await openWorkstream(storage, session);
});
afterEach(async () => {
  await line.close();
  await storage.close();
});

describe('A commit whose connection is lost', () => {
  it('before the database heard COMMIT is unavailable, did not land, and lands when repeated (D-52)', async () => {
    const batch = batchOf(made, [message('once')]);
    line.atCommit = 'lost';
    expect((await storage.journal.commit(batch)).type).toBe('unavailable');
    expect(await storage.journal.holds(made.id, batch.entries)).toBe(false);
    expect(await storage.journal.commit(batch)).toEqual({ type: 'committed' });
  });

  it('before the answer came back is unavailable, landed, and reading back says so (D-52)', async () => {
    const batch = batchOf(made, [message('once')]);
    line.atCommit = 'unanswered';
    expect((await storage.journal.commit(batch)).type).toBe('unavailable');
    expect(await storage.journal.holds(made.id, batch.entries)).toBe(true);
    // The repeat is fenced by its own success.
    expect(await storage.journal.commit(batch)).toEqual({ type: 'fenced' });
    expect((await storage.journal.head(made.id))?.revision).toBe(3);
  });

  it.each([
    ['lost', true],
    ['unanswered', false],
  ] as const)(
    'and with it the answer of a sweep (%s) has named what may be gone, and reading says whether it is (D-25)',
    async (how, stays) => {
      const own = `/made/${made.id}`;
      const closed = batchOf(made, [{ kind: 'LIFECYCLE', lifecycle: 'CLOSED', by: ada }]);
      await storage.journal.commit(closed);
      await storage.ownership.release(made.id, session.id, made.epoch);
      await database.sql(
        `update workstream set updated_at = now() - interval '1 hour', workspace = $2 where id = $1`,
        [made.id, own],
      );
      const { id, incarnation } = made;
      const named: unknown[] = [];
      line.atCommit = how;
      const sweeping = storage.removal.sweepClosed(
        { sessionId: session.id, except: [] },
        60_000,
        (batch) => void named.push(...batch),
      );
      await expect(sweeping).rejects.toBeInstanceOf(StorageUnavailableError);
      expect(named).toEqual([{ id, incarnation }]);
      expect((await storage.journal.head(id)) !== null).toBe(stays);
      expect(await storage.removal.leftFolders('/made')).toEqual(stays ? [] : [own]);
      await database.sql('delete from workstream where id = $1', [id]);
      await storage.removal.letGo(own, () => Promise.resolve());
    },
  );

  it('does not cost the pool a connection, however often it happens', async () => {
    for (let n = 0; n < 25; n++) {
      line.atCommit = 'lost';
      expect((await storage.journal.commit(batchOf(made, [message('x')]))).type).toBe('unavailable');
    }
    expect(await storage.journal.commit(batchOf(made, [message('x')]))).toEqual({ type: 'committed' });
  });

  it('because the operator ends it is unavailable', async () => {
    await database.sql(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
    // The pool may notice before or while it is used; both are the database being away for a moment.
    const outcomes = new Set<string>();
    for (let n = 0; n < 3; n++)
      outcomes.add((await storage.journal.commit(batchOf(made, [message('x')]))).type);
    expect([...outcomes].every((type) => ['committed', 'fenced', 'unavailable'].includes(type))).toBe(true);
  });
});

describe('While the database is away', () => {
  beforeEach(() => line.down());

  it('commits are unavailable and never reject (D-50)', async () => {
    expect(await storage.journal.commit(batchOf(made, [message('x')]))).toEqual({
      type: 'unavailable',
      message: matching(/^The (database does not answer|connection to the database was lost)/),
    });
  });

  it('every read and every small write says so by StorageUnavailableError', async () => {
    const { journal, ownership, catalog, reservations, removal, tokens, sessions } = storage;
    const by = { sessionId: session.id, except: [] };
    const [id, hash] = [made.id, randomId()];
    const attempts: (() => Promise<unknown>)[] = [
      () => journal.head(id),
      () => journal.holds(id, [{ id: 'x', revision: 1 }]),
      () => journal.read(id, { after: 0, through: 9, limit: 9 }),
      () => journal.epochAt(id, 1),
      () => journal.lastRevisionOf(id, 1, 1),
      () => journal.findReceipt('a', 'b'),
      () => ownership.claim(id, session.id),
      () => ownership.release(id, session.id, 1),
      () => ownership.liveTurns(session.id),
      () => ownership.recordFailedLoad(id, 'x'),
      () => catalog.get(id),
      () => catalog.list({ first: 1, after: null }),
      () => catalog.openCycles({ first: 1, after: null }),
      () => catalog.decisionOf(id, 'a', 'b'),
      () => reservations.reserve({ id: randomId(), incarnation: randomId(), sessionId: session.id }),
      () => reservations.publish(batchOf(made, [message('x')])),
      () => reservations.settleIn(id, made.incarnation, '/x'),
      () => reservations.rollback(id, made.incarnation),
      () => removal.reap(by, 1),
      () => removal.sweepUnused(by, 1, () => undefined),
      () => removal.sweepClosed(by, 1, () => undefined),
      () => removal.leftFolders('/x'),
      () => removal.letGo('/x', () => Promise.resolve()),
      () => tokens.addCode(hash, new Date()),
      () => tokens.exchangeCode(hash, { id, name: 'x', hash }),
      () => tokens.find(hash),
      () => tokens.create({ id, name: 'x', hash }, { scope: 'a', key: 'b', inputHash: 'c', outcome: {} }),
      () => tokens.revoke(id),
      () => tokens.list(),
      () => sessions.begin(randomId(), 'x'),
      () => session.renew(),
    ];
    for (const attempt of attempts) await expect(attempt()).rejects.toBeInstanceOf(StorageUnavailableError);
  });

  it('a session learns that its lock is gone, and ends without a word', async () => {
    await new Promise<void>((resolve) => session.onLost(resolve));
    await session.end();
  });
});
