/**
 * Owns: what the app relies on in storage, as one suite for every implementation of its ports: the memory fake that
 * the app's tests use, and PostgreSQL. What only a real database can show is tested beside its adapter.
 */
import { randomBytes } from 'node:crypto';
import { emptyProjection } from 'schema/projection';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Storage } from '../../src/adapters/storage/index.ts';
import { readQuery } from '../../src/core/journal/search-query.ts';
import type { Page, Position, SummaryRow } from '../../src/ports/catalog.ts';
import type { Session } from '../../src/ports/ownership.ts';
import {
  ada,
  after,
  at,
  batchOf,
  beginSession,
  birth,
  completed,
  configuration,
  cycle,
  message,
  openWorkstream,
  queued,
  randomId,
  receipt,
  turn,
  type Made,
} from '../adapters/storage/fixtures.ts';
import { elsewhereContract } from './elsewhere.ts';
import { overviewContract } from './overview.ts';
import { removalContract } from './removal.ts';
import { searchContract } from './search.ts';
import { summaryContract } from './summary.ts';
import { usageContract } from './usage.ts';
import { watchesContract } from './watches.ts';

const positionOf = ({ createdAt, id }: SummaryRow): Position => ({ at: createdAt, id });

export interface Opened {
  readonly storage: Storage;
  /** The session's term is over. */
  expire(session: Session): Promise<void>;
  /** The workstream is deleted, with all that is its own. */
  remove(workstreamId: string): Promise<void>;
  /** These were made, and last changed, so many milliseconds earlier. */
  age(workstreamIds: readonly string[], ms: number): Promise<void>;
  /** It is being made again, with all that is its own in the tables. */
  forgeCreating(workstreamId: string): Promise<void>;
  /** For these watches so much time has passed, or (below 0) the clock went back; for others it may have, too. */
  passes(watchIds: readonly string[], ms: number): Promise<void>;
  close(): Promise<void>;
}

