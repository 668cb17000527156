import { describe, expect, it } from 'vitest';
import { createWeirClient } from '../../src/client-kit/index.ts';
import { PAGE } from '../../src/client-kit/follow.ts';
import { fateOf, type Settlement } from '../../src/client-kit/settle.ts';
import type { Entry, EntryBody, QueuedMessage, Turn, TurnOutcome } from '../../src/projection/index.ts';
import type { SendMessageOutcome } from '../../src/services.ts';
import { workstreamGlobalId } from '../../src/types/global-id.ts';
import { entryAt } from '../projection/journals.ts';
import { createInProcess, hastyPace, servicesOf, until } from './support/in-process.ts';
import { createWorld } from './support/world.ts';

const id = workstreamGlobalId('w1');
const me = { id: 'token-1', name: 'test' };
const at = '2026-11-30T09:52:03.120Z';

type Written = EntryBody & Partial<Pick<Entry, 'id' | 'turnId'>>;
/** What the server writes as one: nobody sees a part of it. */
type Batch = readonly Written[];

const done: TurnOutcome = { type: 'COMPLETED', reason: 'DONE', message: '', unconfirmed: [] };
const stopped: TurnOutcome = { type: 'CANCELED', reason: 'STOPPED', message: 'Stopped.', unconfirmed: [] };
const turn = (turnId: string, outcome: TurnOutcome | null = null): Written => ({
  kind: 'TURN',
  turnId,
  turn: {
    id: turnId,
    kind: 'CHAT',
    phase: outcome?.type ?? 'RUNNING',
    generation: 1,
    principal: me,
    outcome,
    recoveries: 0,
    startedAt: at,
    settledAt: outcome && at,
  } satisfies Turn,
});
const said = (messageId: string, turnId: string, text: string, source: 'MESSAGE' | 'STEER' = 'MESSAGE') =>
  ({ kind: 'USER', id: messageId, turnId, text, author: me, source }) satisfies Written;
const answered = (turnId: string, text: string): Written => ({
  kind: 'ASSISTANT',
  turnId,
  text,
  reasoning: '',
  calls: [],
  finish: 'STOP',
  model: 'test',
  usage: null,
  discarded: [],
});
const queue = (held: boolean, ...ids: readonly string[]): Written => {
  const message = {
    text: 'later',
    author: me,
    delivery: 'QUEUE',
    turnId: null,
    afterStop: false,
    at,
  } as const;
  return {
    kind: 'QUEUE',
    queue: { held, items: ids.map((own): QueuedMessage => ({ ...message, id: own })) },
  };
};
const rewound = (after: number): Written => ({ kind: 'REWIND', after, reason: 'REWIND', by: me });

interface Life {
  readonly what: string;
  /** What had happened, and what is accepted with the message `m`, which is the last of these. */
  readonly before: readonly Batch[];
  readonly after: readonly Batch[];
  readonly settled: object;
}

const lives: readonly Life[] = [
  {
    what: 'is said in a turn of its own',
    before: [[turn('t1'), said('m', 't1', 'hello')]],
    after: [[answered('t1', 'one moment')], [answered('t1', 'good morning'), turn('t1', done)]],
    settled: { type: 'Settled', outcome: done, text: 'good morning', turnId: 't1', superseded: false },
  },
  {
    what: 'waits, and is said in the turn under way, together with others, before another is asked',
    before: [[turn('t1'), said('x', 't1', 'x')], [queue(false, 'a')], [queue(false, 'a', 'm')]],
    after: [
      [queue(false, 'a', 'm', 'b')],
      [answered('t1', 'to x'), queue(false), said('a', 't1', 'a\n\nhello\n\nb')],
      [queue(false, 'c')],
      [answered('t1', 'to all three'), queue(false), said('c', 't1', 'c')],
      [answered('t1', 'to c'), turn('t1', done)],
    ],
    settled: {
      type: 'Settled',
      text: 'to all three',
      turnId: 't1',
      said: { id: 'a', text: 'a\n\nhello\n\nb' },
    },
  },
  {
    what: 'is held after a stop, and said in a later turn when somebody resumes',
    before: [[turn('t1'), said('x', 't1', 'x')], [queue(false, 'm')]],
    after: [
      [turn('t1', stopped), queue(true, 'm')],
      [queue(false), turn('t2'), said('m', 't2', 'hello')],
      [turn('t2', stopped)],
    ],
    settled: { type: 'Settled', outcome: stopped, text: null, turnId: 't2' },
  },
  {
    what: 'steers the turn under way',
    before: [[turn('t1'), said('x', 't1', 'x')], [queue(false, 'm')]],
    after: [
      [queue(false), said('m', 't1', 'hello', 'STEER')],
      [answered('t1', 'so be it'), turn('t1', done)],
    ],
    settled: { type: 'Settled', text: 'so be it', turnId: 't1', said: { source: 'STEER' } },
  },
  {
    what: 'is withdrawn, and nothing happens after that',
    before: [[turn('t1'), said('x', 't1', 'x')], [queue(false, 'm')]],
    after: [[turn('t1', stopped), queue(true, 'm')], [queue(false)]],
    settled: { type: 'Withdrawn', messageId: 'm' },
  },
  {
    what: 'is withdrawn from between others, and another begins a turn',
    before: [[turn('t1'), said('x', 't1', 'x')], [queue(false, 'a', 'm', 'b')]],
    after: [
      [queue(false, 'a', 'b')],
      [turn('t1', done), queue(false), turn('t2'), said('a', 't2', 'a\n\nb')],
    ],
    settled: { type: 'Withdrawn', messageId: 'm' },
  },
  {
    what: 'is withdrawn, and what comes next is a turn on something new',
    before: [[turn('t1'), said('x', 't1', 'x')], [queue(false, 'm')]],
    after: [
      [turn('t1', stopped), queue(true, 'm')],
      [queue(false)],
      [turn('t2'), said('y', 't2', 'y')],
      [answered('t2', 'to y'), turn('t2', done)],
    ],
    settled: { type: 'Withdrawn', messageId: 'm' },
  },
];

