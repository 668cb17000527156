import type { Intent, Outcome } from 'schema/client-kit';
import type { QueuedMessage } from 'schema/projection';
import { expect, it } from 'vitest';
import type { Api } from '../../lib/api.svelte.ts';
import { Kept } from '../../lib/kept.ts';
import { memoryTab } from '../../lib/memory-tab.ts';
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
function world(outcome: Outcome<unknown>, kept = new Map<string, string>(), author = 'aa') {
  const intend = (): Intent<unknown> => ({ key: 'k', run: () => Promise.resolve(outcome) });
  const api = { client: { intend }, signedOut: () => undefined } as unknown as Api;
  const waiting = new Waiting(api, 'w1', new Kept(memoryTab(kept), author));
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

it('has no edit in hand that was written under another token (D-12)', () => {
  const { waiting, kept } = world(refused);
  waiting.begin(message);
  expect(world(refused, kept, 'bb').waiting.edit).toBeNull();
  expect(world(refused, kept).waiting.edit).toEqual({ messageId: 'm1', text: 'as it was' });
});

it.each(['{', 'null', '{"messageId":"m1"}', '[]'])('takes %s in the storage for no edit', (stored) => {
  const { waiting, kept } = world(refused);
  waiting.begin(message);
  expect(world(refused, kept).waiting.edit).not.toBeNull();
  for (const key of kept.keys()) kept.set(key, stored);
  expect(world(refused, kept).waiting.edit).toBeNull();
});
