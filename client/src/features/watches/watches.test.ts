import type { Answer, Failure, PolledWatch } from 'schema/client-kit';
import { expect, it, vi } from 'vitest';
import type { Api } from '../../lib/api.svelte.ts';
import type { Poll } from './poll-chart.ts';
import { AllWatches, ConditionTrial, restMs, WatchPolls, WorkstreamWatches } from './watches.svelte.ts';

type Variables = Readonly<Record<string, unknown>>;
interface Asked {
  readonly variables: Variables;
  readonly answer: (data: object) => void;
  readonly fail: () => void;
}

const lost: Failure = { type: 'Network', message: 'It cannot be reached.' };
const refusal = (code: string) => ({ type: 'Rejected', code, message: 'No.', field: null, facts: {} });

/** A server that the test is. */
function open() {
  const asked: Asked[] = [];
  const intended: Variables[] = [];
  let outcome: object = { type: 'Accepted', payload: {} };
  const api = {
    client: {
      request: (_: unknown, variables: Variables) =>
        new Promise<Answer<object>>((resolve) => {
          asked.push({
            variables,
            answer: (data) => {
              resolve({ ok: true, data });
            },
            fail: () => {
              resolve({ ok: false, failure: lost });
            },
          });
        }),
      intend: (_: unknown, input: Variables) => {
        intended.push(input);
        return { key: 'k', run: () => Promise.resolve(outcome) };
      },
    },
    explain: (failure: Failure) => (failure.type === 'Network' ? failure.message : ''),
    signedOut: () => undefined,
  } as unknown as Api;
  /** The next question, once it is asked. */
  const next = async (): Promise<Asked> => {
    await vi.waitFor(() => {
      expect(asked).not.toHaveLength(0);
    });
    return asked.shift()!;
  };
  return { api, next, intended, refuse: (code: string) => (outcome = refusal(code)) };
}

const named = (name: string): PolledWatch =>
  ({ id: `g-${name}`, watchId: name, status: 'ACTIVE', definition: { name } }) as unknown as PolledWatch;
const list = (...names: string[]) => ({ workstream: { watches: names.map(named) } });
const names = (watches: readonly PolledWatch[] | null) => watches?.map(({ watchId }) => watchId);

it('looks again soon while a poll is due or under way, for somebody may be waiting for it', () => {
  const at = Date.parse('2026-11-30T09:00:00.000Z');
  const due = (nextPollAt: string | null) => ({ nextPollAt });
  expect(restMs([due('2026-11-30T09:00:01.000Z'), due(null)], at)).toBe(5_000);
  expect(restMs([due(null), due('2026-11-30T09:00:00.000Z')], at)).toBe(1_000);
  expect(restMs(null, at)).toBe(5_000);
});

it('shows the answer to the last question, whichever comes last, and keeps it when the next one fails', async () => {
  const { api, next } = open();
  const watches = new WorkstreamWatches(api, 'ws');
  const looks = [watches.look(), watches.showEnded(true)];
  const [first, second] = [await next(), await next()];
  expect([first.variables['ended'], second.variables['ended']]).toEqual([false, true]);
  second.answer(list('a', 'old'));
  await looks[1];
  first.answer(list('a'));
  await looks[0];
  expect(names(watches.list)).toEqual(['a', 'old']);
  const third = watches.look();
  (await next()).fail();
  await third;
  expect([names(watches.list), watches.failure]).toEqual([['a', 'old'], 'It cannot be reached.']);
});

/** Those of one workstream; `told`: a look that is answered so. */
function followed() {
  const { api, next } = open();
  const watches = new WorkstreamWatches(api, 'ws');
  const told = async (...answers: object[]) => {
    const look = watches.look();
    for (const data of answers) (await next()).answer(data);
    await look;
  };
  return { watches, told };
}

it('tells of one that ended while it was shown, and why it did, until that is dismissed', async () => {
  const { watches, told } = followed();
  await told(list('a', 'b'));
  const gone = { ...named('a'), status: 'ENDED', end: 'FIRED' };
  await told(list('b'), { workstream: { watches: [named('b'), gone] } });
  expect([names(watches.list), watches.over]).toEqual([['b'], [gone]]);
  await told(list('b'));
  expect(watches.over).toEqual([gone]);
  watches.dismiss();
  await told(list('b'));
  expect(watches.over).toEqual([]);
});

it('asks again for the end of a watch that is not stored yet (broke: it was never told)', async () => {
  const { watches, told } = followed();
  await told(list('a'));
  await told(list(), list());
  expect([watches.list, watches.over]).toEqual([[], []]);
  const gone = { ...named('a'), status: 'ENDED', end: 'FIRED' };
  await told(list(), { workstream: { watches: [gone] } });
  expect(watches.over).toEqual([gone]);
  await told(list());
  expect(watches.over).toEqual([gone]);
});

it('does not tell who cancels a watch that it has ended', async () => {
  const { api, next } = open();
  const watches = new WorkstreamWatches(api, 'ws');
  const first = watches.look();
  (await next()).answer(list('a'));
  await first;
  const cancelled = watches.run(named('a'), 'cancel');
  (await next()).answer(list());
  await cancelled;
  expect([watches.list, watches.over]).toEqual([[], []]);
});

