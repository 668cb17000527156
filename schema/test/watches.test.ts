/** What a client asks about watches, and what of it reaches it. */
import { parse } from 'graphql';
import { describe, expect, it } from 'vitest';
import { createFakeServices } from '../../server/test/support/fake-services.ts';
import {
  createWeirClient,
  tryWatchConditionQuery,
  watchesQuery,
  watchFiguresQuery,
  watchQuery,
  workstreamWatchesQuery,
  type Answer,
  type ResultOf,
} from '../src/client-kit/index.ts';
import { viewOf, applyItem, emptyProjection, type Watch } from '../src/projection/index.ts';
import { refusalsOf, schema } from '../src/schema.ts';
import { watchGlobalId, workstreamGlobalId } from '../src/types/global-id.ts';
import { createInProcess, hastyPace } from './client-kit/support/in-process.ts';
import { ann, entryAt, open } from './projection/journals.ts';

const id = workstreamGlobalId('w1');
const key = 'key-00000001';

const watch = (watchId: string, over: Partial<Watch> = {}): Watch => ({
  id: watchId,
  version: 1,
  definition: {
    name: watchId,
    command: 'make',
    condition: null,
    everySeconds: 30,
    maxPolls: 100,
    deadline: null,
    repeat: false,
    instruction: null,
  },
  status: 'ACTIVE',
  pausedBy: null,
  end: null,
  author: ann,
  depth: 1,
  createdAt: '2026-11-30T09:52:03.120Z',
  lastFire: 0,
  firesTold: 0,
  due: 'LATER',
  ...over,
});

function begin(...watches: readonly Watch[]) {
  const fake = createFakeServices();
  const entries = [entryAt(1, open), ...watches.map((w, i) => entryAt(i + 2, { kind: 'WATCH', watch: w }))];
  fake.workstreams.set('w1', { id: 'w1', entries, durableThrough: entries.length });
  const transport = createInProcess(fake.services);
  const ask = async (source: string, variables: object = {}) =>
    transport.request<unknown, object>(parse(source), variables);
  return { ...fake, transport, ask };
}

const failing = (message: unknown) => ({
  ok: false,
  failure: { code: 'BAD_USER_INPUT', message: expect.stringMatching(message as string) as unknown },
});

describe('The watches of a workstream', () => {
  it('are in its fold until they have ended (D-58, D-80)', () => {
    const [first, other] = [watch('a'), watch('b', { status: 'PAUSED', pausedBy: 'PERSON' })];
    const fired = { ...first, lastFire: 3, due: null };
    const gone = watch('b', { status: 'ENDED', end: 'CANCELED', due: null });
    const steps = [[first], [first, other], [fired, other], [fired]];
    let view = viewOf(emptyProjection, [], 1);
    [first, other, fired, gone].forEach((w, i) => {
      [view] = applyItem(view, {
        type: 'EntryAdmitted',
        entry: entryAt(i + 1, { kind: 'WATCH', watch: w }),
        durable: true,
      });
      expect(view.base.watches).toEqual(steps[i]);
    });
  });

  it('are priced by how many there may be, also of those that have ended', () => {
    const refused = (ended: boolean) =>
      refusalsOf(
        {
          schema,
          document: parse(
            'query ($ids: [ID!]!, $ended: Boolean) { nodes(ids: $ids) { ... on Workstream { watches(ended: $ended) { ' +
              'id watchId version status createdAt polls fires nextPollAt lastPollAt lastExitCode lastError lastOutput ' +
              'definition { name command condition everySeconds maxPolls deadline repeat instruction } } } } }',
          ),
          variableValues: { ids: Array.from({ length: 200 }, () => id), ended },
        },
        {},
      ).map(({ extensions }) => extensions['code']);
    expect([refused(false), refused(true)]).toEqual([[], ['OPERATION_TOO_LARGE']]);
  });

  it('are told with how their polls go, and their polls with them (D-86)', async () => {
    const { transport, calls } = begin(watch('a'));
    expect(await transport.request(workstreamWatchesQuery, { id, ended: true })).toMatchObject({
      data: {
        workstream: {
          watches: [
            {
              id: watchGlobalId('a'),
              watchId: 'a',
              workstreamId: id,
              definition: { everySeconds: 30 },
              polls: 4,
              fires: 1,
            },
          ],
        },
      },
    });
    expect(calls.at(-1)?.input).toEqual({ workstreamId: 'w1', ended: true });
    expect(
      await transport.request(watchQuery, { id: watchGlobalId('a'), first: 200, before: 5 }),
    ).toMatchObject({
      data: { watch: { lastOutput: 'done\n', history: [{ poll: 4, durationMs: 12, fired: true }] } },
    });
    expect(calls.at(-1)?.input).toEqual({ watchId: 'a', first: 200, before: 5 });
  });

  it('are found by their global ids, and nothing by any other', async () => {
    const { ask } = begin(watch('a'));
    const ids = [
      watchGlobalId('a'),
      watchGlobalId('b'),
      id,
      'a',
      Buffer.from('Watch:a b').toString('base64url'),
    ];
    expect(
      await ask('query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on Watch { watchId } } }', {
        ids,
      }),
    ).toMatchObject({
      data: {
        nodes: [
          { __typename: 'Watch', id: ids[0], watchId: 'a' },
          null,
          { __typename: 'Workstream' },
          null,
          null,
        ],
      },
    });
    expect(await ask(`{ a: watch(id: "${id}") { id } b: watch(id: "a") { id } }`)).toMatchObject({
      data: { a: null, b: null },
    });
  });
});

