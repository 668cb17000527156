import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Storage } from '../../../src/adapters/storage/index.ts';
import { connectionOf } from '../../../src/adapters/storage/orm.ts';
import { createSessions } from '../../../src/adapters/storage/sessions.ts';
import type { Session } from '../../../src/ports/ownership.ts';
import { StorageUnavailableError } from '../../../src/ports/storage-unavailable.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import {
  after,
  batchOf,
  beginSession,
  completed,
  message,
  openWorkstream,
  randomId,
  turn,
  type Made,
} from './fixtures.ts';

let database: TestDatabase;
/** Two servers on one database. */
let here: Storage;
let there: Storage;

beforeAll(async () => {
  database = await createDatabase();
  [here, there] = await Promise.all([database.openStorage(), database.openStorage()]);
});
afterAll(() => database.drop());

const expire = (session: Session) =>
  database.sql(`update node_session set expires_at = now() - interval '1 millisecond' where id = $1`, [
    session.id,
  ]);

async function withLiveTurn(storage: Storage, session: Session): Promise<Made> {
  const made = await openWorkstream(storage, session);
  const batch = batchOf(made, [{ kind: 'TURN', turn: turn(randomId()) }]);
  expect(await storage.journal.commit(batch)).toEqual({ type: 'committed' });
  return after(made, batch);
}

describe('A session', () => {
  it('holds its node alone while its process lives, and ends when it says so (D-100)', async () => {
    const node = randomId();
    const session = await beginSession(here, node);
    expect(await there.sessions.begin(node, 'there')).toEqual({ type: 'busy' });
    expect(await session.renew()).toBe(true);
    await session.end();
    await session.end();
    expect(await session.renew()).toBe(false);
    const next = await there.sessions.begin(node, 'there');
    expect(next.type).toBe('begun');
  });

  it('ends its predecessor at once when that one lost the lock (D-100)', async () => {
    const node = randomId();
    const first = await beginSession(here, node);
    const lost = new Promise<void>((resolve) => first.onLost(resolve));
    await killLockOf(node);
    await lost;
    const second = await beginSession(there, node);
    expect(await first.renew()).toBe(false);
    expect(await second.renew()).toBe(true);
    await first.end();
    expect(await second.renew()).toBe(true);
  });

  it('takes its lock again when only the connection was lost', async () => {
    const node = randomId();
    const session = await beginSession(here, node);
    const lost = new Promise<void>((resolve) => session.onLost(resolve));
    await killLockOf(node);
    await lost;
    expect(await session.renew()).toBe(true);
    expect(await there.sessions.begin(node, 'there')).toEqual({ type: 'busy' });
  });

  it('goes on, lock and all, when the one connection that holds its lock hangs (D-100)', async () => {
    const node = randomId();
    const session = await beginSession(here, node);
    const stuck = await lockPidOf(node);
    const before = await termOf(session);
    freeze(stuck);
    // Asked while the first is still being given up, as the heartbeat does: the answer is that of a new connection.
    const again = new Promise<boolean>((resolve) => session.onLost(() => resolve(session.renew())));
    await expect(session.renew()).rejects.toThrow(StorageUnavailableError);
    expect(await again).toBe(true);
    expect(await termOf(session)).toBeGreaterThan(before);
    expect(await there.sessions.begin(node, 'there')).toEqual({ type: 'busy' });
    expect(await session.renew()).toBe(true);

    // It was told to go, does so as soon as it can, and the session takes its lock again.
    process.kill(stuck, 'SIGCONT');
    await waitUntil(async () => (await session.renew()) && (await holdsLock(node)));
    expect(await lockPidOf(node)).not.toBe(stuck);
    await session.end();
    expect((await there.sessions.begin(node, 'there')).type).toBe('begun');
  });

  it('is over when its row says so, also while its own former connection hangs with the lock (D-100)', async () => {
    const node = randomId();
    const session = await beginSession(here, node);
    const stuck = await lockPidOf(node);
    freeze(stuck);
    await expect(session.renew()).rejects.toThrow(StorageUnavailableError);
    await expire(session);
    expect(await session.renew()).toBe(false);
  });

  it('is over with its term, by the database’s clock, and does not come back (D-100)', async () => {
    const session = await beginSession(here);
    await expire(session);
    expect(await session.renew()).toBe(false);
  });

  it('outlives its term where nobody else can come: a machine that slept is not another owner', async () => {
    const parsed = connectionOf(database.url);
    if (parsed.type !== 'connection') throw new Error('the test database has an address');
    const sessions = createSessions(parsed.connection, { exclusive: true });
    const begun = await sessions.begin(randomId(), 'here');
    if (begun.type !== 'begun') throw new Error('the lock is free');
    onTestFinished(() => begun.session.end());
    await expire(begun.session);
    expect(await begun.session.renew()).toBe(true);
    await database.sql('update node_session set ended_at = now() where id = $1', [begun.session.id]);
    expect(await begun.session.renew()).toBe(false);
  });

  it('has a term of 20 s from each heartbeat', async () => {
    const session = await beginSession(here);
    await session.renew();
    const rows = await database.sql<{ term: string }>(
      'select extract(epoch from expires_at - heartbeat_at)::text as term from node_session where id = $1',
      [session.id],
    );
    expect(Number(rows[0]?.term)).toBeCloseTo(20, 1);
  });

  /** Stops a process of the database until the end of the test. */
  function freeze(pid: number): void {
    process.kill(pid, 'SIGSTOP');
    onTestFinished(() => {
      try {
        process.kill(pid, 'SIGCONT');
      } catch {
        // It has gone on already, and ended.
      }
    });
  }

  const termOf = async (session: Session): Promise<number> =>
    Number(
      (
        await database.sql<{ at: string }>(
          'select extract(epoch from expires_at)::text as at from node_session where id = $1',
          [session.id],
        )
      )[0]?.at,
    );

  const lockHolders = (node: string) =>
    database.sql<{ pid: number }>(
      `select pid from pg_locks join pg_stat_activity using (pid)
       where locktype = 'advisory' and granted and application_name = $1`,
      [`weir node ${node}`],
    );
  const holdsLock = async (node: string): Promise<boolean> => (await lockHolders(node)).length > 0;
  const lockPidOf = async (node: string): Promise<number> => (await lockHolders(node))[0]!.pid;

  async function killLockOf(node: string) {
    await database.sql('select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1', [
      `weir node ${node}`,
    ]);
  }
});

