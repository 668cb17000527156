import { expect, it } from 'vitest';
import { createIntent, newKey, type Facts, type Progress } from '../../src/client-kit/intent.ts';
import {
  closeWorkstream,
  createWorkstream,
  decideApproval,
  sendMessage,
  withdrawQueuedMessage,
} from '../../src/client-kit/index.ts';
import type { Answer, Failure } from '../../src/client-kit/failure.ts';
import type { Pace } from '../../src/client-kit/persist.ts';
import type {
  CreateWorkstreamOutcome,
  DecideApprovalOutcome,
  SendMessage,
  SendMessageOutcome,
} from '../../src/services.ts';
import { workstreamGlobalId } from '../../src/types/global-id.ts';
import { createInProcess, hastyPace } from './support/in-process.ts';

type Refusal<O> = Extract<O, { readonly type: 'Rejected' }>;

const input = { workstreamId: workstreamGlobalId('w1'), text: 'hello' };

const accepted = (durability: 'DURABLE' | 'PENDING'): SendMessageOutcome => ({
  type: 'Accepted',
  durability,
  disposition: 'STARTED',
  messageId: 'm1',
  turnId: 't1',
  revision: 7,
});
const away: SendMessageOutcome = {
  type: 'Rejected',
  code: 'STORAGE_UNAVAILABLE',
  message: 'The database does not answer.',
  retryable: true,
};

/** A server that gives these answers in turn, the last one for ever. */
function server(...answers: SendMessageOutcome[]) {
  const received: SendMessage[] = [];
  const transport = createInProcess({
    messages: {
      send: (_by, sent) => {
        received.push(sent);
        return Promise.resolve(answers[Math.min(received.length, answers.length) - 1]!);
      },
    },
  });
  const pace = hastyPace();
  return { received, transport, pace, intent: createIntent({ transport, pace }, sendMessage, input) };
}

it('D-60 repeats the same key and input after a retryable refusal and after PENDING, until it is durable', async () => {
  const { intent, received, pace } = server(away, accepted('PENDING'), accepted('DURABLE'));
  const progress: Progress[] = [];
  const outcome = await intent.run((p) => progress.push(p));
  expect(outcome).toMatchObject({ type: 'Accepted', payload: { messageId: 'm1', revision: 7 } });
  expect(received).toHaveLength(3);
  expect(new Set(received.map((sent) => JSON.stringify(sent))).size).toBe(1);
  expect(received[0]!.key).toBe(intent.key);
  expect(progress.map((p) => [p.attempt, p.waitMs])).toEqual([
    [1, 400],
    [2, 800],
  ]);
  expect(progress[0]!.reason).toBe('The database does not answer.');
  expect(pace.paused).toEqual([400, 800]);
});

it('D-11 a refusal that is not retryable is final, and names its field', async () => {
  const { intent, received } = server({
    type: 'Rejected',
    code: 'INVALID_INPUT',
    field: 'text',
    message: 'Say something.',
    retryable: false,
  });
  expect(await intent.run()).toEqual({
    type: 'Rejected',
    code: 'INVALID_INPUT',
    message: 'Say something.',
    field: 'text',
    facts: {},
  });
  expect(received).toHaveLength(1);
});

const author = { id: 'bob', name: 'Bob' };
const decision = { verdict: 'DENIED', source: 'PERSON', by: author, feedback: 'no', at: 't' } as const;
const said = { type: 'Rejected', message: 'So it is.', retryable: true } as const;
/** What `sendMessage` can answer, and what of it a person is shown. Others are asked below as what `decide` answers. */
const toAPerson: readonly (readonly [Refusal<SendMessageOutcome>, Facts])[] = [
  [{ ...said, code: 'BUSY', currentTurnId: 't9' }, { currentTurnId: 't9' }],
  [{ ...said, code: 'STALE_TURN', currentTurnId: null }, { currentTurnId: null }],
  [{ ...said, code: 'QUEUE_FULL', capacity: 20 }, { capacity: 20 }],
  [{ ...said, code: 'NOT_YOURS', author }, { author }],
  [{ ...said, code: 'WORKSTREAM_CLOSED' }, {}],
  [{ ...said, code: 'QUARANTINED' }, {}],
  [{ ...said, code: 'UNSAVED_CONFLICT' }, {}],
  [{ ...said, code: 'DISCARDED' }, {}],
];
it.each(toAPerson)(
  'D-11 $0.code is for a person to decide: said at once, with the facts',
  async (refusal, facts) => {
    const { intent, received, pace } = server(refusal, accepted('DURABLE'));
    expect(await intent.run()).toMatchObject({ type: 'Rejected', code: refusal.code, facts });
    expect(received).toHaveLength(1);
    expect(pace.paused).toEqual([]);
  },
);

