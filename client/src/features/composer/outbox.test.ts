import type { Outcome } from 'schema/client-kit';
import { expect, it, vi } from 'vitest';
import { Kept } from '../../lib/kept.ts';
import { memoryTab } from '../../lib/memory-tab.ts';
import { Outbox } from './outbox.svelte.ts';
import type { Message } from './outgoing.ts';

type Answer = Outcome<unknown>;

const accepted: Answer = { type: 'Accepted', payload: {} };
const failed: Answer = { type: 'Failed', message: 'The server cannot be reached.', failure: null };
const refused: Answer = {
  type: 'Rejected',
  code: 'QUEUE_FULL',
  message: 'The queue is full.',
  field: null,
  facts: { capacity: 20 },
};

/** A server that answers when the test says so, and a tab whose storage outlives its pages. */
function world(kept = new Map<string, string>(), author = 'me', room = Infinity) {
  const asked: { readonly message: Message; answer(outcome: Answer): void }[] = [];
  const signedOut: string[] = [];
  const outbox = new Outbox(
    {
      kept: new Kept(memoryTab(kept, room), author),
      intend: (message) => ({
        key: message.key,
        run: () => new Promise((answer) => asked.push({ message, answer })),
      }),
      signedOut: (reason) => signedOut.push(reason),
    },
    'w1',
  );
  const say = (text: string) => {
    outbox.text = text;
    outbox.send();
  };
  /** Answers the nth message that was asked for, once it was. */
  const answer = async (nth: number, outcome: Answer) => {
    await vi.waitUntil(() => asked.length > nth);
    asked[nth]!.answer(outcome);
  };
  const texts = () => asked.map(({ message }) => message.text);
  const keys = () => asked.map(({ message }) => message.key);
  return { outbox, kept, asked, say, answer, texts, keys, signedOut };
}

it('takes the text at once, and sends one message after the other, each under a key of its own', async () => {
  const { outbox, kept, say, answer, texts, keys } = world();
  say('one');
  expect(outbox.text).toBe('');
  say('two');
  outbox.text = 'thr';
  expect(texts()).toEqual(['one']);
  expect(outbox.sending.map((message) => message.text)).toEqual(['one', 'two']);
  await answer(0, accepted);
  await answer(1, accepted);
  await vi.waitUntil(() => outbox.sending.length === 0);
  expect(texts()).toEqual(['one', 'two']);
  expect(new Set(keys()).size).toBe(2);
  expect(outbox.text).toBe('thr');
  outbox.text = '';
  expect(kept.size).toBe(0);
});

it('puts back what failed, with all behind it and the reason, and repeats it under its key (D-60)', async () => {
  const { outbox, say, answer, texts, keys } = world();
  say('one');
  say('two');
  outbox.text = 'three';
  await answer(0, failed);
  await vi.waitUntil(() => outbox.sending.length === 0);
  expect(outbox.text).toBe('one\n\ntwo\n\nthree');
  expect(outbox.problem).toMatchObject({ message: 'The server cannot be reached.', unsettled: true });
  expect(outbox.messages).toBe(3);
  expect(texts()).toEqual(['one']);

  outbox.text += '!';
  expect(outbox.problem).not.toBeNull();
  outbox.send();
  expect([outbox.text, outbox.problem]).toEqual(['', null]);
  for (const nth of [1, 2, 3]) await answer(nth, accepted);
  await vi.waitUntil(() => outbox.sending.length === 0);
  expect(texts()).toEqual(['one', 'one', 'two', 'three!']);
  expect(keys()[1]).toBe(keys()[0]);
  expect(new Set(keys()).size).toBe(3);
});

it('a refused message comes back with the reason, and is tried again under another key', async () => {
  const { outbox, say, answer, keys } = world();
  say('one');
  await answer(0, refused);
  await vi.waitUntil(() => outbox.text === 'one');
  expect(outbox.problem).toMatchObject({ code: 'QUEUE_FULL', unsettled: false });
  outbox.text = 'one, changed';
  expect(outbox.problem).toBeNull();
  outbox.text = 'one';
  outbox.send();
  await answer(1, accepted);
  await vi.waitUntil(() => outbox.sending.length === 0);
  expect(keys()[1]).not.toBe(keys()[0]);
});

