/**
 * Owns: the subscriptions of a real server over a real socket: wherever a feed is cut and resumed, the fold of what
 * came is what a snapshot says (D-54, D-58). Does not own: feeds over the death of a server (`e2e/specs`).
 */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { knownAfter, type Known } from '../../../schema/src/client-kit/followed.ts';
import type { Api, FeedEvent } from '../../../e2e/support/api.ts';
import { setBench, type Bench } from './support.ts';

let bench: Bench;
let api: Api;

beforeAll(async () => {
  bench = await setBench();
  ({ api } = await bench.join());
});
afterAll(() => bench.end());

const fold = (known: Known, events: readonly FeedEvent[]): Known =>
  events.reduce((k, { item, cursor }) => knownAfter(k, item, cursor)[0], known);

/** What a person sees; where the transcript begins and what was last said are no part of it. */
const shown = ({ view, entries }: Known) => ({
  projection: view.projection,
  base: view.base,
  pending: view.pending,
  overlay: view.overlay,
  epoch: view.epoch,
  entries,
});

/** Cuts the recorded feed after each event, resumes there, and compares what is then known with a snapshot. */
async function resumeEverywhere(id: string, start: Known, events: readonly FeedEvent[]): Promise<void> {
  const whole = shown(await api.snapshot(id));
  for (let cut = 0; cut <= events.length; cut++) {
    const before = fold(start, events.slice(0, cut));
    const feed = api.follow(id, before.cursor);
    const agrees = (): boolean => {
      const known = fold(before, feed.events);
      return known.view.synchronized && isDeepStrictEqual(known.view.overlay, whole.overlay);
    };
    await feed.until(
      (came) => came.some((e) => e.item.type === 'Synchronized') && agrees(),
      `resuming after event ${cut} of ${events.length}`,
    );
    feed.stop();
    expect(shown(fold(before, feed.events)), `cut after event ${cut}`).toEqual(whole);
    const again = feed.events.flatMap(({ item }) =>
      item.type === 'EntryAdmitted' ? [item.entry.revision] : [],
    );
    // Without a gap and without a repeat.
    expect(again).toEqual(
      whole.entries.map((e) => e.revision).filter((r) => r > before.view.projection.revision),
    );
  }
}

it(
  'gives, resumed at any event of a turn, what a snapshot shows: in mid-stream, in mid-command and afterwards (D-54, D-58, I5, I7)',
  { timeout: 120_000 },
  async () => {
    const id = await api.create();
    const start = await api.snapshot(id);
    bench.provider.script([
      {
        stream: [
          { reasoning: 'Hm. ' },
          'The answer 🙂 ',
          { gate: 'seen' },
          'goes on. ',
          { gate: 'half' },
          { call: { name: 'shell', arguments: { command: 'echo one; read -r never < fifo; echo two' } } },
          { call: { name: 'shell', arguments: { command: 'mkfifo fifo; echo made' } } },
        ],
      },
    ]);
    const feed = api.follow(id, start.cursor);
    await feed.until((came) => came.some((e) => e.item.type === 'Synchronized'), 'Synchronized');
    await api.send(id, 'Go on.');
    await api.waitFor(id, (v) => v.overlay.message?.text === 'The answer 🙂 ', 'the first piece');
    bench.provider.release('seen');
    await api.waitFor(id, (v) => v.overlay.message?.text === 'The answer 🙂 goes on. ', 'the second piece');
    await untilCaughtUp();
    await resumeEverywhere(id, start, feed.events.slice());

    bench.provider.release('half');
    const [reader, maker] = await api.questions(id, 2);
    await api.decide(id, maker!, 'APPROVED');
    await api.waitFor(
      id,
      (v) => v.base.batch?.calls.some((c) => c.result?.content.includes('made')) === true,
      'the fifo',
    );
    await api.decide(id, reader!, 'APPROVED');
    await api.waitFor(id, (v) => v.overlay.tools[reader!.callId]?.text === 'one\n', 'output of the command');
    await untilCaughtUp();
    await resumeEverywhere(id, start, feed.events.slice());

    await api.stop(id);
    await api.waitForState(id, 'IDLE');
    await untilCaughtUp();
    await resumeEverywhere(id, start, feed.events.slice());
    bench.provider.assertDone();

    /** The recorded feed has come as far as a snapshot taken now. */
    async function untilCaughtUp(): Promise<void> {
      const now = shown(await api.snapshot(id));
      await feed.until(
        (came) => isDeepStrictEqual(shown(fold(start, came)), now),
        `the feed to show ${JSON.stringify(now)}`,
      );
    }
  },
);

it('says once, and ends, when there is no such workstream', async () => {
  const feed = api.follow(Buffer.from('Workstream:none').toString('base64'), null);
  expect(await feed.ended).toBeNull();
  expect(feed.events.map((e) => e.item)).toEqual([
    { type: 'Ended', reason: 'WORKSTREAM_NOT_FOUND', resumable: false },
  ]);
});