const passing = [
  { code: 'OWNER_ELSEWHERE' },
  { code: 'OWNER_LOST' },
  { code: 'SHUTTING_DOWN' },
  { code: 'STORAGE_UNAVAILABLE' },
  { code: 'CLOSING' },
  { code: 'AT_CAPACITY', capacity: 500 },
] as const;
it.each(passing)('D-60 $code passes by itself: the same key again', async (refusal) => {
  const { intent, received, pace } = server({ ...said, ...refusal }, accepted('DURABLE'));
  expect(await intent.run()).toMatchObject({ type: 'Accepted' });
  expect(received.map((sent) => sent.key)).toEqual([intent.key, intent.key]);
  expect(pace.paused).toEqual([400]);
});

const cannotDecide: readonly (readonly [Refusal<DecideApprovalOutcome>, Facts])[] = [
  [{ ...said, code: 'ALREADY_DECIDED', decision }, { decision }],
  [{ ...said, code: 'APPROVAL_GONE', currentCycleIds: ['c1'] }, { currentCycleIds: ['c1'] }],
  [{ ...said, code: 'ARGUMENTS_CHANGED', currentHash: 'h2' }, { currentHash: 'h2' }],
];
it.each(cannotDecide)(
  'D-64 a decision refused with $0.code says how things stand',
  async (refusal, facts) => {
    const transport = createInProcess({ approvals: { decide: () => Promise.resolve(refusal) } });
    const decided = { workstreamId: input.workstreamId, cycleId: 'c', callId: 'a', argumentsHash: 'h' };
    const intent = createIntent({ transport, pace: hastyPace() }, decideApproval, {
      ...decided,
      verdict: 'APPROVED',
    });
    expect(await intent.run()).toMatchObject({ type: 'Rejected', code: refusal.code, facts });
  },
);

it.each([false, true])(
  'D-23 a workstream that could not be closed is told at once, with whether its turn was stopped: %s',
  async (turnStopped) => {
    const refusal = { ...said, retryable: true, code: 'JOURNAL_UNSETTLED', turnStopped } as const;
    const transport = createInProcess({ workstreams: { close: () => Promise.resolve(refusal) } });
    const pace = hastyPace();
    const { workstreamId } = input;
    const outcome = await createIntent({ transport, pace }, closeWorkstream, { workstreamId }).run();
    expect(outcome).toMatchObject({ type: 'Rejected', code: 'JOURNAL_UNSETTLED', facts: { turnStopped } });
    expect(pace.paused).toEqual([]);
  },
);

it('D-63 a message that does not wait any more is told with those that do', async () => {
  const refusal = { ...said, code: 'MESSAGE_NOT_QUEUED', queuedMessageIds: ['q2'] } as const;
  const transport = createInProcess({ messages: { withdrawQueued: () => Promise.resolve(refusal) } });
  const intent = createIntent({ transport, pace: hastyPace() }, withdrawQueuedMessage, {
    workstreamId: input.workstreamId,
    messageId: 'q1',
  });
  expect(await intent.run()).toMatchObject({ type: 'Rejected', facts: { queuedMessageIds: ['q2'] } });
});

it('a code of a newer server is repeated when it says that it may be, and told otherwise', async () => {
  const answers = [{ retryable: true }, { retryable: false }].map(({ retryable }) => ({
    ok: true as const,
    data: { result: { __typename: 'NewTrouble', code: 'toString', message: 'New.', retryable } },
  }));
  const { transport, pace } = server(accepted('DURABLE'));
  const newer = { ...transport, request: () => Promise.resolve(answers.shift() as Answer<never>) };
  const outcome = await createIntent({ transport: newer, pace }, sendMessage, input).run();
  expect(outcome).toMatchObject({ type: 'Rejected', code: 'toString' });
  expect(pace.paused).toEqual([400]);
});

it('stops trying when it is told to, and says that nobody knows', async () => {
  const { intent, transport, pace } = server(accepted('DURABLE'));
  transport.down = true;
  const giveUp = new AbortController();
  const outcome = await intent.run(() => {
    giveUp.abort();
  }, giveUp.signal);
  expect(outcome).toMatchObject({ type: 'Failed', failure: { type: 'Network' } });
  expect(pace.paused).toEqual([400]);
});