export function storageContract(open: () => Promise<Opened>): void {
  let opened: Opened;
  let storage: Storage;
  let session: Session;

  beforeAll(async () => {
    opened = await open();
    ({ storage } = opened);
  });
  // One for each test: terms end by the clock of the database, and all tests together may take longer.
  beforeEach(async () => {
    session = await beginSession(storage);
  });
  afterEach(() => session.end());
  afterAll(() => opened.close());

  const workstream = () => openWorkstream(storage, session);
  async function commit(made: Made, batch: ReturnType<typeof batchOf>): Promise<Made> {
    expect(await storage.journal.commit(batch)).toEqual({ type: 'committed' });
    return after(made, batch);
  }

  searchContract(() => ({ storage, session }));
  elsewhereContract(() => ({ storage, session }));
  overviewContract(() => ({ opened, storage, session }));
  removalContract(() => ({ opened, storage, session }));
  usageContract(() => ({ opened, storage, session }));
  summaryContract(() => ({ storage, session }));
  watchesContract(() => ({ opened, storage, session }));

  describe('The journal', () => {
    it('keeps a batch whole and gives it back as it was (D-3)', async () => {
      const made = await workstream();
      const [turnId, cycleId] = [randomId(), randomId()];
      const kept = receipt(`${ada.id}/${made.id}`, randomId());
      const batch = batchOf(
        made,
        [
          message('hello \u{1f600}'),
          { kind: 'TURN', turn: turn(turnId), turnId },
          { kind: 'APPROVAL', cycle: cycle(cycleId, turnId), turnId },
        ],
        { receipts: [kept] },
      );
      await commit(made, batch);
      const { journal, catalog } = storage;
      expect(await journal.read(made.id, { after: 2, through: 99, limit: 99 })).toEqual(batch.entries);
      expect(await journal.head(made.id)).toEqual({
        incarnation: made.incarnation,
        epoch: 1,
        revision: 5,
        lifecycle: 'OPEN',
      });
      expect(await journal.findReceipt(kept.scope, kept.key)).toEqual(kept);
      expect(await catalog.get(made.id)).toMatchObject({
        revision: 5,
        epoch: 1,
        projection: batch.projection,
        owner: session.id,
      });
    });

    it.each([
      ['another epoch', { epoch: 0 }],
      ['a head that has moved on', { expectedHead: 1 }],
      ['a head not yet reached', { expectedHead: 3 }],
      ['another incarnation', { incarnation: randomId() }],
      ['a workstream that is not there', { workstreamId: randomId() }],
    ] as const)('fences a batch made for %s and writes nothing (D-4)', async (_, more) => {
      const made = await workstream();
      const kept = receipt(`${ada.id}/${made.id}`, randomId());
      const batch = batchOf(made, [message('late')], { ...more, receipts: [kept] });
      expect(await storage.journal.commit(batch)).toEqual({ type: 'fenced' });
      expect(await storage.journal.head(made.id)).toMatchObject({ revision: 2, epoch: 1 });
      expect(await storage.journal.findReceipt(kept.scope, kept.key)).toBeNull();
    });

    it('fences an entry written twice, and holds it (D-52)', async () => {
      const made = await workstream();
      const batch = batchOf(made, [message('once')]);
      expect(await storage.journal.holds(made.id, batch.entries)).toBe(false);
      await commit(made, batch);
      expect(await storage.journal.commit(batch)).toEqual({ type: 'fenced' });
      expect(await storage.journal.holds(made.id, batch.entries)).toBe(true);
      const other = batch.entries.map((e) => ({ id: randomId(), revision: e.revision }));
      expect(await storage.journal.holds(made.id, other)).toBe(false);
    });

    it('lets a receipt that is there stay when one that nobody could check meets it (D-51, D-60)', async () => {
      let made = await workstream();
      const first = receipt(`${ada.id}/${made.id}`, randomId());
      made = await commit(
        made,
        batchOf(made, [message('first')], { receipts: [{ ...first, unchecked: true }] }),
      );
      const second = { ...first, outcome: { type: 'Accepted', revision: 4 }, unchecked: true };
      await commit(made, batchOf(made, [message('second')], { receipts: [second] }));
      expect(await storage.journal.findReceipt(first.scope, first.key)).toEqual(first);
    });

    it('takes receipts alone, again when nobody knows whether they had landed, and no other input under the key (D-52, D-60)', async () => {
      const made = await workstream();
      const scope = `${ada.id}/${made.id}`;
      const batch = batchOf(made, [], { receipts: [receipt(scope, 'stop')] });
      await commit(made, batch);
      await commit(made, batch);
      const other = batchOf(made, [], { receipts: [receipt(scope, 'stop', 'other')] });
      expect((await storage.journal.commit(other)).type).toBe('conflict');
      const more = batchOf(made, [message('twice')], { receipts: [receipt(scope, 'stop')] });
      expect((await storage.journal.commit(more)).type).toBe('conflict');
      expect((await storage.journal.head(made.id))?.revision).toBe(2);
    });

    it('refuses for good what cannot be stored, and writes nothing (D-51, D-32, D-35)', async () => {
      let made = await workstream();
      const tool = {
        kind: 'TOOL',
        callId: randomId(),
        name: 'x',
        outcome: 'OK',
        effect: 'NONE',
        content: '',
      } as const;
      made = await commit(made, batchOf(made, [tool, { kind: 'TURN', turn: turn(randomId()) }]));
      for (const bodies of [
        [message('NUL \u0000')],
        [message('half a pair \ud800')],
        [tool],
        [{ kind: 'TURN', turn: turn(randomId()) } as const],
      ])
        expect((await storage.journal.commit(batchOf(made, bodies))).type).toBe('conflict');
      expect((await storage.journal.head(made.id))?.revision).toBe(4);
    });

    it('reads by revision: in order, within bounds', async () => {
      const made = await workstream();
      await commit(made, batchOf(made, ['a', 'b', 'c'].map(message)));
      const revisions = async (low: number, through: number, limit: number) =>
        (await storage.journal.read(made.id, { after: low, through, limit })).map((e) => e.revision);
      expect(await revisions(0, 5, 9)).toEqual([1, 2, 3, 4, 5]);
      expect(await revisions(1, 4, 9)).toEqual([2, 3, 4]);
      expect(await revisions(1, 5, 2)).toEqual([2, 3]);
      expect(await revisions(5, 9, 9)).toEqual([]);
      expect(await revisions(0, 5, 0)).toEqual([]);
    });

    it('says how much is stored between two revisions, about as many bytes as it takes as JSON (D-55)', async () => {
      const made = await workstream();
      // Signs that cannot be packed: what lies there is as long as what was written.
      const texts = [1_000, 10_000, 100_000].map((n) => randomBytes(n / 2).toString('hex'));
      await commit(made, batchOf(made, texts.map(message)));
      const between = (low: number, through: number, enough = 1_000_000) =>
        storage.journal.storedBytes(made.id, { after: low, through, enough });
      for (const [low, through, bytes] of [
        [2, 5, 111_000],
        [2, 4, 11_000],
        [3, 4, 10_000],
        [4, 9, 100_000],
      ] as const) {
        const measured = await between(low, through);
        expect(measured / bytes, `${low}..${through}`).toBeGreaterThan(0.95);
        expect(measured / bytes, `${low}..${through}`).toBeLessThan(1.3);
      }
      expect([await between(5, 5), await between(5, 9), await between(4, 3)]).toEqual([0, 0, 0]);
      expect(await storage.journal.storedBytes(randomId(), { after: 0, through: 9, enough: 9 })).toBe(0);
      // What is enough is passed by one entry: the long one behind it is not looked at.
      expect(await between(2, 5, 500)).toBeLessThan(2_000);
      const toTheSecond = await between(2, 5, 5_000);
      expect(toTheSecond).toBeGreaterThan(10_000);
      expect(toTheSecond).toBeLessThan(13_000);
    });

    it('counts text that packs well as long as it is, not as small as it lies there (D-55)', async () => {
      const made = await workstream();
      await commit(
        made,
        batchOf(
          made,
          ['x', 'y', '語'].map((sign) => message(sign.repeat(300_000))),
        ),
      );
      const between = (low: number, through: number) =>
        storage.journal.storedBytes(made.id, { after: low, through, enough: 9_000_000 });
      expect(await between(2, 4)).toBeGreaterThanOrEqual(600_000);
      expect(await between(2, 5)).toBeGreaterThanOrEqual(1_500_000);
      expect(await between(2, 5)).toBeLessThan(1_502_000);
    });

    it('reads a page of so many bytes from either end, and never less than one entry (D-53)', async () => {
      const made = await workstream();
      // Revisions 3 to 7.
      await commit(
        made,
        batchOf(
          made,
          ['a', 'b', 'c', 'd', 'e'].map((sign) => message(sign.repeat(100_000))),
        ),
      );
      const page = async (maxBytes: number, from: 'OLDEST' | 'NEWEST', [low, through, limit] = [2, 99, 99]) =>
        (
          await storage.journal.read(made.id, {
            after: low,
            through,
            limit,
            maxBytes,
            from,
          })
        ).map((e) => e.revision);
      expect(await page(250_000, 'OLDEST')).toEqual([3, 4]);
      expect(await page(250_000, 'NEWEST')).toEqual([6, 7]);
      expect(await page(1, 'OLDEST')).toEqual([3]);
      expect(await page(1, 'NEWEST')).toEqual([7]);
      expect(await page(1_000_000, 'OLDEST')).toEqual([3, 4, 5, 6, 7]);
      expect(await page(1_000_000, 'NEWEST')).toEqual([3, 4, 5, 6, 7]);
      expect(await page(1_000_000, 'OLDEST', [3, 6, 2])).toEqual([4, 5]);
      expect(await page(1_000_000, 'NEWEST', [3, 6, 2])).toEqual([5, 6]);
      expect(await page(250_000, 'NEWEST', [3, 5, 9])).toEqual([4, 5]);
      expect(await page(250_000, 'OLDEST', [7, 9, 9])).toEqual([]);
      expect(await page(250_000, 'NEWEST', [7, 9, 9])).toEqual([]);
      expect(await page(250_000, 'NEWEST', [2, 9, 0])).toEqual([]);
    });

    it('knows where an epoch ended (D-55)', async () => {
      let made = await workstream();
      made = await commit(made, batchOf(made, [message('3'), message('4')]));
      await storage.ownership.claim(made.id, session.id);
      await commit({ ...made, epoch: 2 }, batchOf({ ...made, epoch: 2 }, [message('5')]));
      const { epochAt, lastRevisionOf } = storage.journal;
      expect(await Promise.all([1, 4, 5, 6].map((r) => epochAt(made.id, r)))).toEqual([0, 1, 2, null]);
      expect(await lastRevisionOf(made.id, 5, 1)).toBe(4);
      expect(await lastRevisionOf(made.id, 3, 1)).toBe(3);
      expect(await lastRevisionOf(made.id, 9, 0)).toBe(2);
      expect(await lastRevisionOf(made.id, 0, 9)).toBe(0);
      expect(await lastRevisionOf(randomId(), 9, 9)).toBe(0);
    });
  });

  describe('Ownership', () => {
    it('takes the next epoch and brings what an actor needs (D-22)', async () => {
      const made = await workstream();
      const kept = receipt(`${ada.id}/${made.id}`, randomId());
      const batch = batchOf(made, [message('a'), { kind: 'TURN', turn: turn(randomId()) }, message('b')], {
        receipts: [kept],
      });
      await commit(made, batch);
      expect(await storage.ownership.claim(made.id, session.id)).toEqual({
        type: 'claimed',
        workstream: {
          id: made.id,
          incarnation: made.incarnation,
          epoch: 2,
          projection: batch.projection,
          spent: 0,
          previousHost: 'here',
          failedLoads: 0,
          createdAt: (await storage.catalog.get(made.id))?.createdAt,
        },
      });
      expect(await storage.journal.commit(batchOf(after(made, batch), [message('late')]))).toEqual({
        type: 'fenced',
      });
    });

    it('is refused while another live session has it, and given once that one is over (D-100)', async () => {
      const made = await workstream();
      const other = await beginSession(storage);
      expect(await storage.ownership.claim(made.id, other.id)).toEqual({ type: 'elsewhere' });
      await opened.expire(session);
      expect((await storage.ownership.claim(made.id, other.id)).type).toBe('claimed');
      expect(await session.renew()).toBe(false);
      expect(await storage.ownership.claim(made.id, session.id)).toEqual({ type: 'elsewhere' });
      session = await beginSession(storage);
      expect(await storage.ownership.claim(made.id, session.id)).toEqual({ type: 'elsewhere' });
      await storage.ownership.release(made.id, other.id, 1);
      expect((await storage.catalog.get(made.id))?.owner).toBe(other.id);
      await storage.ownership.release(made.id, other.id, 2);
      expect((await storage.catalog.get(made.id))?.owner).toBeNull();
      expect((await storage.ownership.claim(made.id, session.id)).type).toBe('claimed');
    });

    it('tells the sessions of it that are over from those that live and those it never knew (D-100)', async () => {
      const other = await beginSession(storage);
      const over = () => storage.ownership.over([session.id, other.id, randomId(), 'none']);
      expect(await over()).toEqual([]);
      await opened.expire(session);
      expect(await over()).toEqual([session.id]);
      await other.end();
      expect((await over()).toSorted()).toEqual([session.id, other.id].toSorted());
      expect(await storage.ownership.over([])).toEqual([]);
      session = await beginSession(storage);
    });

    it('lists what a session owns, with the epoch by which it can give that up (D-24)', async () => {
      const made = await workstream();
      const reserved = { id: randomId(), incarnation: randomId(), sessionId: session.id, folder: '' };
      await storage.reservations.reserve(reserved);
      const held = async () =>
        (await storage.ownership.held(session.id)).filter(({ id }) => [made.id, reserved.id].includes(id));
      const epoch = async () => (await storage.journal.head(made.id))!.epoch;
      expect(await held()).toEqual([{ id: made.id, epoch: await epoch() }]);
      await storage.ownership.release(made.id, session.id, 0);
      expect(await held()).toHaveLength(1);
      await storage.ownership.release(made.id, session.id, await epoch());
      expect(await held()).toEqual([]);
      await storage.reservations.rollback(reserved.id, reserved.incarnation);
    });

    it('lists live turns that nobody else alive runs', async () => {
      const made = await workstream();
      const other = await beginSession(storage);
      const live = async (who: Session) => (await storage.ownership.liveTurns(who.id)).includes(made.id);
      expect(await live(session)).toBe(false);
      const turnId = randomId();
      const running = await commit(made, batchOf(made, [{ kind: 'TURN', turn: turn(turnId) }]));
      expect([await live(session), await live(other)]).toEqual([true, false]);
      await storage.ownership.release(made.id, session.id, 1);
      expect(await live(other)).toBe(true);
      await commit(running, batchOf(running, [{ kind: 'TURN', turn: completed(turnId) }]));
      expect(await live(other)).toBe(false);
    });

    it('is given to nobody after three failures in a row, until they are forgiven (D-71)', async () => {
      const made = await workstream();
      await commit(made, batchOf(made, [{ kind: 'TURN', turn: turn(randomId()) }]));
      const { recordFailedLoad, claim, liveTurns } = storage.ownership;
      expect(await recordFailedLoad(made.id, 'one')).toBe(1);
      expect(await recordFailedLoad(made.id, null)).toBe(0);
      expect([await recordFailedLoad(made.id, '1'), await recordFailedLoad(made.id, '2')]).toEqual([1, 2]);
      expect(await claim(made.id, session.id)).toMatchObject({
        type: 'claimed',
        workstream: { failedLoads: 2 },
      });
      expect(await recordFailedLoad(made.id, 'three')).toBe(3);
      expect(await claim(made.id, session.id)).toEqual({ type: 'quarantined', reason: 'three' });
      expect(await liveTurns(session.id)).not.toContain(made.id);
      expect(await storage.catalog.get(made.id)).toMatchObject({ quarantine: 'three', revision: 3 });
      await recordFailedLoad(made.id, null);
      expect((await claim(made.id, session.id)).type).toBe('claimed');
      expect(await recordFailedLoad(randomId(), 'nobody')).toBe(0);
    });
  });

  describe('A reservation', () => {
    const reserve = async (): Promise<Made> => {
      const made = { id: randomId(), incarnation: randomId(), epoch: 0, projection: emptyProjection };
      await storage.reservations.reserve({ ...made, sessionId: session.id });
      return made;
    };

    it('is seen by nobody before it is published, and is then open, whole and owned by nobody (D-20)', async () => {
      const made = await reserve();
      const { totalCount } = await storage.catalog.list({ first: 1, after: null });
      expect(await storage.catalog.get(made.id)).toBeNull();
      expect(await storage.ownership.claim(made.id, session.id)).toEqual({ type: 'notFound' });
      expect(await storage.journal.commit(batchOf(made, birth('Sneaky')))).toEqual({ type: 'fenced' });
      const batch = batchOf(made, birth('Mine'), { receipts: [receipt('ada', randomId())] });
      expect(await storage.reservations.publish(batch)).toEqual({ type: 'published' });
      const list = await storage.catalog.list({ first: 200, after: null });
      expect(list.totalCount).toBe(totalCount + 1);
      expect(list.items.find((item) => item.id === made.id)).toMatchObject({ title: 'Mine' });
      expect(await storage.catalog.get(made.id)).toMatchObject({
        owner: null,
        revision: 2,
        projection: batch.projection,
      });
    });

    it('is invisible to every question, whatever is in its tables, until it is published (D-20)', async () => {
      const { catalog, ownership, search, removal } = storage;
      const made = await workstream();
      const word = `w${randomId()}`;
      const [turnId, cycleId] = [randomId(), randomId()];
      const asked = cycle(cycleId, turnId, { openedAt: '2040-01-01T00:00:00.000Z' });
      const decision = { verdict: 'DENIED', source: 'PERSON', by: ada, feedback: 'no', at } as const;
      const items = asked.items.map((item, i) => (i === 0 ? { ...item, decision } : item));
      const folder = `/tmp/${randomId()}`;
      const bodies = [
        message(word),
        { kind: 'CONFIGURATION', configuration: { ...configuration, workspace: folder } },
        { kind: 'QUEUE', queue: { items: [queued('later')], held: false } },
        { kind: 'TURN', turn: turn(turnId) },
        { kind: 'APPROVAL', cycle: { ...asked, items } },
      ] as const;
      await commit(made, batchOf(made, bodies));
      await storage.ownership.release(made.id, session.id, made.epoch);
      const first = { first: 200, after: null };
      const { query } = readQuery(word) as Extract<ReturnType<typeof readQuery>, { type: 'query' }>;
      const everything = async () => ({
        get: (await catalog.get(made.id))?.id,
        lists: await Promise.all(
          ([null, 'OPEN', 'CLOSED'] as const).map(async (lifecycle) => {
            const { items, totalCount } = await catalog.list(first, lifecycle);
            return [items.some((item) => item.id === made.id), totalCount];
          }),
        ),
        cycles: await catalog
          .openCycles(first)
          .then(({ items, totalCount }) => [items.some((i) => i.workstreamId === made.id), totalCount]),
        decision: await catalog.decisionOf(made.id, cycleId, items[0]!.callId),
        found: await Promise.all(
          [null, made.id].map(async (workstreamId) => {
            const answer = await search.find(query, { workstreamId, first: 9, after: null });
            return answer.type === 'found' ? answer.items.length : answer.type;
          }),
        ),
        live: (await ownership.liveTurns(session.id)).includes(made.id),
      });
      const before = await everything();
      const { lists, cycles } = before;
      expect(before).toEqual({
        get: made.id,
        lists: [
          [true, lists[0]![1]],
          [true, lists[1]![1]],
          [false, lists[2]![1]],
        ],
        cycles: [true, cycles[1]],
        decision,
        found: [1, 1],
        live: false,
      });
      await opened.forgeCreating(made.id);
      const less = (shown: readonly unknown[]): unknown[] => [false, Number(shown[1]) - (shown[0] ? 1 : 0)];
      expect(await everything()).toEqual({
        get: undefined,
        lists: lists.map(less),
        cycles: less(cycles),
        decision: null,
        found: [0, 0],
        live: false,
      });
      expect((await ownership.claim(made.id, session.id)).type).toBe('notFound');
      const removing = { ...made, workstreamId: made.id, sessionId: session.id, epoch: null };
      expect(await removal.remove({ ...removing, receipt: receipt('ada', randomId()) })).toEqual({
        type: 'notFound',
      });
      const late = batchOf({ ...made, projection: { ...made.projection, revision: 7 } }, [message('late')]);
      expect(await storage.journal.commit(late)).toEqual({ type: 'fenced' });
      await opened.remove(made.id);
    });

    it('whose caller is gone is not published, and nothing of it is written (D-20)', async () => {
      const made = await reserve();
      const kept = receipt('ada', randomId());
      const bodies = [...birth('x'), ...Array.from({ length: 1_200 }, (_, i) => message(String(i)))];
      const caller = AbortSignal.abort(new Error('VANISHED'));
      const publishing = storage.reservations.publish(batchOf(made, bodies, { receipts: [kept] }), caller);
      await expect(publishing).rejects.toThrow('VANISHED');
      expect(await storage.journal.head(made.id)).toMatchObject({ lifecycle: 'CREATING', revision: 0 });
      expect(await storage.journal.read(made.id, { after: 0, through: 9, limit: 9 })).toEqual([]);
      expect(await storage.journal.findReceipt(kept.scope, kept.key)).toBeNull();
      const batch = batchOf(made, bodies, { receipts: [kept] });
      expect(await storage.reservations.publish(batch, new AbortController().signal)).toEqual({
        type: 'published',
      });
      const range = { ...made, through: 9_999, superseded: [], checkpoint: null, signal: caller };
      await expect(storage.journal.conversation(made.id, range)).rejects.toThrow('VANISHED');
    });

    it('under a key that is taken leaves no trace of the second, and rolls back exactly (D-20, D-60)', async () => {
      const kept = receipt('ada', randomId());
      const [one, two] = [await reserve(), await reserve()];
      const outcomes = await Promise.all(
        [one, two].map((made) =>
          storage.reservations.publish(batchOf(made, birth('x'), { receipts: [kept] })),
        ),
      );
      expect(outcomes.map((o) => o.type).toSorted()).toEqual(['duplicate', 'published']);
      const [won, left] = outcomes[0]!.type === 'published' ? [one, two] : [two, one];
      await storage.reservations.rollback(left.id, randomId());
      expect((await storage.journal.head(left.id))?.lifecycle).toBe('CREATING');
      await storage.reservations.rollback(left.id, left.incarnation);
      expect(await storage.journal.head(left.id)).toBeNull();
      expect(await storage.reservations.publish(batchOf(left, birth('x')))).toEqual({ type: 'gone' });
      await storage.reservations.rollback(won.id, won.incarnation);
      expect((await storage.journal.head(won.id))?.lifecycle).toBe('OPEN');
      expect(await storage.reservations.publish(batchOf(won, birth('x')))).toEqual({ type: 'gone' });
    });
  });

  describe('The catalog', () => {
    it('lists newest first, page by page, each once', async () => {
      for (let i = 0; i < 4; i++) await workstream();
      const all = await storage.catalog.list({ first: 200, after: null });
      const paged: string[] = [];
      for (let last: Position | null = null, more = true; more;) {
        const page: Page<SummaryRow> = await storage.catalog.list({ first: 3, after: last });
        paged.push(...page.items.map((item) => item.id));
        last = positionOf(page.items.at(-1)!);
        more = page.hasNext;
      }
      expect(paged).toEqual(all.items.map((item) => item.id));
      expect(new Set(paged).size).toBe(all.totalCount);
    });

    it('pages on from the place of a workstream that is gone', async () => {
      const made: string[] = [];
      for (let i = 0; i < 3; i++) made.push((await workstream()).id);
      const all = await storage.catalog.list({ first: 200, after: null });
      const gone = positionOf(all.items.find((item) => item.id === made[1])!);
      await opened.remove(gone.id);
      const { items } = await storage.catalog.list({ first: 200, after: gone });
      const from = all.items.findIndex((item) => item.id === gone.id) + 1;
      expect(items).not.toEqual([]);
      expect(items.map((item) => item.id)).toEqual(all.items.slice(from).map((item) => item.id));
    });

    it('pages open approvals on from the place of one that is decided, or gone', async () => {
      // Of one moment: the id decides.
      const openedAt = '2030-01-01T00:00:00.000Z';
      const cycles = new Map<string, { readonly made: Made; readonly turnId: string }>();
      for (let i = 0; i < 4; i++) {
        const [made, turnId, id] = [await workstream(), randomId(), randomId()];
        const asked = [
          { kind: 'TURN', turn: turn(turnId) },
          { kind: 'APPROVAL', cycle: cycle(id, turnId, { openedAt }) },
        ] as const;
        cycles.set(id, { made: await commit(made, batchOf(made, asked)), turnId });
      }
      const ids = [...cycles.keys()].toSorted().toReversed();
      const after = async (id: string) => {
        const { items } = await storage.catalog.openCycles({ first: 200, after: { at: openedAt, id } });
        return items.map((item) => item.cycle.id).filter((found) => cycles.has(found));
      };
      expect(await after(ids[0]!)).toEqual(ids.slice(1));
      const { made, turnId } = cycles.get(ids[1]!)!;
      await commit(made, batchOf(made, [{ kind: 'TURN', turn: completed(turnId) }]));
      expect(await after(ids[0]!)).toEqual(ids.slice(2));
      expect(await after(ids[1]!)).toEqual(ids.slice(2));
      await opened.remove(cycles.get(ids[2]!)!.made.id);
      expect(await after(ids[2]!)).toEqual(ids.slice(3));
    });

    it('knows open approvals, and decisions for ever (D-64)', async () => {
      let made = await workstream();
      const [turnId, cycleId] = [randomId(), randomId()];
      const asked = cycle(cycleId, turnId, { openedAt: '2031-01-01T00:00:00.000Z' });
      made = await commit(
        made,
        batchOf(made, [
          { kind: 'TURN', turn: turn(turnId) },
          { kind: 'APPROVAL', cycle: asked },
        ]),
      );
      const first = async () => (await storage.catalog.openCycles({ first: 1, after: null })).items[0];
      expect(await first()).toEqual({ workstreamId: made.id, cycle: asked });
      const decision = { verdict: 'DENIED', source: 'PERSON', by: ada, feedback: 'no', at } as const;
      const items = asked.items.map((item, i) => (i === 0 ? { ...item, decision } : item));
      made = await commit(made, batchOf(made, [{ kind: 'APPROVAL', cycle: { ...asked, items } }]));
      expect((await first())?.cycle.items).toEqual(items);
      await commit(made, batchOf(made, [{ kind: 'TURN', turn: completed(turnId) }]));
      expect((await first())?.cycle.id).not.toBe(cycleId);
      const { decisionOf } = storage.catalog;
      expect(await decisionOf(made.id, cycleId, items[0]!.callId)).toEqual(decision);
      expect(await decisionOf(made.id, cycleId, items[1]!.callId)).toBeNull();
      expect(await decisionOf(randomId(), cycleId, items[0]!.callId)).toBeNull();
    });
  });

  describe('The token store', () => {
    const token = (name = 'laptop') => ({ id: randomId(), name, hash: randomId() });

    it('exchanges a code once, however many try, and never an expired or unknown one', async () => {
      const [code, old] = [randomId(), randomId()];
      await storage.tokens.addCode(old, new Date(0));
      await storage.tokens.addCode(code, new Date('2100-01-01'));
      expect(await storage.tokens.exchangeCode(old, token())).toBeNull();
      expect(await storage.tokens.exchangeCode(randomId(), token())).toBeNull();
      const rows = await Promise.all(
        Array.from({ length: 5 }, () => storage.tokens.exchangeCode(code, token())),
      );
      expect(rows.filter((row) => row !== null)).toHaveLength(1);
    });

    it('adds a token with its receipt once, finds it until it is revoked (D-60)', async () => {
      const kept = receipt('ada', randomId());
      const [one, two] = [token('one'), token('two')];
      expect(await storage.tokens.create(one, kept)).toMatchObject({
        type: 'created',
        token: { id: one.id },
      });
      expect(await storage.tokens.create(two, kept)).toEqual({ type: 'duplicate' });
      expect(await storage.journal.findReceipt('ada', kept.key)).toEqual(kept);
      expect(await storage.tokens.find(two.hash)).toBeNull();
      expect(await storage.tokens.find(one.hash)).toMatchObject({ id: one.id, lastUsedAt: null });
      expect((await storage.tokens.find(one.hash))?.lastUsedAt).not.toBeNull();
      expect((await storage.tokens.list()).map((t) => t.id)).toContain(one.id);
      expect(await storage.tokens.revoke(one.id)).toMatchObject({ id: one.id });
      expect(await storage.tokens.revoke(one.id)).toMatchObject({ id: one.id });
      expect(await storage.tokens.revoke(randomId())).toBeNull();
      expect(await storage.tokens.find(one.hash)).toBeNull();
      const good = token();
      await storage.tokens.create(good, receipt('ada', randomId()));
      const stranger = randomId();
      expect(await storage.tokens.goneOf([good.id, one.id, stranger])).toEqual([one.id, stranger]);
      expect((await storage.tokens.list()).map((t) => t.id)).not.toContain(one.id);
    });
  });
}
