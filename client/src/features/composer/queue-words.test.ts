import type { QueuedMessage } from 'schema/projection';
import { expect, it } from 'vitest';
import { inOrder, queueWords } from './queue-words.ts';

const message = (id: string, delivery: QueuedMessage['delivery'] = 'QUEUE'): QueuedMessage => ({
  id,
  text: id,
  author: { id: '1', name: 'Ann' },
  delivery,
  turnId: delivery === 'STEER' ? 't' : null,
  afterStop: false,
  at: '2026-01-01T00:00:00.000Z',
});

const by = (name: string, id: string): QueuedMessage => ({ ...message(id), author: { id: name, name } });

it.each<readonly [readonly QueuedMessage[], string]>([
  [[], ''],
  [[message('a')], 'One message waits until this turn ends.'],
  [[message('a'), message('b')], '2 messages wait until this turn ends. Then they go out as one.'],
  [[message('a'), by('Bob', 'b')], '2 messages wait until this turn ends.'],
  [
    [message('a'), message('b'), by('Bob', 'c')],
    '3 messages wait until this turn ends. Then they go out as 2, those of one author as one.',
  ],
  [[message('a', 'STEER')], 'One message is said after the current step.'],
  [
    [message('a'), message('b', 'STEER'), message('c', 'STEER')],
    '2 messages are said after the current step. One message waits until this turn ends.',
  ],
])('says of each message what it waits for (D-63) %#', (items, text) => {
  const said = queueWords({ items, held: false }, false);
  expect([said.head, [said.text, said.aside].join(' ').trim()]).toEqual(['', text]);
});

it('lists first what is said first: to the running turn, then to the next', () => {
  const items = [message('a'), message('b', 'STEER'), message('c'), message('d', 'STEER')];
  expect(inOrder(items).map((item) => item.id)).toEqual(['b', 'd', 'a', 'c']);
});

it('says why a queue is held (D-63)', () => {
  expect(queueWords({ items: [message('a')], held: true }, true).text).toBe(
    'one message waits because the last turn failed. Your next message takes it along.',
  );
  expect(queueWords({ items: [message('a'), message('b')], held: true }, false).text).toBe(
    '2 messages wait because the last turn was stopped. Your next message takes them along.',
  );
});
