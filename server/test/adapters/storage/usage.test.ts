/** What only PostgreSQL can show of usage and of summaries; the rest is in the contract (`contracts/usage.ts`). */
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createJournal } from '../../../src/adapters/storage/journal.ts';
import type { Storage } from '../../../src/adapters/storage/index.ts';
import type { Orm } from '../../../src/adapters/storage/orm.ts';
import type { Session } from '../../../src/ports/ownership.ts';
import { askedOf, type Asked } from '../../support/asked.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import {
  after,
  batchOf,
  beginSession,
  checkpoint,
  message,
  modelCall,
  openWorkstream,
  randomId,
} from './fixtures.ts';

let database: TestDatabase;
let storage: Storage;
let session: Session;
let orm: Orm;

beforeAll(async () => {
  database = await createDatabase();
  storage = await database.openStorage();
  orm = await database.openOrm();
});
beforeEach(async () => {
  session = await beginSession(storage);
});
afterEach(() => session.end());
afterAll(() => database.drop());

/** The plan by which a query is answered, and how many rows and pages it looked at. */
async function plan({ query, params }: Asked) {
  const [row] = await orm.em
    .fork()
    .execute<{ 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }[]>(
      `explain (analyze, buffers, format json) ${query}`,
      [...params],
    );
  const nodes = flat(row!['QUERY PLAN'][0].Plan);
  return {
    indexes: nodes.flatMap((node) => node['Index Name'] ?? []),
    rows: Math.max(...nodes.map((node) => node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0))),
    pages: Math.max(...nodes.map((node) => node['Shared Hit Blocks'] + node['Shared Read Blocks'])),
    sequential: nodes.some((node) => node['Node Type'] === 'Seq Scan'),
  };
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[];
}
const flat = (node: PlanNode): readonly PlanNode[] => [node, ...(node.Plans ?? []).flatMap(flat)];

const call = (more: Parameters<typeof modelCall>[1] = {}) => modelCall(randomId(), more);

it('days and times are the same however the database writes them (broke: "01.12.2026")', async () => {
  const german = await createDatabase();
  try {
    const [called] = await german.sql<{ name: string }>('select current_database() as name');
    await german.sql(`alter database "${called!.name}" set datestyle to 'German'`);
    await german.sql(`alter database "${called!.name}" set timezone to 'Asia/Kolkata'`);
    const there = await german.openStorage();
    const began = await beginSession(there);
    const made = await openWorkstream(there, began);
    await there.usage.record(made.id, [call()]);
    const [recorded] = await there.usage.calls(made.id, { limit: 1, before: null });
    const [now] = await german.sql<{ at: string }>(
      `select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD') as at`,
    );
    const day = now!.at;
    expect(recorded!.at.slice(0, 10)).toBe(day);
    const asked = { from: day, through: day, workstreamId: made.id, by: ['DAY'], limit: 9 } as const;
    expect((await there.usage.groups(asked)).map((group) => group.day)).toEqual([day]);
    await began.end();
  } finally {
    await german.drop();
  }
});

