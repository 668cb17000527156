import type { Persistence } from 'schema/projection';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  createStoreLane,
  type LaneEnd,
  type NumberedBatch,
  type StoreLane,
} from '../../src/app/actor/store-lane.ts';
import {
  batchOf,
  beginSession,
  message,
  openWorkstream,
  receipt,
  type Made,
} from '../adapters/storage/fixtures.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { createMemoryStorage, type MemoryStorage } from '../support/memory-storage.ts';
import { settled, until } from './support/world.ts';

let clock: TestClock;
let storage: MemoryStorage;
let made: Made;
let lane: StoreLane;
let stored: number[];
let ends: LaneEnd[];
let told: Persistence[];
let random: number;

beforeEach(async () => {
  clock = createTestClock();
  storage = createMemoryStorage(clock);
  made = await openWorkstream(storage, await beginSession(storage));
  [stored, ends, told, random] = [[], [], [], 0.5];
  lane = createStoreLane({
    journal: storage.journal,
    clock,
    random: () => random,
    onStored: (batch) => stored.push(batch.number),
    onEnd: (reason) => ends.push(reason),
    onPersistence: (persistence) => told.push(persistence),
  });
});

/** `count` batches of one entry each, one after the other; `receipts`: of receipts alone. */
function batches(count: number, receipts = false): readonly NumberedBatch[] {
  let at = made;
  return Array.from({ length: count }, (_, i) => {
    const batch = batchOf(at, receipts ? [] : [message(`${i}`)], {
      receipts: [receipt(`ada/${made.id}`, `key-${i}`)],
    });
    at = { ...at, projection: batch.projection };
    return { ...batch, number: i + 1 };
  });
}

const push = (all: readonly NumberedBatch[]): void => all.forEach((batch) => lane.push(batch));
const texts = (): readonly string[] =>
  storage.entries(made.id).flatMap((e) => (e.kind === 'USER' ? [e.text] : []));
const statuses = (): readonly string[] => told.map((p) => p.status);
const attempted = (): readonly number[] => storage.attempts.map((b) => b.expectedHead - 1);

