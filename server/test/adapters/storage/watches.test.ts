/** What only PostgreSQL can show of watches; the rest is in the contract (`contracts/watches.ts`). */
import type { EntryBody, Watch } from 'schema/projection';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createJournal } from '../../../src/adapters/storage/journal.ts';
import type { Storage } from '../../../src/adapters/storage/index.ts';
import type { Orm } from '../../../src/adapters/storage/orm.ts';
import { byIndex, createWatchStore } from '../../../src/adapters/storage/watches.ts';
import type { Session } from '../../../src/ports/ownership.ts';
import type { ClaimedPoll, WatchStore } from '../../../src/ports/watches.ts';
import { askedOf, type Asked } from '../../support/asked.ts';
import { audits } from '../../support/audits.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { fireOf, outcomeOf, says, watchOf } from '../../support/watch-fixtures.ts';
import { after, at, batchOf, beginSession, message, openWorkstream, randomId } from './fixtures.ts';

const host = 'here';
let database: TestDatabase;
let storage: Storage;
let session: Session;
let orm: Orm;
let watches: WatchStore;

beforeAll(async () => {
  database = await createDatabase();
  storage = await database.openStorage();
  orm = await database.openOrm();
  watches = createWatchStore(orm);
  session = await beginSession(storage);
});
beforeEach(async () => {
  // On a slow machine some take longer than its term.
  if (!(await session.renew())) session = await beginSession(storage);
});
afterAll(async () => {
  await session.end();
  await database.drop();
});

const claim = (by: Session = session, limit = 16, store = watches) =>
  store.claim({ sessionId: by.id, host, limit, perWorkstream: 2, leaseMs: 60_000 });

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[];
}
const flat = (node: PlanNode): readonly PlanNode[] => [node, ...(node.Plans ?? []).flatMap(flat)];

/** How many rows and pages the query looked at, and which tables as a whole. Nothing of it stays. */
async function plan({ query, params }: Asked, setting: string | null) {
  const em = orm.em.fork();
  await em.begin();
  if (setting !== null) await em.execute(setting);
  const [row] = await em.execute<{ 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }[]>(
    `explain (analyze, buffers, format json) ${query}`,
    [...params],
  );
  await em.rollback();
  const nodes = flat(row!['QUERY PLAN'][0].Plan);
  return {
    rows: Math.max(...nodes.map((node) => node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0))),
    pages: Math.max(...nodes.map((node) => node['Shared Hit Blocks'] + node['Shared Read Blocks'])),
    whole: nodes.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name']),
  };
}

/** Writes `count` watches of as many workstreams at once, `every` 60 s, the first due at `due`, a row of SQL for each. */
async function fill(
  name: string,
  count: number,
  more: { readonly host: string; readonly due: string; readonly status?: string },
): Promise<void> {
  const status = more.status ?? 'ACTIVE';
  await database.sql(
    `insert into workstream (id, incarnation, lifecycle, epoch, host, revision, generation, projection, state, title, model, workspace, stopping, failed_loads, created_at, updated_at)
     select $1 || n, 'i', 'OPEN', 1, $2, 1, 1, '{}', 'IDLE', 'w', 'demo', '/tmp/w', false, 0, now(), now() from generate_series(1, $3) n`,
    [name, more.host, count],
  );
  await database.sql(
    `insert into watch (id, workstream_id, host, slot, name, version, status, every_seconds, watch, created_at, next_poll_at, polls, fires, errors)
     select $1 || n, $1 || n, $2, case when $5 <> 'ENDED' then 1 end, 'w', 1, $5, 60, $4, now() - n * interval '1 second',
       case when $5 = 'ACTIVE' then ${more.due} end, 0, 0, 0 from generate_series(1, $3) n`,
    [name, more.host, count, watchOf({ status: status as Watch['status'] }), status],
  );
}