describe('The watches of all workstreams', () => {
  it('are paged, the newest first, each once', async () => {
    const { transport } = begin(watch('a'), watch('b'), watch('c'));
    const seen: string[] = [];
    let after: string | null = null;
    do {
      const answer: Answer<ResultOf<typeof watchesQuery>> = await transport.request(watchesQuery, {
        first: 2,
        after,
      });
      if (!answer.ok) throw new Error('It was not answered.');
      const { edges, pageInfo }: ResultOf<typeof watchesQuery>['watches'] = answer.data.watches;
      seen.push(...edges.map(({ node }) => node.watchId));
      after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
    } while (after !== null);
    expect(seen).toEqual(['c', 'b', 'a']);
  });

  it.each([
    [{}, { workstreamId: null, ended: false }],
    [{ ended: true }, { workstreamId: null, ended: true }],
    [
      { workstreamId: id, ended: true },
      { workstreamId: 'w1', ended: true },
    ],
    // Of a text that is the id of nothing there is nothing, never all.
    [{ workstreamId: 'nothing' }, { workstreamId: '', ended: false }],
  ])('are asked for by %o', async (filter, asked) => {
    const { transport, calls } = begin();
    await transport.request(watchesQuery, { first: 5, filter });
    expect(calls.at(-1)?.input).toEqual({ ...asked, first: 5, after: null });
  });

  it.each([
    ['too many', { first: 201 }, '200'],
    ['a cursor of another list', { first: 5, after: 'x' }, 'cursor'],
  ])('are not told when that is asked for: %s', async (_name, variables, message) => {
    const { transport, calls } = begin();
    expect(await transport.request(watchesQuery, variables)).toMatchObject(failing(message));
    expect(calls).toEqual([]);
  });

  it('are counted by the server', async () => {
    expect(await begin().transport.request(watchFiguresQuery, {})).toMatchObject({
      data: {
        server: {
          watches: {
            due: 1,
            running: 2,
            late: 3,
            polls: 4,
            fires: 5,
            errors: 6,
            lateP99Ms: null,
            waiting: 7,
          },
        },
      },
    });
  });
});

describe('A condition (D-83)', () => {
  it.each([
    [{ expression: 'changed' }, { watchId: null, sample: null }],
    [
      { expression: 'changed', watchId: 'a' },
      { watchId: 'a', sample: null },
    ],
    [
      { expression: 'changed', output: '' },
      { watchId: null, sample: { output: '', exitCode: 0, prevOutput: null } },
    ],
    [
      { expression: 'changed', output: 'x', exitCode: 3, prevOutput: '' },
      { watchId: null, sample: { output: 'x', exitCode: 3, prevOutput: '' } },
    ],
  ])('is tried as asked: %o', async (input, asked) => {
    const { transport, calls } = begin();
    expect(await transport.request(tryWatchConditionQuery, { input })).toMatchObject({
      data: { tryWatchCondition: { soundness: 'SOUND', verdict: 'HOLDS' } },
    });
    expect(calls.at(-1)?.input).toEqual({ expression: 'changed', ...asked });
  });

  it('says where it is wrong', async () => {
    expect(
      await begin().transport.request(tryWatchConditionQuery, { input: { expression: '1 +' } }),
    ).toMatchObject({
      data: {
        tryWatchCondition: {
          soundness: 'UNSOUND',
          line: 1,
          column: 4,
          verdict: null,
          message: 'Something is missing.',
        },
      },
    });
  });

  it.each([
    ['by two outputs', { watchId: 'a', output: 'x' }, 'not both'],
    ['by an exit code alone', { exitCode: 1 }, 'come with'],
    ['by an earlier output alone', { prevOutput: 'x' }, 'come with'],
    ['by an output that no watch has', { output: 'x'.repeat(65_537) }, '65536'],
    ['when it is longer than any', { expression: 'x'.repeat(4_001) }, '4000'],
  ])('is not tried %s', async (_name, input, message) => {
    const { transport, calls } = begin();
    expect(
      await transport.request(tryWatchConditionQuery, { input: { expression: 'changed', ...input } }),
    ).toMatchObject(failing(message));
    expect(calls).toEqual([]);
  });
});

describe('A client', () => {
  const client = (fake: ReturnType<typeof begin>) =>
    createWeirClient({ url: 'http://nowhere', token: key, transport: fake.transport, pace: hastyPace() });

  it('gets the watch of the fold for a command to it', async () => {
    const known = watch('a', { version: 3 });
    const fake = begin(known);
    const { watches } = client(fake);
    for (const done of [
      await watches.update(id, known, { every: '1m' }),
      await watches.pause(id, 'a'),
      await watches.resume(id, 'a'),
      await watches.runNow(id, 'a'),
      await watches.cancel(id, 'a'),
    ])
      expect(done).toEqual({ type: 'Accepted', payload: known });
    expect(fake.calls.map(({ verb }) => verb)).toEqual([
      'updateWatch',
      'pauseWatch',
      'resumeWatch',
      'runWatchNow',
      'cancelWatch',
    ]);
    expect(fake.calls[0]!.input).toMatchObject({ watchId: 'a', version: 3, every: '1m', name: null });
  });

  it('is told the facts of a refusal, at once (D-11)', async () => {
    const fake = begin(watch('a'));
    const { watches } = client(fake);
    expect(await watches.create(id, { command: 'make', every: '5m' })).toMatchObject({
      type: 'Rejected',
      code: 'WATCH_LIMIT',
      facts: { capacity: 5 },
    });
    expect(await watches.cancel(id, 'b')).toMatchObject({
      code: 'WATCH_NOT_FOUND',
      facts: { watchIds: ['a'] },
    });
    expect(fake.calls).toHaveLength(2);
  });
});
