import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Storage } from '../../../src/adapters/storage/index.ts';
import type { Batch } from '../../../src/ports/journal.ts';
import type { Session } from '../../../src/ports/ownership.ts';
import { ended, said, started } from '../../../../schema/test/projection/journals.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import {
  ada,
  after,
  at,
  batchOf,
  beginSession,
  completed,
  configuration,
  containing,
  cycle,
  lacking,
  type Made,
  message,
  openWorkstream,
  queued,
  randomId,
  receipt,
  turn,
} from './fixtures.ts';

let database: TestDatabase;
let storage: Storage;
let session: Session;

beforeAll(async () => {
  database = await createDatabase();
  storage = await database.openStorage();
});
// One for each test: terms end by the clock of the database, and all tests together may take longer.
beforeEach(async () => {
  session = await beginSession(storage);
});
afterEach(() => session.end());
afterAll(() => database.drop());

const open = () => openWorkstream(storage, session);

async function commit(made: Made, batch: Batch): Promise<Made> {
  expect(await storage.journal.commit(batch)).toEqual({ type: 'committed' });
  return after(made, batch);
}

/** Everything a workstream owns, in every table, as it is stored. */
async function everything(id: string): Promise<unknown> {
  const tables = await Promise.all(
    [
      'workstream where id = $1',
      ...['entry', 'turn', 'approval_cycle', 'queued_message'].map((t) => `${t} where workstream_id = $1`),
    ].map((from) =>
      database.sql(`select to_jsonb(t) as row from (select * from ${from}) t order by 1`, [id]),
    ),
  );
  const items = await database.sql(
    'select to_jsonb(i) as row from approval_item i join approval_cycle c on c.id = i.cycle_id where c.workstream_id = $1 order by 1',
    [id],
  );
  const receipts = await database.sql(
    'select to_jsonb(r) as row from receipt r where scope like $1 order by 1',
    [`%${id}`],
  );
  return { tables, items, receipts };
}

/** A batch that touches every table. */
function fullBatch(made: Made, more: Partial<Batch> = {}): Batch {
  const [turnId, cycleId] = [randomId(), randomId()];
  return batchOf(
    made,
    [
      message('hello'),
      { kind: 'TURN', turn: turn(turnId), turnId },
      { kind: 'APPROVAL', cycle: cycle(cycleId, turnId), turnId },
      {
        kind: 'QUEUE',
        queue: {
          items: [queued('next'), queued('now', { delivery: 'STEER', turnId })],
          held: false,
        },
      },
    ],
    { receipts: [receipt(`${ada.id}/${made.id}`, randomId())], ...more },
  );
}

describe('Results that wait for the others of their batch', () => {
  const text = 'a long result '.repeat(1_000);
  const settled = (callId: string) => {
    const entry = ended(callId);
    if (entry.kind !== 'TOOL_SETTLED') throw new Error(entry.kind);
    return { ...entry, result: { ...entry.result, content: `${callId}: ${text}` } };
  };
  const headRow = async (id: string): Promise<string> => {
    const [row] = await database.sql('select projection::text as text from workstream where id = $1', [id]);
    return (row as { readonly text: string }).text;
  };

  /** A workstream with two results in an open batch of three calls. */
  const waiting = async () => {
    const made = await open();
    return commit(
      made,
      batchOf(made, [
        message('hello'),
        { kind: 'TURN', turn: turn(randomId()) },
        said('one', 'two', 'three'),
        ...['one', 'two'].flatMap((callId) => [started(callId), settled(callId)]),
      ]),
    );
  };

  it('are stored once, in their entries, and read back whole (D-6)', async () => {
    const made = await waiting();
    expect(made.projection.batch?.calls.map(({ result }) => result?.content.slice(0, 5))).toEqual([
      'one: ',
      'two: ',
      undefined,
    ]);
    expect(await headRow(made.id)).not.toContain('a long result');
    expect((await storage.catalog.get(made.id))?.projection).toEqual(made.projection);
    const claimed = await storage.ownership.claim(made.id, session.id);
    expect(claimed).toMatchObject({ workstream: { projection: made.projection } });
  });

  it('are read as well from a head row that has them whole, as earlier builds wrote it', async () => {
    const made = await waiting();
    await database.sql('update workstream set projection = $2 where id = $1', [
      made.id,
      JSON.stringify(made.projection),
    ]);
    expect((await storage.catalog.get(made.id))?.projection).toEqual(made.projection);
  });
});