it('gives up after eight attempts without an answer, and can be run again under the same key', async () => {
  const { intent, received, transport, pace } = server(accepted('DURABLE'));
  transport.down = true;
  expect(await intent.run()).toMatchObject({ type: 'Failed', failure: { type: 'Network' } });
  expect(pace.paused).toEqual([400, 800, 1_600, 3_200, 6_400, 8_000, 8_000]);
  expect(received).toEqual([]);
  transport.down = false;
  expect(await intent.run()).toMatchObject({ type: 'Accepted' });
  expect(received.map((sent) => sent.key)).toEqual([intent.key]);
});

it('attempts while the connection is known to be down do not count, and go on until it is back', async () => {
  const { intent, received, transport, pace } = server(accepted('DURABLE'));
  transport.down = true;
  transport.knownDown = true;
  const progress: Progress[] = [];
  const outcome = await intent.run((p) => {
    progress.push(p);
    if (progress.length === 30) transport.connect();
  });
  expect(outcome).toMatchObject({ type: 'Accepted' });
  expect(received.map((sent) => sent.key)).toEqual([intent.key]);
  expect(pace.paused).toHaveLength(30);
  expect(progress.every((p) => p.attempt === 0 && p.of === null)).toBe(true);
});

it('a refusal counts although the socket is down: the server can be reached', async () => {
  const { intent, received, transport } = server(away);
  transport.knownDown = true;
  expect(await intent.run()).toMatchObject({ type: 'Failed' });
  expect(received).toHaveLength(8);
});

/** A clock that stands still: a pause ends only when it is told to. */
const standing: Pace = {
  ...hastyPace(),
  pause: (_ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) resolve();
      else
        signal.addEventListener('abort', () => {
          resolve();
        });
    }),
};

it('a connection that is back ends the pause at once, under way or about to begin', async () => {
  const { transport, received } = server(accepted('DURABLE'));
  const run = () =>
    createIntent({ transport, pace: standing }, sendMessage, input).run(() => {
      // The pause begins after this has returned.
      queueMicrotask(transport.connect);
    });
  transport.down = true;
  expect(await run()).toMatchObject({ type: 'Accepted' });

  // It comes back while an attempt fails that began before.
  const late = {
    ...transport,
    request: async (...asked: Parameters<typeof transport.request>) => {
      const answer = await transport.request(...asked);
      if (transport.down) transport.connect();
      return answer;
    },
  } as typeof transport;
  transport.down = true;
  const outcome = await createIntent({ transport: late, pace: standing }, sendMessage, input).run();
  expect(outcome).toMatchObject({ type: 'Accepted' });
  expect(received).toHaveLength(2);
});

it('does not try again without a valid token', async () => {
  const { transport, pace } = server(accepted('DURABLE'));
  const failure: Failure = { type: 'Unauthenticated', message: 'No.' };
  const closed = { ...transport, request: () => Promise.resolve({ ok: false as const, failure }) };
  const outcome = await createIntent({ transport: closed, pace }, sendMessage, input).run();
  expect(outcome).toEqual({ type: 'Failed', message: 'No.', failure });
  expect(pace.paused).toEqual([]);
});

it('D-60 makes a key for each intent that the server takes', async () => {
  const keys = Array.from({ length: 100 }, newKey);
  expect(new Set(keys).size).toBe(100);
  for (const key of keys) expect(key).toMatch(/^[A-Za-z0-9_-]{8,100}$/);

  const refused: CreateWorkstreamOutcome = {
    type: 'Rejected',
    code: 'KEY_REUSED',
    message: 'Used before.',
    retryable: false,
  };
  const transport = createInProcess({ workstreams: { create: () => Promise.resolve(refused) } });
  const intent = createIntent({ transport, pace: hastyPace() }, createWorkstream, { title: 'T' });
  expect(await intent.run()).toMatchObject({ type: 'Rejected', code: 'KEY_REUSED', field: null });
});

it('D-60 goes on under a key that was kept', async () => {
  const { received, transport, pace } = server(accepted('DURABLE'));
  const key = newKey();
  const intent = createIntent({ transport, pace }, sendMessage, input, key);
  expect(intent.key).toBe(key);
  await intent.run();
  expect(received.map((sent) => sent.key)).toEqual([key]);
});