const accepted = (revision: number): SendMessageOutcome => ({
  type: 'Accepted',
  durability: 'DURABLE',
  disposition: 'QUEUED',
  messageId: 'm',
  turnId: null,
  revision,
});

function begin() {
  const world = createWorld(() => queue(false));
  let answer: (() => SendMessageOutcome) | null = null;
  const transport = createInProcess({
    ...servicesOf(world),
    messages: { send: () => Promise.resolve((answer ?? (() => accepted(world.entries.length)))()) },
  });
  const write = (batch: Batch) => {
    for (const entry of batch) world.put(entry, entry);
    world.acknowledge(world.entries.length);
  };
  const client = createWeirClient({ url: '', token: '', transport, pace: hastyPace() });
  const respond = (with_: () => SendMessageOutcome) => (answer = with_);
  return { world, transport, client, write, respond };
}

const turns = async (n: number) => {
  for (let i = 0; i < n; i += 1) await new Promise((resolve) => setImmediate(resolve));
};

describe('D-63 A message that was sent and waited for', () => {
  for (const { what, before, after, settled } of lives) {
    it(`${what}, whatever of it had happened before anybody looked`, async () => {
      for (let seen = 0; seen <= after.length; seen += 1) {
        const { world, transport, client, write, respond } = begin();
        for (const batch of before) write(batch);
        const revision = world.entries.length;
        respond(() => {
          for (const batch of after.slice(0, seen)) write(batch);
          return accepted(revision);
        });
        let settlement: Settlement | null = null;
        void client.sendAndSettle(id, 'hello').then((value) => (settlement = value));
        await turns(20);
        for (const [i, batch] of after.slice(seen).entries()) {
          // A connection that fails meanwhile changes nothing.
          if (i % 2 === 1) transport.cut();
          write(batch);
          await turns(10);
        }
        await until(`settled; ${seen} batches were there before`, () => settlement !== null);
        expect(settlement, `${seen} batches were there before`).toMatchObject(settled);
        client.dispose();
      }
    });
  }

  it('is found behind the first page of history', async () => {
    const { client, write, transport } = begin();
    write([turn('t1'), said('m', 't1', 'hello')]);
    for (let i = 0; i < PAGE + 20; i += 1) write([answered('t1', `step ${i}`)]);
    write([turn('t1', done)]);
    const settlement = await client.sendAndSettle(id, 'hello');
    expect(settlement).toMatchObject({ type: 'Settled', text: `step ${PAGE + 19}` });
    expect(settlement).toHaveProperty('entries.length', PAGE + 22);
    expect(transport.requests).toBe(3);
  });

  it('D-59 says that somebody went back behind it', async () => {
    const { client, write } = begin();
    write([turn('t1'), said('m', 't1', 'hello')]);
    write([answered('t1', 'yes'), turn('t1', done)]);
    write([rewound(0)]);
    expect(await client.sendAndSettle(id, 'hello')).toMatchObject({ text: 'yes', superseded: true });
  });

  it('D-55 is not settled by what a successor may drop', async () => {
    const { client, world, write } = begin();
    write([turn('t1'), said('m', 't1', 'hello')]);
    let settlement: Settlement | null = null;
    void client.sendAndSettle(id, 'hello').then((value) => (settlement = value));
    await turns(20);
    for (const entry of [answered('t1', 'lost'), turn('t1', done)]) world.put(entry, entry);
    await turns(20);
    expect(settlement).toBeNull();
    world.takeOver();
    write([answered('t1', 'kept'), turn('t1', done)]);
    await until('settled', () => settlement !== null);
    expect(settlement).toMatchObject({ type: 'Settled', text: 'kept' });
  });

  it('D-11 is refused as a value, and nobody follows', async () => {
    const { client, respond, transport } = begin();
    respond(() => ({
      type: 'Rejected',
      code: 'QUEUE_FULL',
      capacity: 20,
      message: 'Full.',
      retryable: true,
    }));
    expect(await client.sendAndSettle(id, 'hello')).toMatchObject({
      type: 'Rejected',
      code: 'QUEUE_FULL',
      facts: { capacity: 20 },
    });
    expect(transport.requests).toBe(1);
  });

  it('is told apart from what nobody looks at any longer: aborted, or the client disposed of', async () => {
    const { client, write } = begin();
    write([turn('t1'), said('m', 't1', 'hello')]);
    const states: unknown[] = [];
    const giveUp = new AbortController();
    const first = client.sendAndSettle(id, 'hello', {
      signal: giveUp.signal,
      onState: (state) => states.push(state),
    });
    await until('it is followed', () => states.length > 2);
    giveUp.abort();
    expect(await first).toMatchObject({ type: 'Unfollowed', messageId: 'm' });
    const told = states.length;
    const second = client.sendAndSettle(id, 'hello');
    await turns(20);
    client.dispose();
    expect(await second).toMatchObject({ type: 'Unfollowed' });
    write([turn('t1', done)]);
    await turns(20);
    expect(states).toHaveLength(told);
  });
});

it('fate: a message that no entry tells of is unseen; one in the queue waits', () => {
  expect(fateOf([], 'm')).toEqual({ type: 'unseen' });
  expect(fateOf([entryAt(1, queue(false, 'm'))], 'm')).toEqual({ type: 'waiting' });
  expect(fateOf([entryAt(1, queue(false, 'm')), entryAt(2, queue(false))], 'm')).toEqual({
    type: 'left',
    revision: 2,
  });
});
