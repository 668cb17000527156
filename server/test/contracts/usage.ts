/** Owns: what the app relies on where model calls are counted; part of the contract of `storage.ts`. */
import { describe, expect, it } from 'vitest';
import type { Storage } from '../../src/adapters/storage/index.ts';
import { spentBy, type ModelCall } from '../../src/core/models/spending.ts';
import type { Session } from '../../src/ports/ownership.ts';
import type { UsageKey, UsageQuery, UsageTotal } from '../../src/ports/usage.ts';
import {
  after,
  batchOf,
  budgetCycle,
  message,
  modelCall,
  openWorkstream,
  randomId,
  receipt,
  turn,
  type Made,
} from '../adapters/storage/fixtures.ts';

const call = (more: Partial<ModelCall> = {}): ModelCall => modelCall(randomId(), more);
const nothing: UsageTotal = {
  calls: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cost: null,
  estimatedCalls: 0,
};
const ever = { from: '2000-01-01', through: '2999-12-31' };

export function usageContract(
  get: () => {
    readonly opened: { remove(workstreamId: string): Promise<void> };
    readonly storage: Storage;
    readonly session: Session;
  },
): void {
  const workstream = () => openWorkstream(get().storage, get().session);
  const commit = (made: Made, calls: readonly ModelCall[], more: Parameters<typeof batchOf>[2] = {}) =>
    get().storage.journal.commit(batchOf(made, [], { calls, ...more }));
  /** Spent, as the next owner is told. */
  const spentOf = async ({ id }: Made): Promise<number> => {
    const { storage, session } = get();
    const claimed = await storage.ownership.claim(id, session.id);
    if (claimed.type !== 'claimed') throw new Error(claimed.type);
    return claimed.workstream.spent;
  };
  const groups = (workstreamId: string | null, by: readonly UsageKey[], more: Partial<UsageQuery> = {}) =>
    get().storage.usage.groups({ ...ever, workstreamId, by, limit: 99, ...more });

  describe('A model call', () => {
    it('is counted with its batch: what was spent, its sums, and itself (D-5, D-33)', async () => {
      const { storage } = get();
      const made = await workstream();
      const turnId = randomId();
      const calls = [
        call({
          turnId,
          usage: { inputTokens: 1_000, outputTokens: 200, cachedInputTokens: 300, reasoningTokens: 40 },
          cost: 0.0125,
        }),
        call({ turnId, outcome: 'ABORTED', estimated: true }),
        call({ purpose: 'TITLE', alias: 'small', outcome: 'FAILED', cost: 0.1 }),
      ];
      const batch = batchOf(made, [message('a')], { calls });
      expect(await storage.journal.commit(batch)).toEqual({ type: 'committed' });
      const total = {
        calls: 3,
        inputTokens: 1_200,
        cachedInputTokens: 300,
        outputTokens: 220,
        reasoningTokens: 40,
        cost: 0.1125,
        estimatedCalls: 1,
      };
      expect(await storage.usage.totalOf(made.id)).toEqual(total);
      expect(await storage.usage.totalOfTurn(made.id, turnId)).toEqual({
        ...total,
        calls: 2,
        inputTokens: 1_100,
        outputTokens: 210,
        cost: 0.0125,
      });
      const recorded = await storage.usage.calls(made.id, { limit: 9, before: null });
      const byId = (a: { readonly id: string }, b: { readonly id: string }) => (a.id < b.id ? -1 : 1);
      expect(recorded.map(({ at: _, workstreamId: _w, ...rest }) => rest).toSorted(byId)).toEqual(
        calls.toSorted(byId),
      );
      expect(recorded.every((one) => one.workstreamId === made.id && !Number.isNaN(Date.parse(one.at)))).toBe(
        true,
      );
      expect(await spentOf(made)).toBe(1_420);
    });

    it('counts once, however often it is told, and by whom (D-5)', async () => {
      const { storage } = get();
      let made = await workstream();
      const [known, fresh] = [call(), call()];
      const batch = batchOf(made, [message('a')], { calls: [known] });
      await storage.journal.commit(batch);
      made = after(made, batch);
      await commit(made, [known, fresh]);
      await commit(made, [fresh, known, fresh]);
      await storage.usage.record(made.id, [known, fresh]);
      await storage.usage.record(randomId(), [known]);
      expect(await storage.usage.totalOf(made.id)).toMatchObject({ calls: 2, inputTokens: 200 });
      expect(await spentOf(made)).toBe(220);
    });

    it('alone makes a batch that lands once, and again when nobody knows whether it had (D-52)', async () => {
      const { storage } = get();
      const made = await workstream();
      const calls = [call()];
      const receipts = [receipt(`ada/${made.id}`, 'stop')];
      for (const more of [{}, {}, { receipts }, { receipts }])
        expect(await commit(made, calls, more)).toEqual({ type: 'committed' });
      expect(await storage.usage.totalOf(made.id)).toMatchObject({ calls: 1 });
      expect((await storage.journal.head(made.id))?.revision).toBe(2);
      expect(await spentOf(made)).toBe(spentBy(calls[0]!));
    });

    it.each([
      ['fenced', { epoch: 0 }],
      ['fenced', { expectedHead: 1 }],
      ['conflict', { receipts: [receipt('ada/x', 'taken', 'other')] }],
    ] as const)('of a batch that is refused (%s, %o) is not counted with it (D-4)', async (outcome, more) => {
      const { storage } = get();
      const made = await workstream();
      await commit(made, [], { receipts: [receipt('ada/x', 'taken')] });
      expect((await commit(made, [call()], more)).type).toBe(outcome);
      expect(await storage.usage.totalOf(made.id)).toEqual(nothing);
      expect(await spentOf(made)).toBe(0);
    });

    it('is counted without a batch, also when its workstream is gone, and stays when that goes (D-5)', async () => {
      const { opened, storage } = get();
      const made = await workstream();
      await storage.usage.record(made.id, [call()]);
      await storage.usage.record(made.id, []);
      expect(await spentOf(made)).toBe(110);
      await opened.remove(made.id);
      await storage.usage.record(made.id, [call({ cost: 2 })]);
      expect(await storage.usage.totalOf(made.id)).toMatchObject({ calls: 2, cost: 2 });
      expect(await storage.usage.calls(made.id, { limit: 9, before: null })).toHaveLength(2);
    });

    it('of a closed workstream is counted (D-23)', async () => {
      const { storage } = get();
      const made = await workstream();
      const closing = batchOf(made, [{ kind: 'LIFECYCLE', lifecycle: 'CLOSED', by: null }]);
      await storage.journal.commit(closing);
      expect(await commit(after(made, closing), [call({ purpose: 'TITLE' })])).toEqual({ type: 'committed' });
      expect(await storage.usage.totalOf(made.id)).toMatchObject({ calls: 1 });
    });

    it('names the model in words the database cannot hold, and is counted all the same (D-51)', async () => {
      const { storage } = get();
      const made = await workstream();
      expect(await commit(made, [call({ model: 'NUL \0 half \ud800' })])).toEqual({ type: 'committed' });
      const [recorded] = await storage.usage.calls(made.id, { limit: 1, before: null });
      expect(recorded?.model).toBe('NUL \ufffd half \ufffd');
    });

    it('changes nothing of the list (D-101)', async () => {
      const { storage } = get();
      const made = await workstream();
      const { mark } = await storage.elsewhere.look([], null);
      await storage.usage.record(made.id, [call()]);
      await commit(made, [call()]);
      const { changed } = await storage.elsewhere.look([], mark);
      expect(changed.filter(({ id }) => id === made.id)).toEqual([]);
    });

    it('is listed newest first, page by page', async () => {
      const { storage } = get();
      const made = await workstream();
      const calls = Array.from({ length: 5 }, () => call());
      for (const one of calls) await storage.usage.record(made.id, [one]);
      const all = await storage.usage.calls(made.id, { limit: 9, before: null });
      expect(all.map(({ id }) => id).toSorted()).toEqual(calls.map(({ id }) => id).toSorted());
      expect(all.map(({ at }) => at)).toEqual(
        all
          .map(({ at }) => at)
          .toSorted()
          .toReversed(),
      );
      const paged: string[] = [];
      for (let before: string | null = null; ;) {
        const page = await storage.usage.calls(made.id, { limit: 2, before });
        if (page.length === 0) break;
        paged.push(...page.map(({ id }) => id));
        before = paged.at(-1)!;
      }
      expect(paged).toEqual(all.map(({ id }) => id));
      expect(await storage.usage.calls(made.id, { limit: 9, before: randomId() })).toEqual([]);
      expect(await storage.usage.calls(randomId(), { limit: 9, before: all[0]!.id })).toEqual([]);
    });
  });

  describe('Usage', () => {
    it('is summed by what is asked: day, workstream, model, the most tokens first', async () => {
      const { storage } = get();
      const [one, two] = [await workstream(), await workstream()];
      const [big, small] = [randomId(), randomId()];
      const calls = [
        call({ alias: small }),
        call({ alias: big, usage: { inputTokens: 9_000, outputTokens: 1 }, cost: 0.5 }),
        call({ alias: small, cost: 0.25 }),
      ];
      await commit(one, calls);
      await commit(two, [call({ alias: big, estimated: true, outcome: 'ABORTED' })]);
      const [recorded] = await storage.usage.calls(one.id, { limit: 1, before: null });
      const day = recorded!.at.slice(0, 10);
      const ofSmall = { ...nothing, calls: 2, inputTokens: 200, outputTokens: 20, cost: 0.25 };
      const ofBig = { ...nothing, calls: 1, inputTokens: 9_000, outputTokens: 1, cost: 0.5 };
      const none = { day: null, workstreamId: null, alias: null };
      expect(await groups(one.id, ['MODEL'])).toEqual([
        { ...none, ...ofBig, alias: big },
        { ...none, ...ofSmall, alias: small },
      ]);
      expect(await groups(one.id, ['DAY', 'WORKSTREAM'])).toEqual([
        {
          ...none,
          ...nothing,
          day,
          workstreamId: one.id,
          calls: 3,
          inputTokens: 9_200,
          outputTokens: 21,
          cost: 0.75,
        },
      ]);
      const all = await groups(null, ['WORKSTREAM', 'MODEL']);
      expect(all.filter(({ alias }) => alias === big)).toEqual([
        { ...none, ...ofBig, alias: big, workstreamId: one.id },
        {
          ...none,
          ...nothing,
          alias: big,
          workstreamId: two.id,
          calls: 1,
          inputTokens: 100,
          outputTokens: 10,
          estimatedCalls: 1,
        },
      ]);
      expect(await groups(one.id, ['MODEL'], { limit: 1 })).toHaveLength(1);
    });

    it('of nobody is nothing, and a sum of all is one, also of nothing', async () => {
      const { storage } = get();
      const none = { day: null, workstreamId: null, alias: null };
      expect(await groups(randomId(), ['DAY', 'MODEL'])).toEqual([]);
      expect(await groups(randomId(), [])).toEqual([{ ...none, ...nothing }]);
      expect(await storage.usage.totalOf(randomId())).toEqual(nothing);
      expect(await storage.usage.totalOfTurn(randomId(), randomId())).toEqual(nothing);
    });

    it('is asked for between two days, both included, in UTC', async () => {
      const { storage } = get();
      const made = await workstream();
      await commit(made, [call()]);
      const [recorded] = await storage.usage.calls(made.id, { limit: 1, before: null });
      const day = recorded!.at.slice(0, 10);
      const [before, next] = [-1, 1].map((days) =>
        new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10),
      ) as [string, string];
      const between = async (from: string, through: string) =>
        (await groups(made.id, ['DAY'], { from, through })).map((group) => group.day);
      expect(await between(day, day)).toEqual([day]);
      expect(await between(next, '2999-12-31')).toEqual([]);
      expect(await between('2000-01-01', before)).toEqual([]);
    });
  });

  it('A question about the budget is read again as it was asked, and so is what it is about (D-33)', async () => {
    const { storage } = get();
    const made = await workstream();
    const [turnId, cycleId] = [randomId(), randomId()];
    const asked = budgetCycle(cycleId, turnId);
    const batch = batchOf(made, [
      { kind: 'TURN', turn: turn(turnId, { kind: 'COMPACT' }) },
      { kind: 'APPROVAL', cycle: asked },
    ]);
    expect(await storage.journal.commit(batch)).toEqual({ type: 'committed' });
    const { items } = await storage.catalog.openCycles({ first: 200, after: null });
    expect(items.filter(({ workstreamId }) => workstreamId === made.id)).toEqual([
      { workstreamId: made.id, cycle: asked },
    ]);
  });
}