it('goes on after a reload under the same keys and before what is written next, without asking who is there (D-60)', async () => {
  const before = world();
  before.say('one');
  before.say('two');
  before.outbox.text = 'thr';
  before.outbox.stop();
  await before.answer(0, accepted);

  const after = world(before.kept);
  expect(after.texts()).toEqual(['one']);
  expect(after.outbox.text).toBe('thr');
  after.say('three');
  expect(after.outbox.sending.map((message) => message.text)).toEqual(['one', 'two', 'three']);
  after.outbox.stop();

  const { outbox, answer, texts, keys } = world(after.kept);
  expect(outbox.problem).toBeNull();
  const kept = outbox.sending.map((message) => message.key);
  for (const nth of [0, 1, 2]) await answer(nth, accepted);
  await vi.waitUntil(() => outbox.sending.length === 0);
  expect(texts()).toEqual(['one', 'two', 'three']);
  expect(keys()).toEqual(kept);
  expect(keys()[0]).toBe(before.keys()[0]);
  expect(outbox.text).toBe('');
});

it('neither shows nor sends what was written under another token, and goes on with it when that one is back (D-12, D-60)', async () => {
  const before = world();
  before.say('one');
  before.outbox.text = 'tw';
  before.outbox.stop();
  const other = world(before.kept, 'somebody else');
  expect([other.outbox.text, other.outbox.sending, other.texts()]).toEqual(['', [], []]);
  other.say('of somebody else');
  other.outbox.stop();

  const again = world(before.kept);
  expect(again.outbox.text).toBe('tw');
  await again.answer(0, accepted);
  await vi.waitUntil(() => again.outbox.sending.length === 0);
  expect(again.texts()).toEqual(['one']);
  expect(again.keys()).toEqual(before.keys());
});

it('is kept when the token is not accepted any more', async () => {
  const { say, answer, kept, signedOut } = world();
  say('one');
  const failure = { type: 'Unauthenticated', message: 'Revoked.' } as const;
  await answer(0, { type: 'Failed', message: 'Revoked.', failure });
  await vi.waitUntil(() => signedOut.length === 1);
  expect(world(kept).outbox.text).toBe('one');
});

it('takes and sends what the browser has no room for, and says for how long it is not kept', async () => {
  const { outbox, say, answer, texts } = world(new Map(), 'me', 200);
  say('one');
  expect(outbox.kept).toBe(true);
  say('two'.repeat(100));
  expect(outbox.kept).toBe(false);
  expect(outbox.sending).toHaveLength(2);
  await answer(0, accepted);
  await answer(1, accepted);
  await vi.waitUntil(() => outbox.sending.length === 0);
  expect(texts()).toEqual(['one', 'two'.repeat(100)]);
  expect(outbox.kept).toBe(true);
});

it('gives back what came too late to steer, and sends it on its own the next time, under another key (D-62, D-63)', async () => {
  const { outbox, asked, answer, texts, keys } = world();
  const sentence = 'That turn is over.';
  outbox.text = 'left';
  outbox.send('t1');
  outbox.text = 'and up';
  outbox.send('t1');
  await answer(0, {
    type: 'Rejected',
    code: 'STALE_TURN',
    message: sentence,
    field: null,
    facts: { currentTurnId: null },
  });
  await vi.waitUntil(() => outbox.problem !== null);
  expect(outbox.problem?.message).toBe(sentence);
  expect(outbox.text).toBe('left\n\nand up');
  outbox.send();
  for (const nth of [1, 2]) await answer(nth, accepted);
  await vi.waitUntil(() => outbox.sending.length === 0);
  expect(texts()).toEqual(['left', 'left', 'and up']);
  expect(asked.map(({ message }) => message.steers)).toEqual(['t1', null, null]);
  expect(keys()[1]).not.toBe(keys()[0]);
});

it('says again to the same turn what may have been said to it, whatever button is pressed then (D-60)', async () => {
  const { outbox, asked, answer, keys } = world();
  outbox.text = 'left';
  outbox.send('t1');
  await answer(0, failed);
  await vi.waitUntil(() => outbox.problem !== null);
  outbox.send();
  await answer(1, accepted);
  await vi.waitUntil(() => outbox.sending.length === 0);
  expect(asked.map(({ message }) => message.steers)).toEqual(['t1', 't1']);
  expect(keys()[1]).toBe(keys()[0]);
});
