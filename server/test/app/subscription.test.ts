import type { FeedItem } from 'schema/projection';
import { beforeEach, describe, expect, it } from 'vitest';
import { createSubscription, type Pushed, type Subscription } from '../../src/app/feed/subscription.ts';
import { place } from '../core/support/world.ts';

let open: FeedItem[];
let subscription: Subscription;

beforeEach(() => {
  open = [];
  subscription = createSubscription(() => open);
});

const entry = (revision: number, text = ''): FeedItem => ({
  type: 'EntryAdmitted',
  durable: false,
  entry: place(revision, { kind: 'USER', text, author: { id: 'a', name: 'A' }, source: 'MESSAGE' }),
});
const chunk = (offset: number, text = 'x'): FeedItem => ({
  type: 'StreamChunk',
  messageId: 'm',
  turnId: 't',
  channel: 'TEXT',
  offset,
  text,
});
const reset: FeedItem = { type: 'StreamReset', messageId: 'm', reason: 'again' };

/** Everything that waits, in order. */
async function drain(): Promise<Pushed[]> {
  const items: Pushed[] = [];
  while (subscription.hasBuffered()) items.push((await subscription.next())!);
  return items;
}
/** What comes next when nothing waits: the re-base. */
const more = async (): Promise<Pushed[]> => [(await subscription.next())!, ...(await drain())];
async function beginLive(): Promise<void> {
  open = [chunk(0, 'so far')];
  subscription.goLive();
  expect(await more()).toEqual(open);
}
const types = (items: readonly Pushed[]) => [...new Set(items.map((item) => item.type))];

describe('A subscription', () => {
  it('gives items in order, and waits when there are none', async () => {
    const first = subscription.next();
    subscription.push(entry(1));
    subscription.push(entry(2));
    expect([await first, await subscription.next()]).toEqual([entry(1), entry(2)]);
  });

  it('keeps no overlay before it is live, and begins with the texts at offset 0 then (D-54)', async () => {
    subscription.push(chunk(0));
    subscription.push(entry(1));
    expect(await drain()).toEqual([entry(1)]);
    subscription.goLive();
    open = [chunk(0, 'all so far')];
    expect(await more()).toEqual([chunk(0, 'all so far')]);
    subscription.push(chunk(10, ' and on'));
    expect(await drain()).toEqual([chunk(10, ' and on')]);
  });

  it('with too many items drops overlay, never entries or resets, and re-bases at offset 0 (D-56)', async () => {
    await beginLive();
    for (let i = 0; i < 999; i += 1) subscription.push(chunk(i));
    subscription.push(reset);
    subscription.push(entry(1));
    open = [chunk(0, 'whole')];
    subscription.push(chunk(999));
    expect(await drain()).toEqual([reset, entry(1)]);
    expect(await more()).toEqual([chunk(0, 'whole')]);
    subscription.push(chunk(5));
    expect(await drain()).toEqual([chunk(5)]);
  });

  it('with too much overlay text drops it and re-bases (D-56)', async () => {
    await beginLive();
    for (let i = 0; i < 10; i += 1) subscription.push(chunk(i, 'x'.repeat(1024 * 1024)));
    open = [chunk(0, 'whole')];
    expect(types(await drain())).toEqual([]);
    expect(await more()).toEqual([chunk(0, 'whole')]);
  });

  it('whose entries alone are too many ends, resumably, and takes nothing more (D-56)', async () => {
    for (let i = 1; i <= 1_100; i += 1) subscription.push(entry(i));
    const items = await drain();
    expect(items).toMatchObject([{ type: 'Ended', resumable: true }]);
    expect(JSON.stringify(items)).toContain('too slow');
  });

  it.each([
    ['a message', { kind: 'USER', text: 'x'.repeat(1e6), author: { id: 'a', name: 'A' }, source: 'MESSAGE' }],
    [
      'a result',
      { kind: 'TOOL', callId: 'c', name: 't', outcome: 'OK', effect: 'NONE', content: 'x'.repeat(1e6) },
    ],
    [
      'a queue',
      {
        kind: 'QUEUE',
        queue: {
          items: [
            {
              id: 'q',
              text: 'x'.repeat(1e6),
              author: { id: 'a', name: 'A' },
              delivery: 'QUEUE',
              turnId: null,
              afterStop: false,
              at: '',
            },
          ],
          held: false,
        },
      },
    ],
  ] as const)('counts %s by its real size: nine of a megabyte end it (D-56)', async (_, body) => {
    for (let i = 1; i <= 10; i += 1)
      subscription.push({ type: 'EntryAdmitted', durable: false, entry: place(i, body) });
    expect(types(await drain())).toEqual(['Ended']);
  });

  it('that was read in between has its budget back', async () => {
    for (let i = 1; i <= 3_000; i += 1) {
      subscription.push(entry(i, 'x'.repeat(10_000)));
      expect(await subscription.next()).toMatchObject({ entry: { revision: i } });
    }
  });

  it('closed gives nothing more, also to who waits already', async () => {
    const waiting = subscription.next();
    subscription.close();
    subscription.push(entry(1));
    expect([await waiting, await subscription.next()]).toEqual([null, null]);
    expect(subscription.hasBuffered()).toBe(false);
  });
});
