/** Owns: what the app relies on where watches and their polls are kept; part of the contract of `storage.ts`. */
import type { EntryBody, Fire, Watch, WatchDefinition } from 'schema/projection';
import { describe, expect, it } from 'vitest';
import type { Storage } from '../../src/adapters/storage/index.ts';
import type { Session } from '../../src/ports/ownership.ts';
import { pollsKept, type ClaimedPoll, type PollOutcome } from '../../src/ports/watches.ts';
import {
  ada,
  after,
  at,
  batchOf,
  beginSession,
  openWorkstream,
  randomId,
  type Made,
} from '../adapters/storage/fixtures.ts';
import { fireOf, outcomeOf, says, watchOf } from '../support/watch-fixtures.ts';

const paused = (known: Watch): Watch => ({ ...known, status: 'PAUSED', pausedBy: 'PERSON', due: null });
const ended = (known: Watch): Watch => ({ ...known, status: 'ENDED', end: 'CANCELED', due: null });
const edited = (known: Watch, more: Partial<WatchDefinition> = {}): Watch => ({
  ...known,
  version: known.version + 1,
  definition: { ...known.definition, ...more },
  due: 'LATER',
});

/** It has something to tell. */
const firing = (claim: ClaimedPoll, more: Partial<Fire> = {}): PollOutcome =>
  outcomeOf(claim, { fire: fireOf(claim, more) });

const secondsBetween = (from: string, to: string | null | undefined): number =>
  (Date.parse(to ?? '') - Date.parse(from)) / 1_000;