describe('A claim', () => {
  it('takes the next epoch and brings all an actor needs (D-22)', async () => {
    const session = await beginSession(here, randomId(), 'host-a');
    const made = await openWorkstream(here, session);
    const batch = batchOf(made, [
      message('hello'),
      { kind: 'TURN', turn: turn(randomId()) },
      message('again'),
    ]);
    await here.journal.commit(batch);
    const claimed = await here.ownership.claim(made.id, session.id);
    expect(claimed).toEqual({
      type: 'claimed',
      workstream: {
        id: made.id,
        incarnation: made.incarnation,
        epoch: 2,
        projection: batch.projection,
        spent: 0,
        previousHost: 'host-a',
        failedLoads: 0,
        createdAt: (await here.catalog.get(made.id))?.createdAt,
      },
    });
  });

  it('fences out the epoch before it (D-4)', async () => {
    const session = await beginSession(here);
    const made = await openWorkstream(here, session);
    await here.ownership.claim(made.id, session.id);
    expect(await here.journal.commit(batchOf(made, [message('late')]))).toEqual({ type: 'fenced' });
  });

  it('is refused while another live session runs it, and granted once that one has ended or expired', async () => {
    const [mine, theirs] = [await beginSession(here, randomId(), 'mine'), await beginSession(there)];
    const [one, two] = [await openWorkstream(here, mine), await openWorkstream(here, mine)];
    expect(await there.ownership.claim(one.id, theirs.id)).toEqual({ type: 'elsewhere' });
    expect((await here.catalog.get(one.id))?.owner).toBe(mine.id);
    expect((await here.catalog.get(one.id))?.epoch).toBe(1);
    await expire(mine);
    expect((await here.catalog.get(one.id))?.owner).toBeNull();
    expect(await there.ownership.claim(one.id, theirs.id)).toMatchObject({
      type: 'claimed',
      workstream: { epoch: 2, previousHost: 'mine' },
    });
    await mine.end();
    expect((await there.ownership.claim(two.id, theirs.id)).type).toBe('claimed');
  });

  it('by a session that is over is refused', async () => {
    const [mine, theirs] = [await beginSession(here), await beginSession(there)];
    const made = await openWorkstream(here, mine);
    await here.ownership.release(made.id, mine.id, made.epoch);
    await expire(theirs);
    expect(await there.ownership.claim(made.id, theirs.id)).toEqual({ type: 'elsewhere' });
    expect(await there.ownership.claim(made.id, randomId())).toEqual({ type: 'elsewhere' });
  });

  it('raced by two sessions has one winner, every time', async () => {
    const sessions = await Promise.all([beginSession(here), beginSession(there)]);
    const mine = await beginSession(here);
    for (let round = 0; round < 20; round++) {
      const made = await openWorkstream(here, mine);
      await here.ownership.release(made.id, mine.id, made.epoch);
      const outcomes = await Promise.all([
        here.ownership.claim(made.id, sessions[0].id),
        there.ownership.claim(made.id, sessions[1].id),
      ]);
      expect(outcomes.map((o) => o.type).toSorted()).toEqual(['claimed', 'elsewhere']);
      expect((await here.journal.head(made.id))?.epoch).toBe(2);
    }
  });

  it('that waited for the row sees a session begun in the meantime', async () => {
    const mine = await beginSession(here);
    const made = await openWorkstream(here, mine);
    await here.ownership.release(made.id, mine.id, made.epoch);
    const theirs = await beginSession(there);
    // A third server begins a session and takes the workstream while `theirs` already waits for the row.
    const third = randomId();
    const orm = await database.openOrm();
    let waiting: Promise<{ type: string }> | undefined;
    await orm.em.fork().transactional(async (em) => {
      await em.execute('select 1 from workstream where id = ? for update', [made.id]);
      waiting = there.ownership.claim(made.id, theirs.id);
      await waitUntil(async () => {
        const rows = await database.sql(
          `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        );
        return rows.length > 0;
      });
      await em.execute(
        `insert into node_session (id, node_id, host, started_at, heartbeat_at, expires_at) values (?, ?, 'x', now(), now(), now() + interval '20 seconds')`,
        [third, third],
      );
      await em.execute('update workstream set owner_session_id = ?, epoch = epoch + 1 where id = ?', [
        third,
        made.id,
      ]);
    });
    expect(await waiting).toEqual({ type: 'elsewhere' });
    expect((await here.catalog.get(made.id))?.owner).toBe(third);
  });

  it('finds no workstream that is not there, or still being created (D-20)', async () => {
    const session = await beginSession(here);
    expect(await here.ownership.claim(randomId(), session.id)).toEqual({ type: 'notFound' });
    const id = randomId();
    await here.reservations.reserve({ id, incarnation: randomId(), sessionId: session.id });
    expect(await here.ownership.claim(id, session.id)).toEqual({ type: 'notFound' });
  });

  it('given up by an older epoch stays with the newer one', async () => {
    const session = await beginSession(here);
    const made = await openWorkstream(here, session);
    await here.ownership.claim(made.id, session.id);
    await here.ownership.release(made.id, session.id, made.epoch);
    expect((await here.catalog.get(made.id))?.owner).toBe(session.id);
    await here.ownership.release(made.id, session.id, made.epoch + 1);
    expect((await here.catalog.get(made.id))?.owner).toBeNull();
  });
});

describe('Workstreams that need a process', () => {
  it('are the open ones with a live turn that nobody else alive runs', async () => {
    const [mine, theirs] = [await beginSession(here), await beginSession(there)];
    const own = await withLiveTurn(here, mine);
    const foreign = await withLiveTurn(there, theirs);
    const idle = await openWorkstream(here, mine);
    const settled = await withLiveTurn(here, mine);
    await here.journal.commit(
      batchOf(settled, [{ kind: 'TURN', turn: completed(settled.projection.turn!.id) }]),
    );
    const found = async () => await here.ownership.liveTurns(mine.id);
    expect(await found()).toContain(own.id);
    for (const other of [foreign, idle, settled]) expect(await found()).not.toContain(other.id);
    await expire(theirs);
    expect(await found()).toContain(foreign.id);
    await here.ownership.release(own.id, mine.id, own.epoch);
    expect(await found()).toContain(own.id);
  });

  it('leave the list in quarantine: after three failures in a row, until one is cleared (D-71)', async () => {
    const session = await beginSession(here);
    const made = await withLiveTurn(here, session);
    const { recordFailedLoad, liveTurns } = here.ownership;
    expect(await recordFailedLoad(made.id, 'one')).toBe(1);
    expect(await recordFailedLoad(made.id, null)).toBe(0);
    expect(await recordFailedLoad(made.id, 'one')).toBe(1);
    expect(await recordFailedLoad(made.id, 'two')).toBe(2);
    expect((await here.catalog.get(made.id))?.quarantine).toBeNull();
    expect(await recordFailedLoad(made.id, 'three')).toBe(3);
    expect((await here.catalog.get(made.id))?.quarantine).toBe('three');
    expect(await liveTurns(session.id)).not.toContain(made.id);
    await recordFailedLoad(made.id, null);
    expect((await here.catalog.get(made.id))?.quarantine).toBeNull();
    expect(await recordFailedLoad(randomId(), 'nobody')).toBe(0);
  });
});

async function waitUntil(fact: () => Promise<boolean>): Promise<void> {
  while (!(await fact())) await new Promise((resolve) => setImmediate(resolve));
}
