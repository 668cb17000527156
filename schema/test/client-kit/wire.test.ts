import { expect, it } from 'vitest';
import { knownAfter, knownOf } from '../../src/client-kit/followed.ts';
import { feedSubscription, snapshotQuery } from '../../src/client-kit/index.ts';
import { entryOf, feedItemOf, type WireEntry, type WireFeedItem } from '../../src/client-kit/wire.ts';
import type { FeedItem } from '../../src/projection/index.ts';
import { workstreamGlobalId } from '../../src/types/global-id.ts';
import { bodies } from './support/bodies.ts';
import { createInProcess, servicesOf } from './support/in-process.ts';
import { createWorld } from './support/world.ts';

const items: readonly FeedItem[] = [
  { type: 'EntriesDurable', durableThrough: 3 },
  { type: 'EpochStarted', epoch: 2, from: 3 },
  { type: 'StreamChunk', messageId: 'm1', turnId: 't1', channel: 'REASONING', offset: 2, text: '🙂' },
  { type: 'StreamReset', messageId: 'm1', reason: 'Again.' },
  { type: 'ToolOutputChunk', callId: 'c1', offset: 0, text: 'out\r\n' },
  { type: 'Notice', level: 'WARNING', code: 'RETRY', message: 'Tried again in 2 s.' },
  { type: 'PersistenceChanged', persistence: { status: 'HEALTHY' } },
  { type: 'PersistenceChanged', persistence: { status: 'PENDING' } },
  {
    type: 'PersistenceChanged',
    persistence: { status: 'RETRYING', nextAttemptAt: '2026-11-30T09:52:03.120Z', message: 'Away.' },
  },
  { type: 'PersistenceChanged', persistence: { status: 'CONFLICT', message: 'Refused.' } },
  { type: 'Synchronized', epoch: 2, revision: 4, durableThrough: 3 },
  { type: 'Heartbeat', epoch: 2, revision: 4, durableThrough: 3 },
  { type: 'SnapshotRequired', reason: 'Too far behind.' },
  { type: 'Ended', reason: 'Stopping.', resumable: true },
];

it('brings every kind of feed item through the schema unchanged', async () => {
  const transport = createInProcess({
    feed: {
      async *follow() {
        yield* items.map((item) => ({ item, cursor: 'i.1.3' }));
      },
    },
  });
  const received: unknown[] = [];
  await new Promise<void>((resolve) => {
    transport.subscribe(
      feedSubscription,
      { id: workstreamGlobalId('w1'), after: null },
      {
        next: ({ workstreamFeed }) => received.push(feedItemOf(workstreamFeed)?.item),
        end: () => {
          resolve();
        },
      },
    );
  });
  expect(received).toEqual(items);
});

it('D-58 an entry of a kind it does not know keeps its place and changes nothing else', async () => {
  const world = createWorld(() => bodies[0]!);
  world.admit();
  world.acknowledge(1);
  const transport = createInProcess(servicesOf(world));
  const answer = await transport.request(snapshotQuery, { id: workstreamGlobalId('w1'), last: 10 });
  const known = knownOf((answer.ok ? answer.data.workstream : null)!);

  const wire = {
    __typename: 'DreamEntry',
    entryId: 'e9',
    revision: 2,
    epoch: 1,
    generation: 1,
    lane: null,
    turnId: null,
    at: '2026-11-30T09:52:03.120Z',
  } as unknown as WireEntry;
  const [after, next] = knownAfter(
    known,
    { type: 'EntryAdmitted', entry: entryOf(wire), durable: true },
    'i.1.2',
  );
  expect(next).toEqual({ type: 'continue' });
  expect(after.view.base).toEqual({ ...known.view.base, revision: 2 });
  expect(after.entries.map((e) => e.revision)).toEqual([1, 2]);
});

it('skips a feed item of a kind it does not know', () => {
  expect(feedItemOf({ __typename: 'Fireworks' } as unknown as WireFeedItem)).toBeNull();
});