it('answers a cursor of another workstream, or of nowhere, with SnapshotRequired, what is no cursor with an error, and none with silence (D-55)', async () => {
  const [one, other] = [await api.create(), await api.create()];
  const { cursor } = await api.snapshot(other);
  const [, epoch] = cursor.split('.');
  const own = (await api.snapshot(one)).cursor;
  for (const stranger of [cursor, own.replace(/\d+$/, '999')]) {
    const feed = api.follow(one, stranger);
    await feed.until(
      (came) => came.some((e) => e.item.type === 'SnapshotRequired'),
      `SnapshotRequired for ${stranger} (${epoch})`,
    );
    feed.stop();
  }
  const nonsense = api.follow(one, 'nonsense');
  expect(await nonsense.ended).toMatchObject({
    code: 'BAD_USER_INPUT',
    message: expect.stringContaining('A FeedCursor is text that this server handed out') as string,
  });
  expect(nonsense.events).toEqual([]);
});

it('tells simple clients the text alone: the open answer at offset 0, then as it is written (tokenChunks)', async () => {
  const id = await api.create();
  bench.provider.script([{ stream: ['One, ', { gate: 'one' }, 'two, ', { gate: 'two' }, 'three.'] }]);
  interface Chunk {
    readonly tokenChunks: {
      readonly __typename: string;
      readonly messageId?: string;
      readonly offset?: number;
      readonly text?: string;
      readonly workstream?: { readonly state: string };
    };
  }
  const document = /* GraphQL */ `
    subscription ($id: ID!) {
      tokenChunks(id: $id) {
        __typename
        ... on TextChunk {
          messageId
          channel
          offset
          text
        }
        ... on StateChanged {
          workstream {
            state
          }
        }
      }
    }
  `;
  const textOf = (came: readonly Chunk[]): string =>
    came.reduce(
      (text, { tokenChunks: c }) => (c.text === undefined ? text : text.slice(0, c.offset) + c.text),
      '',
    );
  await api.send(id, 'Count.');
  await api.waitFor(id, (v) => v.overlay.message?.text === 'One, ', 'the first piece');
  const late = api.subscribe<Chunk>(document, { id });
  const [first] = await late.until((came) => textOf(came) === 'One, ', 'what was open');
  expect(first!.tokenChunks.offset ?? 0).toBe(0);
  bench.provider.release('one');
  await late.until((came) => textOf(came) === 'One, two, ', 'the second piece');
  bench.provider.release('two');
  await late.until((came) => came.some((c) => c.tokenChunks.workstream?.state === 'IDLE'), 'IDLE');
  expect(textOf(late.events)).toBe('One, two, three.');
  late.stop();
  bench.provider.assertDone();
});

it('keeps a list of workstreams right: one snapshot, then changes, in order for each (workstreamStates)', async () => {
  interface Item {
    readonly workstreamStates: {
      readonly __typename: string;
      readonly workstreams?: readonly Summary[];
      readonly workstream?: Summary;
    };
  }
  interface Summary {
    readonly id: string;
    readonly title: string;
    readonly state: string;
    readonly revision: number;
  }
  const document = /* GraphQL */ `
    subscription {
      workstreamStates {
        __typename
        ... on StatesSnapshot {
          workstreams {
            ...Summary
          }
        }
        ... on StateChanged {
          workstream {
            ...Summary
          }
        }
      }
    }
    fragment Summary on WorkstreamSummary {
      id
      title
      state
      revision
    }
  `;
  const before = await api.create({ title: 'Before' });
  const states = api.subscribe<Item>(document);
  const [snapshot] = await states.until((came) => came.length > 0, 'the snapshot');
  expect(snapshot!.workstreamStates.__typename).toBe('StatesSnapshot');
  expect(snapshot!.workstreamStates.workstreams).toContainEqual(
    expect.objectContaining({ id: before, title: 'Before', state: 'IDLE' }),
  );

  bench.provider.script([
    { stream: ['I ask. ', { call: { name: 'shell', arguments: { command: 'echo hi' } } }] },
    { stream: ['Done.'] },
  ]);
  const id = await api.create({ title: 'After' });
  const seen = (came: readonly Item[]): readonly Summary[] =>
    came.flatMap(({ workstreamStates: i }) => (i.workstream?.id === id ? [i.workstream] : []));
  const last = (came: readonly Item[]) => seen(came).at(-1)?.state;
  await states.until((came) => last(came) === 'IDLE', 'the new one');
  await api.send(id, 'Ask me.');
  await states.until((came) => last(came) === 'ATTENTION', 'ATTENTION');
  const [question] = await api.questions(id);
  await api.decide(id, question!, 'APPROVED');
  await states.until((came) => last(came) === 'IDLE' && seen(came).length > 2, 'IDLE again');
  const mine = seen(states.events);
  expect(mine.map((s) => s.state)).toContain('THINKING');
  expect(mine.map((s) => s.revision)).toEqual(mine.map((s) => s.revision).toSorted((a, b) => a - b));
  states.stop();
  bench.provider.assertDone();
});