describe('A commit', () => {
  it('lands whole and reads back as it was written (D-3)', async () => {
    const made = await open();
    const batch = fullBatch(made);
    await commit(made, batch);
    expect(await storage.journal.read(made.id, { after: 2, through: 100, limit: 100 })).toEqual(
      batch.entries,
    );
    expect(await storage.journal.head(made.id)).toEqual({
      incarnation: made.incarnation,
      epoch: 1,
      revision: 6,
      lifecycle: 'OPEN',
    });
    const row = await storage.catalog.get(made.id);
    expect(row?.projection).toEqual(batch.projection);
    const kept = batch.receipts[0]!;
    expect(await storage.journal.findReceipt(kept.scope, kept.key)).toEqual(kept);
  });

  it.each([
    ['a stale epoch', { epoch: 0 }],
    ['a head that has moved on', { expectedHead: 1 }],
    ['a head not yet reached', { expectedHead: 3 }],
    ['another incarnation', { incarnation: randomId() }],
    ['a workstream that is not there', { workstreamId: randomId() }],
  ] as const)('made for %s is fenced and writes nothing in any table (D-4)', async (_, more) => {
    const made = await open();
    const before = await everything(made.id);
    expect(await storage.journal.commit(fullBatch(made, more))).toEqual({ type: 'fenced' });
    expect(await everything(made.id)).toEqual(before);
  });

  it('never overwrites CLOSED by a late batch, but takes the one that opens it (D-23)', async () => {
    const opened = await open();
    const closed = await commit(
      opened,
      batchOf(opened, [{ kind: 'LIFECYCLE', lifecycle: 'CLOSED', by: ada }]),
    );
    const before = await everything(closed.id);
    expect(await storage.journal.commit(batchOf(closed, [message('late')]))).toEqual({ type: 'fenced' });
    expect(await everything(closed.id)).toEqual(before);
    await commit(closed, batchOf(closed, [{ kind: 'LIFECYCLE', lifecycle: 'OPEN', by: ada }]));
    expect((await storage.catalog.get(closed.id))?.projection.lifecycle).toBe('OPEN');
  });

  it('with a commit key that is taken is a conflict and writes nothing (D-35)', async () => {
    const opened = await open();
    const tool = {
      kind: 'TOOL',
      callId: randomId(),
      name: 'shell',
      outcome: 'OK',
      effect: 'NONE',
      content: '',
    } as const;
    const made = await commit(opened, batchOf(opened, [tool]));
    const before = await everything(made.id);
    const again = await storage.journal.commit(
      fullBatch(made, { entries: batchOf(made, [message('x'), tool, message('y'), message('z')]).entries }),
    );
    expect(again).toEqual({ type: 'conflict', message: containing('entry_commit_key_unique') });
    expect(await everything(made.id)).toEqual(before);
  });

  it('with data PostgreSQL cannot hold is a conflict, writes nothing and does not quote it (D-51)', async () => {
    const made = await open();
    const before = await everything(made.id);
    for (const secret of ['sesame\u0000', 'sesame\ud800']) {
      const outcome = await storage.journal.commit(batchOf(made, [message(secret)]));
      expect(outcome).toEqual({ type: 'conflict', message: lacking('sesame') });
      const named = { ...configuration, title: secret };
      const inColumn = await storage.journal.commit(
        batchOf(made, [{ kind: 'CONFIGURATION', configuration: named }]),
      );
      expect(inColumn.type).toBe('conflict');
    }
    expect(await everything(made.id)).toEqual(before);
  });

  it('keeps text as it is, whatever signs are in it', async () => {
    const made = await open();
    const text = `'; drop table entry; -- ? ?? $1 :a \\ \\' "x" {"a":1} \u{1f600} ${'é'.repeat(3)}\n\t\u0001`;
    const configured = { ...configuration, title: text, model: text, workspace: text };
    const batch = batchOf(made, [message(text), { kind: 'CONFIGURATION', configuration: configured }]);
    await commit(made, batch);
    expect(await storage.journal.read(made.id, { after: 2, through: 4, limit: 10 })).toEqual(batch.entries);
    const summary = (await storage.catalog.list({ first: 1, after: null })).items[0];
    expect(summary?.title).toBe(text);
  });

  it('of a megabyte of text lands', async () => {
    const made = await open();
    const batch = batchOf(made, [message('x'.repeat(1_000_000))]);
    await commit(made, batch);
    expect(await storage.journal.read(made.id, { after: 2, through: 3, limit: 1 })).toEqual(batch.entries);
  });

  it('with a second live turn is a conflict; with the first one settled in the same batch it lands (D-32)', async () => {
    const opened = await open();
    const [one, two] = [randomId(), randomId()];
    const made = await commit(opened, batchOf(opened, [{ kind: 'TURN', turn: turn(one) }]));
    expect(await storage.journal.commit(batchOf(made, [{ kind: 'TURN', turn: turn(two) }]))).toEqual({
      type: 'conflict',
      message: containing('turn_one_live'),
    });
    await commit(
      made,
      batchOf(made, [
        { kind: 'TURN', turn: completed(one) },
        { kind: 'TURN', turn: turn(two) },
      ]),
    );
    const rows = await database.sql('select id, phase from turn where workstream_id = $1 order by phase', [
      made.id,
    ]);
    expect(rows).toEqual([
      { id: one, phase: 'COMPLETED' },
      { id: two, phase: 'RUNNING' },
    ]);
  });

  it('that says nothing consistent is a conflict before it reaches the database', async () => {
    const made = await open();
    const batch = batchOf(made, [message('a'), message('b')]);
    for (const wrong of [
      { ...batch, entries: batch.entries.toReversed() },
      { ...batch, entries: batch.entries.map((e) => ({ ...e, epoch: 7 })) },
      { ...batch, projection: made.projection },
    ]) {
      expect((await storage.journal.commit(wrong)).type).toBe('conflict');
    }
  });

  it('of receipts alone lands once, and again when nobody knows whether it had (D-60)', async () => {
    const made = await open();
    const scope = `${ada.id}/${made.id}`;
    const batch = batchOf(made, [], { receipts: [receipt(scope, 'stop-1')] });
    await commit(made, batch);
    await commit(made, batch);
    const other = batchOf(made, [], { receipts: [receipt(scope, 'stop-1', 'other')] });
    expect((await storage.journal.commit(other)).type).toBe('conflict');
    const withEntry = batchOf(made, [message('twice')], { receipts: [receipt(scope, 'stop-1')] });
    expect((await storage.journal.commit(withEntry)).type).toBe('conflict');
    expect((await storage.journal.head(made.id))?.revision).toBe(2);
  });
});

