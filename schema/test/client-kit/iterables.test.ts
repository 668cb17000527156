import { expect, it } from 'vitest';
import { createWeirClient, openQuestions, type Followed, type Question } from '../../src/client-kit/index.ts';
import {
  applyEntries,
  emptyProjection,
  type ApprovalItem,
  type EntryBody,
} from '../../src/projection/index.ts';
import type { CompactWorkstream, DecideApproval } from '../../src/services.ts';
import { workstreamGlobalId } from '../../src/types/global-id.ts';
import { began, budgeted, journalOf, liveTurn, open, said } from '../projection/journals.ts';
import { createInProcess, hastyPace, servicesOf, until } from './support/in-process.ts';
import { createWorld } from './support/world.ts';

const id = workstreamGlobalId('w1');

function begin() {
  const world = createWorld(() => open);
  world.put(open);
  world.put(began);
  world.acknowledge(2);
  const decided: DecideApproval[] = [];
  const transport = createInProcess({
    ...servicesOf(world),
    approvals: {
      decide: (_by, input) => {
        decided.push(input);
        return Promise.resolve({
          type: 'Rejected',
          code: 'APPROVAL_GONE',
          currentCycleIds: ['c9'],
          message: 'Gone.',
          retryable: false,
        });
      },
    },
  });
  const pace = hastyPace();
  const client = createWeirClient({ url: '', token: '', transport, pace });
  return { world, transport, client, decided, pace };
}

const turns = async (n = 20) => {
  for (let i = 0; i < n; i += 1) await new Promise((resolve) => setImmediate(resolve));
};
const nextOf = async (iterator: AsyncIterator<Followed>): Promise<Followed | undefined> =>
  (await iterator.next()).value as Followed | undefined;
const revisionOf = (followed: Followed | undefined): number | undefined =>
  followed?.known?.view.projection.revision;

it('D-6 gives who is slow the newest state, never a backlog, and each consumer its own', async () => {
  const { world, client } = begin();
  const slow = client.follow(id)[Symbol.asyncIterator]();
  const quick: number[] = [];
  const over = (async () => {
    for await (const followed of client.follow(id)) {
      quick.push(revisionOf(followed) ?? 0);
      if (revisionOf(followed) === 22) break;
    }
  })();
  await slow.next();
  await turns();
  for (let i = 0; i < 20; i += 1) {
    world.put(said());
    await turns(3);
  }
  await over;
  expect(revisionOf(await nextOf(slow))).toBe(22);
  let waits = true;
  const next = nextOf(slow).then((result) => {
    waits = false;
    return result;
  });
  await turns();
  expect(waits).toBe(true);
  world.put(said());
  expect(revisionOf(await next)).toBe(23);
  expect([...new Set(quick)].length).toBeGreaterThan(10);
  client.dispose();
});

it('ends with return, also while a next waits, and observes no longer', async () => {
  const { client, transport, pace } = begin();
  const iterator = client.follow(id)[Symbol.asyncIterator]();
  while (revisionOf(await nextOf(iterator)) === undefined);
  await turns();
  await iterator.next();
  const waiting = iterator.next();
  await turns();
  expect(await iterator.return?.()).toEqual({ done: true, value: undefined });
  expect(await waiting).toEqual({ done: true, value: undefined });
  expect(await iterator.next()).toEqual({ done: true, value: undefined });
  // Who still followed would try to come back.
  transport.cut();
  await turns();
  expect(pace.paused).toEqual([]);
});

it('ends on an aborted signal and with the client, before and after it began', async () => {
  const { client } = begin();
  const count = async (signal?: AbortSignal) => {
    let states = 0;
    for await (const { connection } of client.follow(id, signal ? { signal } : {}))
      states += connection.status === 'ENDED' ? 0 : 1;
    return states;
  };
  expect(await count(AbortSignal.abort())).toBe(0);
  const giveUp = new AbortController();
  const [aborted, disposed] = [count(giveUp.signal), count()];
  await turns();
  giveUp.abort();
  expect(await aborted).toBeGreaterThan(0);
  client.dispose();
  expect(await disposed).toBeGreaterThan(0);
  expect(await count()).toBe(0);
});