describe('Polls', () => {
  it('are looked for among what is due as long as nobody has counted what there is: the planner has no say (D-81)', async () => {
    const name = randomId();
    await database.sql('alter table watch set (autovacuum_enabled = false)');
    await database.sql('alter table workstream set (autovacuum_enabled = false)');
    await fill(`${name}later`, 2_000, { host: name, due: `now() + interval '1 hour'` });
    await fill(`${name}due`, 100, { host: name, due: `now() - interval '1 second'` });
    const there = { sessionId: session.id, host: name, leaseMs: 60_000 };
    await watches.untilDue(there);
    for (const [what, look] of Object.entries({
      claiming: () => watches.claim({ ...there, limit: 16, perWorkstream: 2 }),
      looking: () => watches.untilDue(there),
    })) {
      const [query] = await askedOf(orm, look);
      const { rows, pages } = await plan(query!, null);
      expect({ what, rows: rows <= 100, pages: pages < 1_000 }).toEqual({ what, rows: true, pages: true });
    }
    await database.sql('alter table watch reset (autovacuum_enabled)');
    await database.sql('alter table workstream reset (autovacuum_enabled)');
    await database.sql('delete from workstream where host = $1', [name]);
  });

  it('take one statement to claim, one to look when the next is due, and one to record, however much there is (D-81)', async () => {
    const made = await openWorkstream(storage, session);
    const journal = createJournal(orm);
    const first = batchOf(made, [message('a')]);
    const without = await askedOf(orm, () => journal.commit(first));
    const told = batchOf(after(made, first), [says(watchOf())]);
    const withWatch = await askedOf(orm, () => journal.commit(told));
    expect(withWatch.length - without.length).toBe(1);
    expect(without.some(({ query }) => query.includes('watch'))).toBe(false);
    let claims: readonly ClaimedPoll[] = [];
    expect(await askedOf(orm, async () => (claims = await claim()))).toHaveLength(1);
    expect(claims).toHaveLength(1);
    const look = () => watches.untilDue({ sessionId: session.id, host, leaseMs: 60_000 });
    await look();
    expect(await askedOf(orm, look)).toHaveLength(1);
    const fire = fireOf(claims[0]!);
    expect(await askedOf(orm, () => watches.record(outcomeOf(claims[0]!, { fire })))).toHaveLength(1);
    expect(await storage.watches.polls(fire.watchId, { limit: 9, before: null })).toHaveLength(1);
    expect(await watches.deliveries({ workstreamId: made.id, limit: 9 })).toHaveLength(1);
  });

  it('are looked for among what is due here: not in the history, nor in what ended, rests, or is due on a machine that is gone (D-81)', async () => {
    await fill('other', 3_000, { host: 'gone', due: `now() - interval '1 day'` });
    await fill('later', 3_000, { host, due: `now() + interval '1 hour'` });
    await fill('ended', 30_000, { host, due: 'null::timestamptz', status: 'ENDED' });
    await fill('due', 40, { host, due: `now() - interval '1 second'` });
    await database.sql(
      `insert into watch_poll (watch_id, poll, at, duration_ms, fired, output_tail)
       select 'due' || w, n, now(), 1, false, repeat('x', 100) from generate_series(1, 40) w, generate_series(1, 200) n`,
    );
    await database.sql('update watch set polls = 200 where id like $1', ['due%']);
    await database.sql(
      `insert into watch_delivery (watch_id, poll, workstream_id, fire, at) select 'other' || n, 1, 'other' || n, '{}', now() from generate_series(1, 3000) n`,
    );
    await database.sql('analyze');
    const here = { sessionId: session.id, host, leaseMs: 60_000 };
    // The first look sees to the clock, too.
    await watches.untilDue(here);
    let claims: readonly ClaimedPoll[] = [];
    const looks: Readonly<Record<string, () => Promise<unknown>>> = {
      claiming: async () => (claims = await claim()),
      claimingMore: () => claim(),
      looking: () => watches.untilDue(here),
      holding: () => watches.held(claims),
      recording: () => watches.record(outcomeOf(claims[0]!, { fire: fireOf(claims[0]!) })),
      listing: () => watches.list({ workstreamId: null, ended: false, limit: 20, after: null }),
      listingEnded: () => watches.list({ workstreamId: null, ended: true, limit: 20, after: null }),
      listingOne: () => watches.list({ workstreamId: 'due1', ended: true, limit: 20, after: null }),
      paging: () => watches.polls('due1', { limit: 20, before: 100 }),
      telling: () => watches.deliveries({ workstreamId: 'due1', limit: 20 }),
      tellingAll: () => watches.waiting({ ...here, limit: 20, after: null }),
      counting: () => watches.counts(here),
    };
    for (const [what, look] of Object.entries(looks)) {
      const queries = await askedOf(orm, look);
      const setting = queries.find(({ query }) => query === byIndex) ? byIndex : null;
      const read = queries.filter(({ query }) => query.includes('watch'));
      expect({ what, read: read.length }).toEqual({ what, read: 1 });
      const { rows, pages, whole } = await plan(read[0]!, setting);
      const small = whole.filter((table) => table !== 'node_session');
      console.log(`${what}: ${rows} rows, ${pages} pages`);
      // What waits everywhere is looked through as a whole: it is little, and soon gone.
      const isOfAll = what === 'tellingAll' || what === 'counting';
      expect({ what, rows: rows <= (isOfAll ? 3_100 : 60), pages: isOfAll || pages < 1_000, small }).toEqual({
        what,
        rows: true,
        pages: true,
        small: [],
      });
    }
  });

  it('of two servers at once: each due one goes to one of them, and none of them waits (D-81)', async () => {
    const hosted = await Promise.all([1, 2, 3, 4].map(() => beginSession(storage, randomId(), host)));
    await database.sql(
      `update watch set lease_until = null, next_poll_at = now() - interval '1 second' where id like 'due%'`,
    );
    const all = await Promise.all(hosted.map((by) => claim(by, 16)));
    const ids = all.flat().map(({ watchId }) => watchId);
    const more = await Promise.all(hosted.map((by) => claim(by, 16)));
    const both = [...ids, ...more.flat().map(({ watchId }) => watchId)];
    expect(new Set(both).size).toBe(both.length);
    expect(both.filter((id) => id.startsWith('due'))).toHaveLength(40);
    await Promise.all(hosted.map((by) => by.end()));
  });

  it('of one workstream are two at once, however many servers ask (D-81)', async () => {
    const made = await openWorkstream(storage, session);
    const five = [1, 2, 3, 4, 5].map(() => watchOf());
    await storage.journal.commit(batchOf(made, five.map(says)));
    await storage.ownership.release(made.id, session.id, made.epoch);
    const hosted = await Promise.all([1, 2, 3, 4].map(() => beginSession(storage, randomId(), host)));
    for (let round = 0; round < 5; round += 1) {
      const claims = (await Promise.all(hosted.map((by) => claim(by)))).flat();
      const ours = claims.filter(({ workstreamId }) => workstreamId === made.id);
      expect(ours.length).toBeLessThanOrEqual(2);
      const [underway] = await database.sql(
        'select count(*)::int as count from watch where workstream_id = $1 and lease_until > now()',
        [made.id],
      );
      expect(underway?.['count']).toBeLessThanOrEqual(2);
      await Promise.all(claims.map((one) => watches.record(outcomeOf(one))));
    }
    const [row] = await database.sql(
      'select count(*)::int as count from watch where workstream_id = $1 and polls = 1',
      [made.id],
    );
    expect(row).toEqual({ count: 5 });
    await Promise.all(hosted.map((by) => by.end()));
  });

  it('of a workstream that is deleted meanwhile end in nothing, and nobody waits for ever', async () => {
    for (let i = 0; i < 10; i += 1) {
      const made = await openWorkstream(storage, session);
      await storage.journal.commit(
        batchOf(
          made,
          [1, 2, 3].map(() => says(watchOf())),
        ),
      );
      const claims = await claim();
      await Promise.all([
        database.sql('delete from workstream where id = $1', [made.id]),
        ...claims.map((one) => watches.record(outcomeOf(one, { fire: fireOf(one) }))),
        claim(),
      ]);
      expect(await database.sql('select from watch where workstream_id = $1', [made.id])).toEqual([]);
    }
  });
});