export function watchesContract(
  get: () => {
    readonly opened: {
      expire(session: Session): Promise<void>;
      passes(watchIds: readonly string[], ms: number): Promise<void>;
      remove(workstreamId: string): Promise<void>;
    };
    readonly storage: Storage;
    readonly session: Session;
  },
): void {
  /** A machine of its own, so that nothing of another test is due on it. */
  async function machine(): Promise<{ readonly host: string; readonly session: Session }> {
    const host = randomId();
    return { host, session: await beginSession(get().storage, randomId(), host) };
  }
  /** A workstream that runs there, with these watches. */
  async function watching(on: { readonly session: Session }, watches: readonly Watch[]): Promise<Made> {
    return put(await openWorkstream(get().storage, on.session), watches.map(says));
  }
  async function put(made: Made, bodies: readonly EntryBody[]): Promise<Made> {
    const batch = batchOf(made, bodies);
    expect(await get().storage.journal.commit(batch)).toEqual({ type: 'committed' });
    return after(made, batch);
  }
  const claim = (
    { host, session }: { readonly host: string; readonly session: Session },
    more: { readonly limit?: number; readonly leaseMs?: number } = {},
  ) =>
    get().storage.watches.claim({
      sessionId: session.id,
      host,
      limit: 99,
      perWorkstream: 2,
      leaseMs: 60_000,
      ...more,
    });
  const claimOne = async (on: { readonly host: string; readonly session: Session }): Promise<ClaimedPoll> => {
    const [first, ...more] = await claim(on);
    expect({ first: first !== undefined, more }).toEqual({ first: true, more: [] });
    return first!;
  };
  const idsOf = (claims: readonly ClaimedPoll[]) => claims.map(({ watchId }) => watchId);
  const untilDue = ({ host, session }: { readonly host: string; readonly session: Session }) =>
    get().storage.watches.untilDue({ sessionId: session.id, host, leaseMs: 60_000 });
  const waiting = (
    { host, session }: { readonly host: string; readonly session: Session },
    more: { readonly limit?: number; readonly after?: string | null } = {},
  ) => get().storage.watches.waiting({ sessionId: session.id, host, limit: 99, after: null, ...more });
  const fires = (workstreamId: string, limit = 99) =>
    get().storage.watches.deliveries({ workstreamId, limit });
  /** What is told there, and to whom. */
  async function deliveries(on: { readonly host: string; readonly session: Session }) {
    const told = [];
    for (const workstreamId of await waiting(on))
      for (const fire of await fires(workstreamId)) told.push({ workstreamId, fire });
    return told;
  }
  const record = (outcome: PollOutcome) => get().storage.watches.record(outcome);

  describe('A watch', () => {
    it('is kept as its workstream wrote it, and found by its id and in the list of its workstream (D-80)', async () => {
      const on = await machine();
      const [first, second, third] = ['00', '01', '02'].map((second) =>
        watchOf({ createdAt: `2026-11-30T10:00:${second}.000Z` }),
      ) as [Watch, Watch, Watch];
      let made = await watching(on, [first, second, third]);
      const gone = ended(second);
      made = await put(made, [says(gone)]);
      const { watches } = get().storage;
      expect(await watches.get(first.id)).toEqual({
        workstreamId: made.id,
        watch: first,
        polls: 0,
        fires: 0,
        nextPollAt: expect.any(String) as unknown,
        lastPollAt: null,
        lastExitCode: null,
        lastOutput: null,
        lastError: null,
      });
      expect(await watches.get(gone.id)).toMatchObject({ watch: gone, nextPollAt: null });
      expect(await watches.get(randomId())).toBeNull();
      const list = async (isEnded: boolean, limit = 9, behind: string | null = null) =>
        (await watches.list({ workstreamId: made.id, ended: isEnded, limit, after: behind })).map(
          (row) => row.watch.id,
        );
      expect(await list(true)).toEqual([third.id, gone.id, first.id]);
      expect(await list(false)).toEqual([third.id, first.id]);
      expect(await list(true, 1)).toEqual([third.id]);
      expect(await list(true, 1, third.id)).toEqual([gone.id]);
      expect(await list(true, 9, gone.id)).toEqual([first.id]);
      expect(await list(true, 9, randomId())).toEqual([]);
      expect(await get().storage.catalog.get(made.id)).toMatchObject({
        projection: { watches: [first, third] },
      });
    });

    it('is listed among those of all workstreams, the newest first, once it has ended only where that is asked for', async () => {
      const on = await machine();
      const times = ['2999-01-03', '2999-01-02', '2999-01-01'];
      const all = times.map((day) => watchOf({ createdAt: `${day}T00:00:00.000Z` }));
      const mades = [];
      for (const one of all) mades.push(await watching(on, [one]));
      await put(mades[1]!, [says(ended(all[1]!))]);
      const list = async (isEnded: boolean, after: string | null = null) => {
        const asked = { workstreamId: null, ended: isEnded, limit: 2, after };
        return (await get().storage.watches.list(asked)).map((row) => row.watch.id);
      };
      const [first, second, third] = all.map(({ id }) => id);
      expect(await list(false)).toEqual([first, third]);
      expect(await list(true)).toEqual([first, second]);
      expect((await list(true, second))[0]).toBe(third);
      await Promise.all(mades.map((made) => get().opened.remove(made.id)));
      expect(await get().storage.watches.get(all[0]!.id)).toBeNull();
    });

    it('shares its name with none of its workstream that has not ended (D-80)', async () => {
      const on = await machine();
      const first = watchOf({ definition: { name: 'same' } });
      const second = watchOf({ definition: { name: 'same' } });
      const made = await watching(on, [first]);
      expect((await get().storage.journal.commit(batchOf(made, [says(second)]))).type).toBe('conflict');
      expect(await get().storage.watches.get(second.id)).toBeNull();
      await watching(on, [watchOf({ definition: { name: 'same' } })]);
      await put(made, [says(ended(first)), says(second)]);
      expect((await get().storage.watches.get(second.id))?.watch).toEqual(second);
    });

    it('is one of at most five of its workstream that have not ended (D-80)', async () => {
      const on = await machine();
      const five = [1, 2, 3, 4, 5].map(() => watchOf());
      let made = await watching(on, five);
      const sixth = watchOf();
      expect((await get().storage.journal.commit(batchOf(made, [says(sixth)]))).type).toBe('conflict');
      // Each of them can be changed still, and the place of one that ends is free.
      made = await put(
        made,
        five.map((one) => says(paused(one))),
      );
      made = await put(made, [says(ended(five[2]!)), says(sixth)]);
      expect((await get().storage.journal.commit(batchOf(made, [says(watchOf())]))).type).toBe('conflict');
    });

    it('goes with its workstream, and what it had to tell too', async () => {
      const on = await machine();
      const made = await watching(on, [watchOf()]);
      const claimed = await claimOne(on);
      await record(firing(claimed));
      await get().opened.remove(made.id);
      expect(await get().storage.watches.get(claimed.watchId)).toBeNull();
      expect(await get().storage.watches.polls(claimed.watchId, { limit: 9, before: null })).toEqual([]);
      expect(await deliveries(on)).toEqual([]);
      expect(await untilDue(on)).toBeNull();
    });
  });

  describe('A due poll', () => {
    it('is claimed once, with all that it takes to run it (D-81)', async () => {
      const on = await machine();
      const one = watchOf({ depth: 3 });
      const made = await watching(on, [one]);
      const [claimed] = await claim(on);
      expect(claimed).toEqual({
        claim: expect.any(String) as unknown,
        workstreamId: made.id,
        watchId: one.id,
        version: 1,
        definition: one.definition,
        author: ada,
        depth: 3,
        workspace: '/tmp/w',
        poll: 1,
        scheduledAt: (await get().storage.watches.get(one.id))?.nextPollAt,
        createdAt: at,
        lateMs: expect.any(Number) as unknown,
        prevOutput: null,
        errors: 0,
        fires: 0,
        overdue: false,
      });
      expect(await claim(on)).toEqual([]);
      expect(await untilDue(on)).toBeGreaterThan(50_000);
    });

    it('has a claim that is its alone, also of those claimed together: its processes are ended by that (D-70)', async () => {
      const on = await machine();
      await watching(on, [watchOf(), watchOf()]);
      await watching(on, [watchOf()]);
      const claims = (await claim(on)).map((one) => one.claim);
      expect(claims).toHaveLength(3);
      expect(new Set(claims).size).toBe(3);
    });

    it('is not due before its time, and says how long that is (D-81)', async () => {
      const on = await machine();
      expect(await untilDue(on)).toBeNull();
      const one = watchOf({ due: 'LATER' });
      await watching(on, [one]);
      expect(await claim(on)).toEqual([]);
      expect(await untilDue(on)).toBeGreaterThan(40_000);
      expect(await untilDue(on)).toBeLessThanOrEqual(60_000);
      await get().opened.passes([one.id], 61_500);
      expect(await untilDue(on)).toBeLessThanOrEqual(-1_500);
      expect((await claimOne(on)).lateMs).toBeGreaterThanOrEqual(1_500);
    });

    it('comes after those that are due longer, and only as many as are asked for', async () => {
      const on = await machine();
      const order: string[] = [];
      for (let i = 0; i < 4; i += 1) {
        const one = watchOf();
        await watching(on, [one]);
        order.push(one.id);
        await get().opened.passes(order, 1_000);
      }
      expect(idsOf(await claim(on, { limit: 3 }))).toEqual(order.slice(0, 3));
      expect(idsOf(await claim(on))).toEqual(order.slice(3));
    });

    it('waits while two of its workstream are under way, and for those before it (D-81)', async () => {
      const on = await machine();
      const all = [1, 2, 3, 4].map(() => watchOf());
      await watching(on, all);
      await watching(on, [watchOf()]);
      const claims = await claim(on);
      const ofMany = claims.filter(({ watchId }) => all.some(({ id }) => id === watchId));
      expect({ all: claims.length, ofMany: ofMany.length }).toEqual({ all: 3, ofMany: 2 });
      expect(await claim(on)).toEqual([]);
      expect(await record(outcomeOf(ofMany[0]!))).toBe('RECORDED');
      const third = await claimOne(on);
      expect(idsOf(ofMany)).not.toContain(third.watchId);
      expect(await claim(on)).toEqual([]);
      await Promise.all([record(outcomeOf(third)), record(outcomeOf(ofMany[1]!))]);
      expect(idsOf(await claim(on))).toHaveLength(1);
    });

    it('is another server’s where its workstream lives or lived, and nobody’s while that is closed or quarantined (D-71, D-81)', async () => {
      const { storage } = get();
      const [here, there] = [await machine(), await machine()];
      const other = { host: here.host, session: await beginSession(storage, randomId(), here.host) };
      const one = watchOf();
      let made = await watching(here, [one]);
      // Another process of this machine, while the owner lives; another machine, also when nobody does.
      expect(await claim(other)).toEqual([]);
      expect(await untilDue(other)).toBeNull();
      await storage.ownership.release(made.id, here.session.id, made.epoch);
      expect(await claim(there)).toEqual([]);
      expect(await untilDue(there)).toBeNull();
      expect(await untilDue(other)).toBeLessThanOrEqual(0);
      // Where it is loaded next, it is polled.
      const claimed = await storage.ownership.claim(made.id, there.session.id);
      if (claimed.type !== 'claimed') throw new Error(claimed.type);
      made = { ...made, epoch: claimed.workstream.epoch };
      expect(await claim(other)).toEqual([]);
      for (const reason of ['1', '2', '3']) await storage.ownership.recordFailedLoad(made.id, reason);
      expect(await claim(there)).toEqual([]);
      expect(await untilDue(there)).toBeNull();
      await storage.ownership.recordFailedLoad(made.id, null);
      made = await put(made, [{ kind: 'LIFECYCLE', lifecycle: 'CLOSED', by: ada }]);
      expect(await claim(there)).toEqual([]);
      await put(made, [{ kind: 'LIFECYCLE', lifecycle: 'OPEN', by: ada }]);
      expect(idsOf(await claim(there))).toEqual([one.id]);
    });

    it('is given back with all that its session has claimed, but for what that knows of (D-81)', async () => {
      const { watches } = get().storage;
      const [on, other] = [await machine(), await machine()];
      await watching(on, [watchOf(), watchOf()]);
      await watching(other, [watchOf()]);
      const [known, lost] = await claim(on);
      const theirs = await claimOne(other);
      await watches.giveBack(on.session.id, [known!]);
      expect(await claim(other)).toEqual([]);
      const again = await claimOne(on);
      expect(again.watchId).toBe(lost!.watchId);
      expect(again.claim).not.toBe(lost!.claim);
      expect(await record(outcomeOf(lost!))).toBe('LOST');
      for (const one of [known!, theirs, again]) expect(await record(outcomeOf(one))).toBe('RECORDED');
      await watches.giveBack(on.session.id, []);
    });

    it('of a server that is lost is another’s once its lease is over, or its session is (D-81, D-100)', async () => {
      const { storage, opened } = get();
      const on = await machine();
      const [one, two] = [watchOf(), watchOf()];
      const mades = [await watching(on, [one]), await watching(on, [two])];
      const [first, second] = await claim(on, { leaseMs: 5_000 });
      expect(await untilDue(on)).toBeLessThanOrEqual(5_000);
      await opened.passes([first!.watchId], 5_001);
      const again = await claim(on, { limit: 1 });
      expect(idsOf(again)).toEqual([first!.watchId]);
      expect(again[0]?.poll).toBe(1);
      await opened.expire(on.session);
      const next = { host: on.host, session: await beginSession(storage, randomId(), on.host) };
      expect(await claim(on)).toEqual([]);
      expect(idsOf(await claim(next)).toSorted()).toEqual([one.id, two.id].toSorted());
      for (const lost of [first!, second!, again[0]!]) expect(await record(firing(lost))).toBe('LOST');
      expect(await storage.watches.get(one.id)).toMatchObject({ polls: 0, lastOutput: null });
      expect(await deliveries(next)).toEqual([]);
      expect(mades).toHaveLength(2);
    });

    it('is counted: what is due, what is under way here, what is late, what waits to be told (D-81, D-84)', async () => {
      const on = await machine();
      const all = [watchOf(), watchOf(), watchOf({ due: 'LATER' })];
      for (const one of all) await watching(on, [one]);
      await get().opened.passes([all[0]!.id, all[1]!.id], 2_000);
      const counts = () => get().storage.watches.counts({ sessionId: on.session.id, host: on.host });
      expect(await counts()).toEqual({ due: 2, running: 0, late: 2, waiting: 0 });
      const [first] = await claim(on, { limit: 1 });
      expect(await counts()).toEqual({ due: 1, running: 1, late: 1, waiting: 0 });
      await record(firing(first!));
      expect(await counts()).toEqual({ due: 1, running: 0, late: 1, waiting: 1 });
    });
  });

  describe('What came of a poll', () => {
    it('is kept, with what the next one is told of it (D-84, D-86)', async () => {
      const on = await machine();
      const one = watchOf();
      await watching(on, [one]);
      const claimed = await claimOne(on);
      const failed = { exitCode: 3, output: 'bad', error: 'no such key', errors: 1, durationMs: 1_234 };
      expect(await record(outcomeOf(claimed, failed))).toBe('RECORDED');
      const row = await get().storage.watches.get(one.id);
      expect(row).toMatchObject({
        polls: 1,
        fires: 0,
        lastExitCode: 3,
        lastOutput: 'bad',
        lastError: 'no such key',
      });
      expect(secondsBetween(claimed.scheduledAt, row?.nextPollAt)).toBe(60);
      const [kept, ...more] = await get().storage.watches.polls(one.id, { limit: 9, before: null });
      expect(kept).toEqual({
        poll: 1,
        at: row?.lastPollAt,
        durationMs: 1_234,
        exitCode: 3,
        fired: false,
        error: 'no such key',
        outputTail: 'bad',
      });
      expect(more).toEqual([]);
      await get().opened.passes([one.id], 60_500);
      const next = await claimOne(on);
      expect(next).toMatchObject({ poll: 2, prevOutput: 'bad', errors: 1 });
      // Ended by a signal, or not begun at all.
      expect(await record(outcomeOf(next, { exitCode: null }))).toBe('RECORDED');
      expect(await get().storage.watches.get(one.id)).toMatchObject({
        polls: 2,
        lastExitCode: null,
        lastError: null,
      });
    });

    it('lands once: who has no claim, or not any more, changes nothing (D-84)', async () => {
      const on = await machine();
      const one = watchOf();
      await watching(on, [one]);
      const claimed = await claimOne(on);
      expect(await record(firing({ ...claimed, claim: 'another' }))).toBe('LOST');
      expect(await get().storage.watches.get(one.id)).toMatchObject({ polls: 0 });
      const both = await Promise.all([record(firing(claimed)), record(firing(claimed))]);
      expect(both.toSorted()).toEqual(['LOST', 'RECORDED']);
      expect(await get().storage.watches.get(one.id)).toMatchObject({ polls: 1, fires: 1 });
      expect(await deliveries(on)).toHaveLength(1);
      await get().storage.journal.head(one.id);
      expect(await record(firing({ ...claimed, watchId: randomId() }))).toBe('LOST');
    });

    it('keeps to the cadence: what was missed is left out, and nothing drifts (D-81)', async () => {
      const on = await machine();
      const one = watchOf();
      await watching(on, [one]);
      const first = await claimOne(on);
      await record(outcomeOf(first));
      await get().opened.passes([one.id], 60_000 + 150_000);
      const second = await claimOne(on);
      await record(outcomeOf(second));
      const row = await get().storage.watches.get(one.id);
      expect(secondsBetween(second.scheduledAt, row?.nextPollAt)).toBe(180);
      expect(await claim(on)).toEqual([]);
    });

    it('puts the next one off by no more than the interval when the clock went back meanwhile (D-81)', async () => {
      const on = await machine();
      const one = watchOf();
      await watching(on, [one]);
      const claimed = await claimOne(on);
      await get().opened.passes([one.id], -7_200_000);
      const scheduledAt = (await get().storage.watches.get(one.id))?.nextPollAt ?? '';
      expect(await record(outcomeOf({ ...claimed, scheduledAt }))).toBe('RECORDED');
      const row = await get().storage.watches.get(one.id);
      const off = secondsBetween(row?.lastPollAt ?? '', row?.nextPollAt);
      expect(off).toBeGreaterThan(59);
      expect(off).toBeLessThan(61);
    });

    it('leaves a time that was set meanwhile: run now is run now (D-80)', async () => {
      const on = await machine();
      const one = watchOf();
      const made = await watching(on, [one]);
      const claimed = await claimOne(on);
      await get().opened.passes([one.id], 1_000);
      await put(made, [says(one)]);
      // It is polled already: not twice at once.
      expect(await claim(on)).toEqual([]);
      expect(await record(outcomeOf(claimed))).toBe('RECORDED');
      expect((await claimOne(on)).poll).toBe(2);
    });

    it('has its say waiting until the workstream has written it down (D-84)', async () => {
      const on = await machine();
      const one = watchOf();
      const made = await watching(on, [one]);
      const claimed = await claimOne(on);
      expect(await record(firing(claimed))).toBe('RECORDED');
      const fire = fireOf(claimed);
      expect(await deliveries(on)).toEqual([{ workstreamId: made.id, fire }]);
      expect(await fires(randomId())).toEqual([]);
      expect(await get().storage.watches.polls(one.id, { limit: 9, before: null })).toMatchObject([
        { fired: true },
      ]);
      await put(made, [
        { kind: 'SYSTEM', text: 'it fired', source: 'WATCH', fire },
        says({ ...one, lastFire: 1, due: null }),
      ]);
      expect(await deliveries(on)).toEqual([]);
      // The next poll is due as it was.
      expect(secondsBetween(claimed.scheduledAt, (await get().storage.watches.get(one.id))?.nextPollAt)).toBe(
        60,
      );
    });

    it('is not taken away by who has only a copy of what was said, as a fork has (D-84)', async () => {
      const on = await machine();
      const one = watchOf();
      const made = await watching(on, [one]);
      const claimed = await claimOne(on);
      await record(firing(claimed));
      const fork = await openWorkstream(get().storage, on.session);
      await put(fork, [{ kind: 'SYSTEM', text: 'it fired', source: 'WATCH', fire: fireOf(claimed) }]);
      expect(await fires(made.id)).toHaveLength(1);
    });

    it('waits with the others of its workstream, earlier polls first, whatever the clock did meanwhile (D-84)', async () => {
      const on = await machine();
      const [one, two] = [watchOf(), watchOf()];
      let made = await watching(on, [one, two]);
      const order = [one.id, two.id].toSorted();
      for (let poll = 1; poll <= 3; poll += 1) {
        for (const claimed of await claim(on)) await record(firing(claimed));
        // What was said first is later by an hour than what comes.
        if (poll === 1) await get().opened.passes(order, -3_600_000);
        made = await put(made, [says(one), says(two)]);
      }
      const told = async (limit: number) =>
        (await fires(made.id, limit)).map(({ watchId, poll }) => [watchId, poll]);
      const all = [1, 2, 3].flatMap((poll) => order.map((id) => [id, poll]));
      expect(await told(99)).toEqual(all);
      expect(await told(3)).toEqual(all.slice(0, 3));
    });

    it('waits with at most four of before it, and ends, whatever is in between; what is told takes along all before it (D-84)', async () => {
      const on = await machine();
      let one = watchOf();
      let made = await watching(on, [one]);
      const polls = async (): Promise<readonly number[]> => (await fires(made.id)).map(({ poll }) => poll);
      const next = async (more: Partial<Fire> = {}): Promise<Fire> => {
        const claimed = await claimOne(on);
        await record(firing(claimed, more));
        made = await put(made, [says({ ...one, due: 'NOW' })]);
        return fireOf(claimed, more);
      };
      for (let poll = 1; poll <= 9; poll += 1) await next();
      expect(await polls()).toEqual([1, 2, 3, 4, 9]);
      await next({ ended: true });
      expect(await polls()).toEqual([1, 2, 3, 4, 10]);
      // It waits for something else by now, and goes on.
      one = edited(one, { condition: 'exit_code == 7' });
      made = await put(made, [says({ ...one, due: 'NOW' })]);
      await next();
      const fire = await next();
      expect(await polls()).toEqual([1, 2, 3, 4, 10, 12]);
      expect(fire).toMatchObject({ poll: 12, firesBefore: 11, skipped: 0 });
      const fourth = (await fires(made.id))[3]!;
      await put(made, [{ kind: 'SYSTEM', text: 'it fired', source: 'WATCH', fire: fourth }]);
      expect(await polls()).toEqual([10, 12]);
      expect(await get().storage.watches.get(one.id)).toMatchObject({ polls: 12, fires: 12 });
    });

    it('is found by its workstream, page by page, however much waits for each (D-84)', async () => {
      const on = await machine();
      const ids: string[] = [];
      for (let i = 0; i < 3; i += 1) {
        const made = await watching(on, [watchOf()]);
        ids.push(made.id);
      }
      for (const claimed of await claim(on)) await record(firing(claimed));
      const sorted = ids.toSorted();
      expect(await waiting(on)).toEqual(sorted);
      expect(await waiting(on, { limit: 2 })).toEqual(sorted.slice(0, 2));
      expect(await waiting(on, { limit: 2, after: sorted[1]! })).toEqual(sorted.slice(2));
      expect(await waiting(on, { after: sorted[2]! })).toEqual([]);
    });

    it('is told where the workstream can be loaded, earlier polls first, and to none that is closed (D-84)', async () => {
      const { storage } = get();
      const [on, there] = [await machine(), await machine()];
      const other = { host: on.host, session: await beginSession(storage, randomId(), on.host) };
      const [one, two] = [watchOf(), watchOf()];
      let made = await watching(on, [one, two]);
      for (const claimed of await claim(on)) await record(firing(claimed));
      await get().opened.passes([one.id], 60_500);
      const again = (await claim(on)).find(({ watchId }) => watchId === one.id);
      await record(firing(again!));
      const told = async (by: typeof on) =>
        (await deliveries(by)).map(({ fire }) => [fire.watchId, fire.poll]);
      const all = await told(on);
      expect(all.map(([, poll]) => poll)).toEqual([1, 1, 2]);
      expect([await told(other), await told(there)]).toEqual([[], []]);
      await storage.ownership.release(made.id, on.session.id, made.epoch);
      expect([await told(other), await told(there)]).toEqual([all, []]);
      made = await put(made, [{ kind: 'LIFECYCLE', lifecycle: 'CLOSED', by: ada }]);
      expect([await told(other), await fires(made.id)]).toEqual([[], []]);
      // What has ended has nothing to say any more.
      await put(made, [{ kind: 'LIFECYCLE', lifecycle: 'OPEN', by: ada }, says(ended(one))]);
      expect(await told(other)).toEqual([[two.id, 1]]);
    });

    it('is the last where it says so: nothing is due any more (D-81)', async () => {
      const on = await machine();
      const one = watchOf();
      const made = await watching(on, [one]);
      const claimed = await claimOne(on);
      expect(await record(firing(claimed, { reason: 'MAX_POLLS', ended: true }))).toBe('RECORDED');
      expect(await get().storage.watches.get(one.id)).toMatchObject({ polls: 1, fires: 0, nextPollAt: null });
      expect(await untilDue(on)).toBeNull();
      const fire = fireOf(claimed, { reason: 'MAX_POLLS', ended: true });
      expect(await deliveries(on)).toEqual([{ workstreamId: made.id, fire }]);
      await put(made, [
        { kind: 'SYSTEM', text: 'it ended', source: 'WATCH', fire },
        says({ ...one, status: 'ENDED', end: 'MAX_POLLS', lastFire: 1, due: null }),
      ]);
      expect(await deliveries(on)).toEqual([]);
      expect(await get().storage.watches.get(one.id)).toMatchObject({
        polls: 1,
        watch: { end: 'MAX_POLLS' },
      });
    });

    it.each([
      ['edited', (one: Watch) => [edited(one)]],
      ['paused', (one: Watch) => [paused(one)]],
      ['paused and resumed', (one: Watch) => [paused(one), one]],
      ['ended', (one: Watch) => [ended(one)]],
    ] as const)('is only a poll, and tells nothing, once its watch was %s (D-84)', async (_, change) => {
      const on = await machine();
      const one = watchOf();
      const made = await watching(on, [one]);
      const claimed = await claimOne(on);
      await put(made, change(one).map(says));
      const before = await get().storage.watches.get(one.id);
      const failed = outcomeOf(claimed, {
        output: 'of before',
        errors: 2,
        error: 'of before',
        exitCode: 9,
        fire: fireOf(claimed),
      });
      expect(await record(failed)).toBe('STALE');
      expect(await get().storage.watches.get(one.id)).toEqual({
        ...before,
        polls: 1,
        lastPollAt: expect.any(String) as unknown,
      });
      expect(await get().storage.watches.polls(one.id, { limit: 9, before: null })).toMatchObject([
        { poll: 1, fired: false, error: 'of before', exitCode: 9, outputTail: 'of before' },
      ]);
      expect(await deliveries(on)).toEqual([]);
    });

    it.each([
      ['edited', (one: Watch) => [{ ...edited(one), due: 'NOW' as const }]],
      ['paused and resumed', (one: Watch) => [paused(one), one]],
      [
        'paused, edited and resumed',
        (one: Watch) => [
          paused(one),
          { ...edited(paused(one)), due: null },
          { ...edited(one), due: 'NOW' as const },
        ],
      ],
    ] as const)(
      'is waited for by the next one, when its watch was %s: no two at once (D-81)',
      async (_, change) => {
        const on = await machine();
        const one = watchOf();
        let made = await watching(on, [one]);
        const claimed = await claimOne(on);
        const { watches } = get().storage;
        expect(await watches.held([claimed])).toEqual([claimed]);
        for (const changed of change(one)) made = await put(made, [says(changed)]);
        expect(await watches.held([claimed])).toEqual([]);
        expect(await claim(on)).toEqual([]);
        expect(await record(firing(claimed))).toBe('STALE');
        const next = await claimOne(on);
        expect(next.poll).toBe(2);
        expect(await watches.held([claimed, next])).toEqual([next]);
        expect(await record(firing(next))).toBe('RECORDED');
        expect(await watches.held([claimed, next])).toEqual([]);
        expect(await watches.get(one.id)).toMatchObject({ polls: 2, fires: 1 });
      },
    );

    it('is for nothing any more when its watch has ended or is gone, and is for something otherwise (D-81)', async () => {
      const on = await machine();
      const all = [watchOf(), watchOf(), watchOf(), watchOf()];
      const mades = [];
      for (const one of all) mades.push(await watching(on, [one]));
      const claims = await claim(on);
      expect(claims).toHaveLength(4);
      await put(mades[0]!, [says(ended(all[0]!))]);
      await get().opened.remove(mades[1]!.id);
      await put(mades[2]!, [says({ ...all[2]!, due: 'NOW' })]);
      const held = idsOf(await get().storage.watches.held(claims));
      expect(held.toSorted()).toEqual([all[2]!.id, all[3]!.id].toSorted());
    });

    it('is what the next is compared with, as long as the command is the same; an edit forgives errors (D-83)', async () => {
      const on = await machine();
      const one = watchOf();
      let made = await watching(on, [one]);
      await record(outcomeOf(await claimOne(on), { output: 'date', errors: 2 }));
      const again = { ...edited(one, { everySeconds: 30 }), due: 'NOW' } as const;
      made = await put(made, [says(again)]);
      const same = await claimOne(on);
      expect(same).toMatchObject({ prevOutput: 'date', errors: 0, poll: 2 });
      await record(outcomeOf(same, { output: 'date', errors: 1 }));
      await put(made, [says({ ...edited(again, { command: 'ls' }), due: 'NOW' })]);
      expect(await claimOne(on)).toMatchObject({ prevOutput: null, errors: 0, poll: 3 });
    });

    it('is nothing that the next is compared with, where its command did not run (D-83)', async () => {
      const on = await machine();
      const one = watchOf();
      await watching(on, [one]);
      const outputs = [null, 'date', null, 'time'];
      const before = [];
      for (const output of outputs) {
        const claimed = await claimOne(on);
        before.push(claimed.prevOutput);
        await record(outcomeOf(claimed, { output, exitCode: output === null ? null : 0 }));
        await get().opened.passes([one.id], 60_500);
      }
      expect(before).toEqual([null, null, 'date', 'date']);
      const polls = await get().storage.watches.polls(one.id, { limit: 9, before: null });
      expect(polls.map(({ outputTail }) => outputTail)).toEqual(['time', '', 'date', '']);
    });

    it('is followed by the deadline, where that is before the next one (D-81)', async () => {
      const on = await machine();
      const one = watchOf();
      const made = await watching(on, [one]);
      const now = (await get().storage.watches.get(one.id))?.nextPollAt ?? '';
      const deadline = new Date(Date.parse(now) + 30_000).toISOString();
      await put(made, [says({ ...edited(one, { deadline }), due: 'NOW' })]);
      const claimed = await claimOne(on);
      expect(claimed.overdue).toBe(false);
      await record(outcomeOf(claimed));
      expect((await get().storage.watches.get(one.id))?.nextPollAt).toBe(deadline);
    });

    it('comes at the deadline at the latest; what was not run then is no poll (D-80, D-81)', async () => {
      const on = await machine();
      const known = watchOf();
      const made = await watching(on, [known]);
      await record(outcomeOf(await claimOne(on)));
      // Half a minute before the next one.
      const next = (await get().storage.watches.get(known.id))?.nextPollAt;
      const deadline = new Date(Date.parse(next ?? '') - 30_000).toISOString();
      await put(made, [says(edited(known, { deadline }))]);
      expect((await get().storage.watches.get(known.id))?.nextPollAt).toBe(deadline);
      await get().opened.passes([known.id], 30_500);
      const last = await claimOne(on);
      expect(last).toMatchObject({ overdue: true, poll: 2, prevOutput: 'output of 1' });
      const ending = fireOf(last, { reason: 'DEADLINE', ended: true });
      expect(await record(outcomeOf(last, { exitCode: null, output: '', fire: ending }))).toBe('RECORDED');
      expect(await get().storage.watches.get(known.id)).toMatchObject({
        polls: 1,
        lastOutput: 'output of 1',
        lastExitCode: 0,
        nextPollAt: null,
      });
      expect(await get().storage.watches.polls(known.id, { limit: 9, before: null })).toHaveLength(1);
      expect(await deliveries(on)).toEqual([{ workstreamId: made.id, fire: ending }]);
    });

    it.each(['paused and resumed', 'closed and opened', 'run now'])(
      'is not followed by another when what waits to be told is the end, whatever is done with its watch: %s (broke: what that found was lost)',
      async (what) => {
        const on = await machine();
        const one = watchOf();
        const made = await watching(on, [one]);
        await record(firing(await claimOne(on), { reason: 'CONDITION', ended: true }));
        const pausedBy = what === 'closed and opened' ? 'CLOSED' : 'PERSON';
        const paused = says({ ...one, status: 'PAUSED', pausedBy, due: null });
        const woken = says({ ...one, due: 'NOW' });
        const now = await put(made, what === 'run now' ? [woken] : [paused, woken]);
        expect(await claim(on)).toEqual([]);
        expect((await get().storage.watches.get(one.id))?.nextPollAt).toBeNull();
        expect(await deliveries(on)).toHaveLength(1);
        // One that waits for something else by now goes on.
        await put(now, [says({ ...edited(one, { condition: 'exit_code == 7' }), due: 'NOW' })]);
        expect(await claim(on)).toHaveLength(1);
      },
    );

    it('is forgotten when two hundred came after it, and read page by page (D-86)', async () => {
      const on = await machine();
      const one = watchOf();
      await watching(on, [one]);
      for (let i = 0; i < pollsKept + 3; i += 1) {
        await record(outcomeOf(await claimOne(on)));
        await get().opened.passes([one.id], 60_000);
      }
      const page = async (limit: number, before: number | null) =>
        (await get().storage.watches.polls(one.id, { limit, before })).map(({ poll }) => poll);
      const all = await page(999, null);
      expect([all.length, all[0], all.at(-1)]).toEqual([pollsKept, pollsKept + 3, 4]);
      expect(await page(2, null)).toEqual([203, 202]);
      expect(await page(2, 202)).toEqual([201, 200]);
      expect(await page(9, 5)).toEqual([4]);
      expect(await get().storage.watches.get(one.id)).toMatchObject({ polls: pollsKept + 3 });
    });

    it('is kept as text that can be, of its output 64 KiB and in the list of polls the end (D-51, D-82)', async () => {
      const on = await machine();
      const one = watchOf();
      await watching(on, [one]);
      const output = `\0\ud800${'é'.repeat(40_000)}end`;
      const claimed = await claimOne(on);
      const fire = fireOf(claimed, { output: '\0', error: 'x\udfff' });
      expect(await record(outcomeOf(claimed, { output, error: '\0', fire }))).toBe('RECORDED');
      const row = await get().storage.watches.get(one.id);
      expect(Buffer.byteLength(row?.lastOutput ?? '')).toBe(65_536);
      expect(row?.lastOutput).toMatch(/^\ufffd\ufffdé+$/);
      const [kept] = await get().storage.watches.polls(one.id, { limit: 1, before: null });
      expect(kept?.outputTail).toBe(`${'é'.repeat(1_997)}end`);
      expect(kept?.error).toBe('\ufffd');
      expect((await deliveries(on))[0]?.fire).toMatchObject({ output: '\ufffd', error: 'x\ufffd' });
    });
  });
}