it('ends after the state that says why: missing, signed out, ended by the server', async () => {
  const statesOf = async (client: ReturnType<typeof begin>['client'], workstreamId = id) => {
    const states: Followed[] = [];
    for await (const followed of client.follow(workstreamId)) states.push(followed);
    return states;
  };
  const { client, world, transport } = begin();
  const missing = await statesOf(client, workstreamGlobalId('w2'));
  expect(missing.at(-1)).toMatchObject({ missing: true, connection: { status: 'ENDED' } });

  const ended = statesOf(client);
  await turns();
  world.end(false);
  expect((await ended).at(-1)).toMatchObject({ missing: false, connection: { status: 'ENDED' } });

  const failure = { type: 'Unauthenticated', message: 'No.' } as const;
  const closed = { ...transport, request: () => Promise.resolve({ ok: false as const, failure }) };
  const out = createWeirClient({ url: '', token: '', transport: closed, pace: hastyPace() });
  expect((await statesOf(out)).at(-1)?.connection).toEqual({ status: 'SIGNED_OUT', reason: 'No.' });
});

const item = (callId: string, decision: ApprovalItem['decision'] = null): ApprovalItem => ({
  callId,
  name: 'shell',
  arguments: '{}',
  argumentsHash: `hash of ${callId}`,
  preview: { kind: 'COMMAND', title: 'ls', body: 'ls' },
  basis: null,
  decision,
});
const cycle = (status: 'OPEN' | 'SETTLED', ...items: readonly ApprovalItem[]): EntryBody => ({
  kind: 'APPROVAL',
  cycle: { id: 'c1', kind: 'TOOLS', turnId: liveTurn.id, status, items, openedAt: 't', closedAt: null },
});
const approved = {
  verdict: 'APPROVED',
  source: 'PERSON',
  by: { id: 'b', name: 'B' },
  feedback: null,
} as const;
const at = '2026-11-30T09:52:03.120Z';

it('D-64 gives each open question once, in order, when it is durable and nobody answered it meanwhile', async () => {
  const { world, client } = begin();
  const given: Question[] = [];
  let resume = () => undefined as void;
  const over = (async () => {
    for await (const question of client.questions(id)) {
      given.push(question);
      await new Promise<void>((resolve) => (resume = resolve));
    }
  })();
  await turns();
  world.put(cycle('OPEN', item('a'), item('b'), item('c')));
  await turns();
  expect(given).toEqual([]);
  world.acknowledge(3);
  await until('the first is asked', () => given.length === 1);
  world.put(cycle('OPEN', item('a'), item('b', { ...approved, at }), item('c')));
  world.acknowledge(4);
  await turns();
  resume();
  await until('the next one that is open is asked', () => given.length === 2);
  resume();
  await turns();
  expect(given.map((question) => question.callId)).toEqual(['a', 'c']);
  expect(given[0]).toEqual({ ...item('a'), cycleId: 'c1', kind: 'TOOLS' });
  client.dispose();
  await over;
});

it('D-33 says of a question about the budget how much is asked for', () => {
  const budget = { spent: 1_200, limit: 1_000, grant: 1_000 };
  const asked = applyEntries(emptyProjection, journalOf(open, began, budgeted(budget, null)));
  expect(openQuestions(asked)).toMatchObject([{ cycleId: 'b1', callId: 'budget', kind: 'BUDGET', budget }]);
});

it('D-40 asks for a summary under a key of its own, and a refusal is a value', async () => {
  const asked: CompactWorkstream[] = [];
  const refused = {
    type: 'Rejected',
    code: 'NOTHING_TO_COMPACT',
    message: 'Too short.',
    retryable: true,
  } as const;
  const transport = createInProcess({
    workstreams: {
      compact: (_by, input) => {
        asked.push(input);
        return Promise.resolve(
          asked.length === 1 ? ({ type: 'Accepted', durability: 'DURABLE', turnId: 't9' } as const) : refused,
        );
      },
    },
  });
  const client = createWeirClient({ url: '', token: '', transport, pace: hastyPace() });
  expect(await client.compact(id)).toMatchObject({ type: 'Accepted', payload: { turnId: 't9' } });
  expect(await client.compact(id)).toMatchObject({ type: 'Rejected', code: 'NOTHING_TO_COMPACT' });
  expect(asked.map(({ workstreamId }) => workstreamId)).toEqual(['w1', 'w1']);
  expect(new Set(asked.map(({ key }) => key)).size).toBe(2);
});

it('D-62 decides with what was seen, and a question that is gone is a value', async () => {
  const { client, decided } = begin();
  const question = { ...item('a'), cycleId: 'c1', kind: 'TOOLS' } as const;
  const outcome = await client.decide(id, question, 'DENIED', 'not now');
  expect(outcome).toMatchObject({ type: 'Rejected', facts: { currentCycleIds: ['c9'] } });
  expect(decided[0]).toMatchObject({
    cycleId: 'c1',
    callId: 'a',
    argumentsHash: 'hash of a',
    verdict: 'DENIED',
    feedback: 'not now',
  });
});