describe('The tables beside the journal', () => {
  it('say what the fold says: decided cycles, settled turns, the queue (D-6)', async () => {
    const opened = await open();
    const [turnId, cycleId] = [randomId(), randomId()];
    const asked = cycle(cycleId, turnId);
    const waiting = ['one', 'two', 'three'].map((text) => queued(text));
    let made = await commit(
      opened,
      batchOf(opened, [
        { kind: 'TURN', turn: turn(turnId) },
        { kind: 'APPROVAL', cycle: asked },
        { kind: 'QUEUE', queue: { items: waiting, held: false } },
      ]),
    );
    const mine = async () =>
      (await storage.catalog.openCycles({ first: 200, after: null })).items.filter(
        (c) => c.workstreamId === made.id,
      );
    expect(await mine()).toEqual([{ workstreamId: made.id, cycle: asked }]);

    const decision = { verdict: 'DENIED', source: 'PERSON', by: ada, feedback: 'no', at } as const;
    const half: typeof asked = {
      ...asked,
      items: asked.items.map((i, n) => (n === 0 ? { ...i, decision } : i)),
    };
    made = await commit(
      made,
      batchOf(made, [
        { kind: 'APPROVAL', cycle: half },
        { kind: 'QUEUE', queue: { items: waiting.slice(1), held: true } },
      ]),
    );
    expect(await mine()).toEqual([{ workstreamId: made.id, cycle: half }]);
    expect(await storage.catalog.decisionOf(made.id, cycleId, `${cycleId}-b`)).toEqual(decision);
    expect(await storage.catalog.decisionOf(made.id, cycleId, `${cycleId}-a`)).toBeNull();
    expect(await storage.catalog.decisionOf(randomId(), cycleId, `${cycleId}-b`)).toBeNull();
    const texts = await database.sql(
      'select text from queued_message where workstream_id = $1 order by position',
      [made.id],
    );
    expect(texts).toEqual([{ text: 'two' }, { text: 'three' }]);

    // The fold drops the cycles of a turn that settles; so does the table, even without a word about them.
    made = await commit(made, batchOf(made, [{ kind: 'TURN', turn: completed(turnId) }]));
    expect(made.projection.cycles).toEqual([]);
    expect(await mine()).toEqual([]);
    // The decision stays (D-64).
    expect(await storage.catalog.decisionOf(made.id, cycleId, `${cycleId}-b`)).toEqual(decision);
  });

  it('vanish with their workstream', async () => {
    const made = await open();
    await commit(made, fullBatch(made, { receipts: [] }));
    await database.sql('delete from workstream where id = $1', [made.id]);
    expect(await everything(made.id)).toEqual({ tables: [[], [], [], [], []], items: [], receipts: [] });
  });
});

