import type { Intent, Outcome } from 'schema/client-kit';
import type { QueuedMessage } from 'schema/projection';
import { expect, it } from 'vitest';
import type { Api } from '../../lib/api.svelte.ts';
import { Waiting } from './waiting.svelte.ts';

const message: QueuedMessage = {
  id: 'm1',
  text: 'as it was',
  author: { id: '1', name: 'Ann' },
  delivery: 'QUEUE',
  turnId: null,
  afterStop: false,
  at: '2026-01-01T00:00:00.000Z',
};

/** A server that answers each command so, and a tab whose storage outlives its pages. */
function world(outcome: Outcome<unknown>, kept = new Map<string, string>()) {
  const intend = (): Intent<unknown> => ({ key: 'k', run: () => Promise.resolve(outcome) });
  const api = { client: { intend }, signedOut: () => undefined } as unknown as Api;
  const waiting = new Waiting(api, 'w1', {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
  });
  return { waiting, kept };
}

const refused: Outcome<unknown> = {
  type: 'Rejected',
  code: 'MESSAGE_NOT_QUEUED',
  message: 'It is not there any more.',
  field: null,
  facts: { queuedMessageIds: [] },
};

it('is over once the message waits with its new text', async () => {
  const { waiting, kept } = world({ type: 'Accepted', payload: {} });
  waiting.begin(message);
  waiting.change('as it should be');
  expect(await waiting.save()).toBe(true);
  expect(waiting.edit).toBeNull();
  expect(kept.size).toBe(0);
});

it('keeps what was written when the message went out first, also over a reload (D-63)', async () => {
  const { waiting, kept } = world(refused);
  waiting.begin(message);
  waiting.change('as it should be');
  expect(await waiting.save()).toBe(false);
  expect(waiting.saving.problem?.message).toBe('It is not there any more.');
  expect(world(refused, kept).waiting.edit).toEqual({ messageId: 'm1', text: 'as it should be' });
});

it.each(['{', 'null', '{"messageId":"m1"}', '[]'])('takes %s in the storage for no edit', (stored) => {
  expect(world(refused, new Map([['weir.edit.w1', stored]])).waiting.edit).toBeNull();
});