it('does one thing at a time with a watch, and knows of a second press that it was cancelled here', async () => {
  const { api, next, intended } = open();
  const watches = new WorkstreamWatches(api, 'ws');
  const first = watches.look();
  (await next()).answer(list('a'));
  await first;
  const pressed = (['cancel', 'cancel', 'pause'] as const).map((deed) => watches.run(named('a'), deed));
  (await next()).answer(list());
  expect([await Promise.all(pressed), intended.length]).toEqual([[true, false, false], 1]);
  expect([watches.list, watches.over]).toEqual([[], []]);
});

it('asks anew after each deed, and shows a refusal at the watch', async () => {
  const { api, next, intended, refuse } = open();
  const watches = new WorkstreamWatches(api, 'ws');
  const pausing = watches.run(named('a'), 'pause');
  (await next()).answer(list('a'));
  expect([await pausing, names(watches.list)]).toEqual([true, ['a']]);
  expect(intended).toEqual([{ workstreamId: 'ws', watchId: 'a' }]);
  refuse('WORKSTREAM_CLOSED');
  const running = watches.run(named('a'), 'runNow');
  (await next()).answer(list('a'));
  expect(await running).toBe(false);
  expect(watches.deeds('a').runNow.problem?.code).toBe('WORKSTREAM_CLOSED');
});

it('says of a watch that has ended meanwhile what it was, though it is gone from the list', async () => {
  const { api, next, refuse } = open();
  const watches = new WorkstreamWatches(api, 'ws');
  refuse('WATCH_NOT_FOUND');
  const resuming = watches.run(named('a'), 'resume');
  (await next()).answer(list());
  await resuming;
  expect([watches.notice, names(watches.list)]).toEqual(['“a”: No.', []]);
  expect(watches.deeds('a').resume.problem).toBeNull();
});

const page = (from: number, to: number): object => ({
  watch: {
    history: Array.from({ length: from - to + 1 }, (_, i) => ({ poll: from - i })),
    lastOutput: 'out',
  },
});
const numbers = (polls: readonly Poll[] | null) => [polls?.[0]?.poll, polls?.at(-1)?.poll, polls?.length];

it('D-86 reads older polls on demand, and keeps them when newer ones come', async () => {
  const { api, next } = open();
  const polls = new WatchPolls(api, 'g-a');
  const read = async (reading: Promise<void>, from: number, to: number) => {
    const asked = await next();
    asked.answer(page(from, to));
    await reading;
    return asked.variables['before'];
  };
  expect(await read(polls.look(), 120, 71)).toBeNull();
  expect([polls.more, polls.output]).toEqual([true, 'out']);
  expect(await read(polls.older(), 70, 21)).toBe(71);
  await read(polls.look(), 121, 72);
  expect([numbers(polls.polls), polls.more]).toEqual([[121, 21, 101], true]);
  expect(await read(polls.older(), 20, 1)).toBe(21);
  expect([numbers(polls.polls), polls.more]).toEqual([[121, 1, 121], false]);
  // There is a gap between these and those that were read.
  await read(polls.look(), 300, 251);
  expect([numbers(polls.polls), polls.more]).toEqual([[300, 251, 50], true]);
});

it('D-83 tells only what the condition asked about last would say', async () => {
  const { api, next } = open();
  const trial = new ConditionTrial(api);
  const input = { expression: 'a', watchId: null, output: null, exitCode: null, prevOutput: null };
  const trying = [trial.ask(input), trial.ask({ ...input, expression: 'b' })];
  const [first, second] = [await next(), await next()];
  second.answer({ tryWatchCondition: { verdict: 'HOLDS' } });
  await trying[1];
  first.answer({ tryWatchCondition: { verdict: 'FAILED' } });
  await trying[0];
  expect(trial.told).toMatchObject({ input: { expression: 'b' }, trial: { verdict: 'HOLDS' } });
});

it('reads all pages that are shown, and keeps what was told when one of them fails', async () => {
  const { api, next } = open();
  const all = new AllWatches(api);
  const connection = (more: boolean, ...of: string[]) => ({
    watches: {
      edges: of.map((name) => ({ node: named(name) })),
      pageInfo: { hasNextPage: more, endCursor: of.at(-1) },
    },
  });
  const figures = (due: number) => ({ server: { watches: { due } } });
  const first = all.look();
  (await next()).answer(figures(1));
  (await next()).answer(connection(true, 'a', 'b'));
  await first;
  expect([names(all.list), all.more, all.figures]).toEqual([['a', 'b'], true, { due: 1 }]);
  const second = all.showMore();
  (await next()).answer(figures(0));
  (await next()).answer(connection(true, 'a'));
  const page = await next();
  expect(page.variables['after']).toBe('a');
  page.fail();
  await second;
  expect([names(all.list), all.failure]).toEqual([['a', 'b'], 'It cannot be reached.']);
  const third = all.look();
  (await next()).answer(figures(0));
  (await next()).answer(connection(true, 'a', 'b'));
  (await next()).answer(connection(false, 'c'));
  await third;
  expect([names(all.list), all.more, all.failure]).toEqual([['a', 'b', 'c'], false, null]);
});

it('tells also of one that ended between the two questions', async () => {
  const { watches, told } = followed();
  await told(list('a', 'b'));
  const gone = (name: string) => ({ ...named(name), status: 'ENDED', end: 'FIRED' });
  await told(list('b'), { workstream: { watches: [gone('a'), gone('b')] } });
  await told(list());
  expect([names(watches.list), names(watches.over)]).toEqual([[], ['a', 'b']]);
});