describe('A clock of the database that goes back', () => {
  it('puts no poll off by more than its interval, also what was due later before a server began (D-81)', async () => {
    const other = await createDatabase();
    try {
      await other.sql('create schema clocks');
      await other.sql('create table clocks.back (by interval)');
      await other.sql(`insert into clocks.back values ('0')`);
      for (const [clock, kind] of [
        ['statement_timestamp', 'stable'],
        ['clock_timestamp', 'volatile'],
      ])
        await other.sql(
          `create function clocks.${clock}() returns timestamptz language sql ${kind} as 'select pg_catalog.${clock}() - by from clocks.back'`,
        );
      await other.sql(
        `alter database ${new URL(other.url).pathname.slice(1)} set search_path = clocks, pg_catalog, public`,
      );
      const there = await other.openStorage();
      const by = await beginSession(there);
      const leaseMs = 60_000;
      const look = (store = there.watches) => store.untilDue({ sessionId: by.id, host, leaseMs });
      const made = await openWorkstream(there, by);
      const [minute, day] = [watchOf({ due: 'LATER' }), watchOf({ due: 'LATER' })];
      const daily = { ...day, definition: { ...day.definition, everySeconds: 86_400 } };
      expect(await there.journal.commit(batchOf(made, [says(minute), says(daily)]))).toEqual({
        type: 'committed',
      });
      const before = (await there.watches.get(daily.id))?.nextPollAt;
      expect(await look()).toBeGreaterThan(30_000);
      await other.sql(`update clocks.back set by = '2 hours'`);
      const until = await look();
      expect(until).toBeGreaterThan(30_000);
      expect(until).toBeLessThanOrEqual(60_000);
      const brought = (await there.watches.get(daily.id))?.nextPollAt;
      expect(Date.parse(before!) - Date.parse(brought!)).toBeGreaterThan(7_000_000);
      await other.sql(`update clocks.back set by = '4 hours'`);
      const anew = await other.openStorage();
      expect(await look(anew.watches)).toBeLessThanOrEqual(60_000);
      await other.sql(`update watch set next_poll_at = clocks.statement_timestamp() where id = $1`, [
        minute.id,
      ]);
      expect(
        await there.watches.claim({ sessionId: by.id, host, leaseMs, limit: 9, perWorkstream: 2 }),
      ).toHaveLength(1);
      await other.sql(`update watch set next_poll_at = null where id = $1`, [daily.id]);
      await other.sql(`update clocks.back set by = '6 hours'`);
      await look();
      const rows = await other.sql(
        `select name, next_poll_at is null as rests, lease_until - clocks.statement_timestamp() <= interval '60 s' as "isShort", next_poll_at - clocks.statement_timestamp() <= interval '60 s' as "isSoon" from watch order by every_seconds`,
      );
      expect(rows).toMatchObject([
        { rests: false, isShort: true, isSoon: true },
        { rests: true, isShort: null },
      ]);
      await by.end();
    } finally {
      await other.drop();
    }
  });
});