describe('Reading the journal', () => {
  it('pages by revision, in order, and never beyond what was asked', async () => {
    const made = await open();
    await commit(made, batchOf(made, ['a', 'b', 'c', 'd', 'e'].map(message)));
    const revisions = async (a: number, through: number, limit: number) =>
      (await storage.journal.read(made.id, { after: a, through, limit })).map((e) => e.revision);
    expect(await revisions(0, 7, 100)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(await revisions(2, 5, 100)).toEqual([3, 4, 5]);
    expect(await revisions(2, 7, 2)).toEqual([3, 4]);
    expect(await revisions(7, 7, 10)).toEqual([]);
    expect(await revisions(0, 7, 0)).toEqual([]);
  });

  it('knows which entries it holds, and at which revision (D-52)', async () => {
    const made = await open();
    const batch = batchOf(made, [message('a'), message('b')]);
    expect(await storage.journal.holds(made.id, batch.entries)).toBe(false);
    await commit(made, batch);
    expect(await storage.journal.holds(made.id, batch.entries)).toBe(true);
    expect(await storage.journal.holds(made.id, [])).toBe(true);
    const moved = batch.entries.map((e) => ({ id: e.id, revision: e.revision + 1 }));
    expect(await storage.journal.holds(made.id, moved)).toBe(false);
    expect(await storage.journal.holds(randomId(), batch.entries)).toBe(false);
  });

  it('answers where an older epoch ended (D-55)', async () => {
    let made = await open(); // 1, 2 by epoch 0
    made = await commit(made, batchOf(made, [message('3'), message('4')])); // by epoch 1
    const claimed = await storage.ownership.claim(made.id, session.id);
    if (claimed.type !== 'claimed') throw new Error(claimed.type);
    expect(claimed.workstream.epoch).toBe(2);
    made = { ...made, epoch: 2 };
    await commit(made, batchOf(made, [message('5'), message('6')]));
    const { lastRevisionOf, epochAt } = storage.journal;
    expect(await Promise.all([1, 3, 5, 7].map((r) => epochAt(made.id, r)))).toEqual([0, 1, 2, null]);
    expect(await lastRevisionOf(made.id, 6, 1)).toBe(4);
    expect(await lastRevisionOf(made.id, 3, 1)).toBe(3);
    expect(await lastRevisionOf(made.id, 9, 0)).toBe(2);
    expect(await lastRevisionOf(made.id, 9, 2)).toBe(6);
    expect(await lastRevisionOf(made.id, 0, 2)).toBe(0);
    expect(await lastRevisionOf(randomId(), 9, 2)).toBe(0);
  });
});