describe('A store lane', () => {
  it('stores batches one at a time, in the order they came (D-3, D-50)', async () => {
    storage.hold();
    push(batches(3));
    await settled();
    expect(storage.heldCalls).toBe(1);
    storage.release();
    await lane.settled();
    expect(stored).toEqual([1, 2, 3]);
    expect(texts()).toEqual(['0', '1', '2']);
    expect(told).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('tries a database that is away again after 1 s doubling to 60 s, and nothing behind first (D-50)', async () => {
    storage.goAway();
    push(batches(3));
    for (const [i, seconds] of [1, 2, 4, 8, 16, 32, 60, 60, 60].entries()) {
      await until(() => told.at(-1)?.status === 'RETRYING' && storage.attempts.length === i + 1);
      await settled();
      expect(told.at(-1)).toEqual({
        status: 'RETRYING',
        nextAttemptAt: new Date(clock.now() + seconds * 1_000).toISOString(),
        message: 'The database does not answer (TEST).',
      });
      await clock.advance(seconds * 1_000 - 1);
      expect(storage.attempts).toHaveLength(i + 1);
      await clock.advance(1);
      await until(() => storage.attempts.length === i + 2);
    }
    expect(new Set(attempted())).toEqual(new Set([1]));
    expect(lane.persistence().status).toBe('RETRYING');
    storage.comeBack();
    await settled();
    await clock.advance(60_000);
    await lane.settled();
    expect(stored).toEqual([1, 2, 3]);
    expect(told.at(-1)).toEqual({ status: 'HEALTHY' });
    expect(lane.persistence()).toEqual({ status: 'HEALTHY' });
  });

  it.each([
    [0, 750],
    [0.5, 1_000],
    [0.999, 1_250],
  ])('waits with jitter: chance %f makes 1 s %i ms (D-50)', async (chance, ms) => {
    random = chance;
    storage.goAway();
    push(batches(1));
    await until(() => told.length > 0);
    expect(told[0]).toMatchObject({ nextAttemptAt: new Date(clock.now() + ms).toISOString() });
  });

  it('begins its waits anew for the next batch', async () => {
    storage.goAway();
    push(batches(2));
    await until(() => told.length === 1);
    await clock.advance(1_000);
    await until(() => told.length === 2);
    storage.comeBack();
    storage.loseAnswers(1);
    await clock.advance(2_000);
    // The first one is read as landed on its next attempt; the second one then fails for the first time.
    await until(() => told.length === 3);
    await clock.advance(4_000);
    await lane.settled();
    expect(stored).toEqual([1, 2]);
  });

  it('finds by reading back that a batch of unknown outcome had landed, and never writes it twice (D-52)', async () => {
    storage.loseAnswers();
    push(batches(2));
    await until(() => told.length === 1);
    expect(texts()).toEqual(['0']);
    expect(stored).toEqual([]);
    await clock.advance(1_000);
    await lane.settled();
    expect(stored).toEqual([1, 2]);
    expect(texts()).toEqual(['0', '1']);
    expect(ends).toEqual([]);
  });

  it('does so for a batch of receipts alone, which moves no head (D-52, D-60)', async () => {
    storage.loseAnswers();
    push(batches(1, true));
    await until(() => told.length === 1);
    await clock.advance(1_000);
    await lane.settled();
    expect(stored).toEqual([1]);
    expect(ends).toEqual([]);
  });

  it('does not take receipts for stored that the database refused: nothing vouches for them but themselves', async () => {
    const [batch] = batches(1, true);
    storage.refuseData(true);
    push([batch!]);
    await until(() => statuses().includes('CONFLICT'));
    expect(stored).toEqual([]);
    const { scope, key } = batch!.receipts[0]!;
    expect(await storage.journal.findReceipt(scope, key)).toBeNull();
  });

  it('keeps trying when the read-back itself meets no database (D-52)', async () => {
    storage.loseAnswers();
    push(batches(1));
    await until(() => told.length === 1);
    storage.hold();
    await clock.advance(1_000);
    await until(() => storage.heldCalls === 1);
    storage.release();
    storage.hold();
    await until(() => storage.heldCalls === 1);
    storage.goAway();
    storage.release();
    await until(() => told.length === 2);
    expect(told[1]).toMatchObject({ status: 'RETRYING' });
    storage.comeBack();
    await clock.advance(2_000);
    await lane.settled();
    expect(stored).toEqual([1]);
    expect(texts()).toEqual(['0']);
  });

  it('ends as `ownerLost` when another epoch has the workstream, and stores nothing more (D-4, D-50)', async () => {
    storage.takeOver(made.id);
    push(batches(2));
    await lane.settled();
    expect(ends).toEqual(['ownerLost']);
    expect([stored, texts()]).toEqual([[], []]);
    push(batches(1));
    await settled();
    expect(storage.attempts).toHaveLength(1);
  });

  it('ends as `ownerLost` when someone wrote under its own epoch', async () => {
    await storage.journal.commit(batchOf(made, [message('not mine')]));
    push(batches(1));
    await lane.settled();
    expect(ends).toEqual(['ownerLost']);
  });

  it('ends as `gone` when there is no such row any more (D-50)', async () => {
    storage.remove(made.id);
    push(batches(1));
    await lane.settled();
    expect(ends).toEqual(['gone']);
  });

  it('ends as `gone` when the row is another incarnation (D-4)', async () => {
    const other = { ...made, incarnation: 'other' };
    lane.push({ ...batchOf(other, [message('x')]), number: 1 });
    await lane.settled();
    expect(ends).toEqual(['gone']);
  });

  it('says CONFLICT when the database refuses the data, and tries nothing again (D-51)', async () => {
    storage.refuseData(true);
    push(batches(2));
    await lane.settled();
    expect(told).toEqual([{ status: 'CONFLICT', message: 'The database refuses the data (TEST).' }]);
    storage.refuseData(false);
    await clock.advance(600_000);
    push(batches(1));
    await settled();
    expect(storage.attempts).toHaveLength(1);
    expect([stored, ends]).toEqual([[], []]);
    expect(lane.persistence().status).toBe('CONFLICT');
    expect(clock.pending).toBe(0);
  });

  it('says PENDING when a batch takes longer than a second, and HEALTHY when it has landed', async () => {
    storage.hold();
    push(batches(1));
    await clock.advance(999);
    expect(told).toEqual([]);
    await clock.advance(1);
    expect(told).toEqual([{ status: 'PENDING' }]);
    storage.release();
    await lane.settled();
    expect(statuses()).toEqual(['PENDING', 'HEALTHY']);
  });

  it('ended while it waits to try again, wakes, drops what waits, and leaves no timer behind', async () => {
    storage.goAway();
    push(batches(2));
    await until(() => told.length === 1);
    lane.end();
    await lane.settled();
    storage.comeBack();
    await settled();
    expect(clock.pending).toBe(0);
    expect(storage.attempts).toHaveLength(1);
    expect([stored, ends]).toEqual([[], []]);
  });

  it.each(['commit', 'read-back'])('ended during a %s, says and does nothing more (D-50)', async (during) => {
    if (during === 'read-back') {
      storage.loseAnswers();
      push(batches(1));
      await until(() => told.length === 1);
      storage.hold();
      await clock.advance(1_000);
      await until(() => storage.heldCalls === 1);
      storage.release();
      storage.hold();
      await until(() => storage.heldCalls === 1);
    } else {
      storage.hold();
      push(batches(1));
      await until(() => storage.heldCalls === 1);
    }
    const before = told.length;
    lane.end();
    if (during === 'read-back') storage.goAway();
    storage.release();
    await settled();
    expect(told).toHaveLength(before);
    expect([stored, ends]).toEqual([[], []]);
    expect(clock.pending).toBe(0);
  });

  it('ended during the read-back of a batch that had landed, does not call it stored any more', async () => {
    storage.loseAnswers();
    push(batches(1));
    await until(() => told.length === 1);
    storage.hold();
    await clock.advance(1_000);
    for (let call = 0; call < 2; call += 1) {
      await until(() => storage.heldCalls === 1);
      storage.release();
      storage.hold();
    }
    await until(() => storage.heldCalls === 1);
    lane.end();
    storage.release();
    await settled();
    expect(stored).toEqual([]);
    expect(statuses()).toEqual(['RETRYING']);
  });
});