describe('The tables of watches', () => {
  const about = audits.filter(({ says: what }) => /watch/i.test(what));
  const wrong = async () => {
    const found = await Promise.all(about.map(({ sql }) => database.sql<{ detail: string }>(sql)));
    return found.flat();
  };

  it('say what the entries say, whatever is done to watches, and so does the fold (D-6, D-84)', async () => {
    await database.sql('delete from workstream');
    expect(about.length).toBeGreaterThan(0);
    let made = await openWorkstream(storage, session);
    const put = async (bodies: readonly EntryBody[]): Promise<void> => {
      const batch = batchOf(made, bodies);
      expect(await storage.journal.commit(batch)).toEqual({ type: 'committed' });
      made = after(made, batch);
      expect(await wrong()).toEqual([]);
    };
    const [one, two, three] = [watchOf(), watchOf(), watchOf()];
    await put([says(one), says(two)]);
    const [first] = await claim();
    await watches.record(outcomeOf(first!, { fire: fireOf(first!) }));
    expect(await wrong()).toEqual([]);
    await put([{ kind: 'SYSTEM', text: 'it fired', source: 'WATCH', fire: fireOf(first!) }]);
    await put([
      says({
        ...two,
        version: 2,
        definition: { ...two.definition, name: 'other', deadline: at },
        due: 'LATER',
      }),
    ]);
    await put([says({ ...one, status: 'PAUSED', pausedBy: 'CLOSED', due: null }), says(three)]);
    await put([says({ ...one, status: 'ENDED', end: 'CANCELED', due: null })]);
    await put([says({ ...three, due: null, lastFire: 3 })]);
    expect(made.projection.watches.map(({ id }) => id)).toEqual([two.id, three.id]);
  });
});
