import { expect, it } from 'vitest';
import { createIntent, newKey, type Progress } from '../../src/client-kit/intent.ts';
import { createWorkstream, sendMessage } from '../../src/client-kit/operations.ts';
import type { Failure } from '../../src/client-kit/failure.ts';
import type { CreateWorkstreamOutcome, SendMessage, SendMessageOutcome } from '../../src/services.ts';
import { workstreamGlobalId } from '../../src/types/global-id.ts';
import { createInProcess, hastyPace } from './support/in-process.ts';

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
  });
  expect(received).toHaveLength(1);
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