describe('Counting model calls', () => {
  it('takes one statement in the transaction of their batch, and none when there are none', async () => {
    const made = await openWorkstream(storage, session);
    const journal = createJournal(orm);
    const batch = batchOf(made, [message('a')]);
    const without = await askedOf(orm, () => journal.commit(batch));
    const calls = [call(), call({ alias: 'other' }), call()];
    const withCalls = await askedOf(orm, () =>
      journal.commit(batchOf(after(made, batch), [message('b')], { calls })),
    );
    expect(withCalls.length - without.length).toBe(1);
    expect(without.some(({ query }) => query.includes('model_call'))).toBe(false);
    const end = withCalls.findIndex(({ query }) => query === 'commit');
    expect(withCalls[end - 1]?.query).toContain('model_call');
    expect(await storage.usage.totalOf(made.id)).toMatchObject({ calls: 3 });
  });

  it('of the same calls by many at once, with batches and without, ends in the sum of all', async () => {
    let made = await openWorkstream(storage, session);
    const aliases = ['a', 'b', 'c', 'd'];
    const some = (from: number) => aliases.map((_, i) => call({ alias: aliases[(from + i) % 4]! }));
    const late = Array.from({ length: 40 }, (_, i) => some(i));
    const committing = (async () => {
      for (let i = 0; i < 20; i += 1) {
        const batch = batchOf(made, [message(`${i}`)], { calls: late[i]! });
        expect(await storage.journal.commit(batch)).toEqual({ type: 'committed' });
        made = after(made, batch);
      }
    })();
    await Promise.all([
      committing,
      ...late.map((calls) => storage.usage.record(made.id, calls)),
      ...late.map((calls) => storage.usage.record(made.id, calls.toReversed())),
    ]);
    expect(await storage.usage.totalOf(made.id)).toMatchObject({ calls: 160, inputTokens: 16_000 });
    expect(await database.sql('select spent from workstream where id = $1', [made.id])).toEqual([
      { spent: '17600' },
    ]);
  });

  it('without a batch waits for a batch that has begun, before it holds anything that one may want', async () => {
    const made = await openWorkstream(storage, session);
    const both = call();
    const batch = new pg.Client(database.url);
    await batch.connect();
    try {
      await batch.query('begin');
      await batch.query('update workstream set revision = revision where id = $1', [made.id]);
      const recording = storage.usage.record(made.id, [both]);
      await vi.waitFor(async () => {
        const waiting = await database.sql(
          `select from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`,
        );
        expect(waiting).toHaveLength(1);
      });
      await batch.query(
        `insert into model_call (id, workstream_id, purpose, alias, model, input_tokens, output_tokens, estimated, outcome, at)
         values ($1, $2, 'TURN', 'demo', 'demo', 100, 10, false, 'ANSWERED', now())`,
        [both.id, made.id],
      );
      await batch.query('commit');
      await recording;
    } finally {
      await batch.end();
    }
    expect(await storage.usage.totalOf(made.id)).toMatchObject({ calls: 0 });
  });

  it('adds small prices to great ones exactly, and takes no price for none', async () => {
    const id = randomId();
    for (const cost of [null, 1_000_000_000, ...Array<number>(7).fill(1e-9), null])
      await storage.usage.record(id, [call({ cost })]);
    expect(await database.sql('select cost::text from usage_day where workstream_id = $1', [id])).toEqual([
      { cost: '1000000000.000000007' },
    ]);
    expect((await storage.usage.totalOf(id)).cost).toBe(1_000_000_000);
  });

  it('takes the day in UTC, and gives the newest first', async () => {
    const id = randomId();
    // One in which it is another day than in UTC, now.
    const zone = new Date().getUTCHours() < 12 ? 'Etc/GMT+12' : 'Etc/GMT-14';
    await database.sql(`alter database ${new URL(database.url).pathname.slice(1)} set timezone to '${zone}'`);
    const elsewhere = await database.openStorage();
    await elsewhere.usage.record(id, [call()]);
    const [recorded] = await elsewhere.usage.calls(id, { limit: 1, before: null });
    const today = recorded!.at.slice(0, 10);
    await database.sql(
      `insert into usage_day (workstream_id, day, alias, calls, estimated_calls, input_tokens, output_tokens, cached_input_tokens, reasoning_tokens)
       select $1, day, alias, 1, 0, tokens, 0, 0, 0 from (values ('2026-01-01'::date, 'a', 9), ('2026-01-02', 'a', 1), ('2026-01-02', 'b', 2)) v (day, alias, tokens)`,
      [id],
    );
    const groups = await elsewhere.usage.groups({
      from: '2026-01-01',
      through: '2999-12-31',
      workstreamId: id,
      by: ['DAY', 'MODEL'],
      limit: 9,
    });
    expect(groups.map(({ day, alias }) => [day, alias])).toEqual([
      [today, 'demo'],
      ['2026-01-02', 'b'],
      ['2026-01-02', 'a'],
      ['2026-01-01', 'a'],
    ]);
  });
});

describe('A conversation that was summarised late', () => {
  it('is read from its summary on, whatever was said before: by the index, and no more rows than it has (D-40)', async () => {
    const made = await openWorkstream(storage, session);
    const journal = createJournal(orm);
    const before = 100_000;
    await database.sql(
      `insert into entry (workstream_id, revision, id, kind, epoch, generation, commit_key, payload, at)
       select $1, r, $1 || '-' || r, (array['USER', 'ASSISTANT', 'TOOL', 'TOOL_SETTLED'])[1 + r % 4], 1, 1, r, '{"text": "said", "calls": []}', now()
       from generate_series(3, $2::int) r`,
      [made.id, before],
    );
    await database.sql('update workstream set revision = $2 where id = $1', [made.id, before]);
    const late = { ...made, projection: { ...made.projection, revision: before } };
    const batch = batchOf(late, [checkpoint(before - 2), ...['a', 'b', 'c'].map(message)]);
    expect(await storage.journal.commit(batch)).toEqual({ type: 'committed' });
    await database.sql('analyze entry');
    const mark = batch.projection.checkpoint;
    let read: readonly { readonly revision: number }[] | null = null;
    const queries = await askedOf(orm, async () => {
      const range = { ...made, through: before + 4, superseded: [], checkpoint: mark };
      read = await journal.conversation(made.id, range);
      expect((await journal.checkpointAt(made.id, before + 4))?.revision).toBe(before + 1);
      expect(await journal.checkpointAt(made.id, before)).toBeNull();
    });
    expect(read!.map(({ revision }) => revision - before)).toEqual([1, 0, 2, 3, 4]);
    const ofEntries = queries.filter(({ query }) => query.includes('"entry"'));
    const plans = await Promise.all(ofEntries.map(plan));
    expect(plans.slice(1).map(({ indexes }) => indexes)).toEqual([
      ['entry_conversation'],
      ['entry_cut'],
      ['entry_cut'],
    ]);
    for (const { rows, pages, sequential } of plans) {
      expect(sequential).toBe(false);
      expect(rows).toBeLessThan(10);
      expect(pages).toBeLessThan(20);
    }
  });
});
