import type { Fire, Watch } from 'schema/projection';
import { expect, it } from 'vitest';
import { watchNews } from './watch-news.ts';
import {
  aboutSpan,
  begunByWatch,
  fireFacts,
  nextWords,
  outcomeOf,
  pollsWords,
  spanWords,
  statusWords,
  tookWords,
} from './watch-words.ts';

const at = '2026-11-30T09:00:00.000Z';
const author = { id: 'a', name: 'Ann' };
const watch = (part: Partial<Watch> = {}): Watch => ({
  id: 'w1',
  version: 1,
  definition: {
    name: 'ci',
    command: 'make check',
    condition: null,
    everySeconds: 300,
    maxPolls: 100,
    deadline: null,
    repeat: false,
    instruction: null,
  },
  status: 'ACTIVE',
  pausedBy: null,
  end: null,
  author,
  depth: 1,
  createdAt: at,
  lastFire: 0,
  firesTold: 0,
  due: 'LATER',
  ...part,
});
const later = '2026-11-30T09:30:00.000Z';

it('says whether a watch polls, what paused it, and why it has ended (D-80)', () => {
  expect(
    [
      watch(),
      watch({ status: 'PAUSED', pausedBy: 'PERSON' }),
      watch({ status: 'PAUSED', pausedBy: 'CLOSED' }),
      watch({ status: 'ENDED', end: 'MAX_POLLS' }),
      watch({ status: 'ENDED', end: 'CANCELED' }),
    ].map(statusWords),
  ).toEqual([
    'Active',
    'Paused by a person',
    'Paused with the workstream',
    'Ended: its polls are used up',
    'Ended: it was cancelled',
  ]);
});

it('tells "never polled" from "never fired" (D-86)', () => {
  const { definition } = watch();
  expect(pollsWords({ polls: 0, fires: 0, definition })).toBe('Never polled, at most 100 times');
  expect(pollsWords({ polls: 3, fires: 0, definition })).toBe('3 of 100 polls, never fired');
  expect(pollsWords({ polls: 3, fires: 1, definition })).toBe('3 of 100 polls, fired once');
  expect(pollsWords({ polls: 99, fires: 2, definition })).toMatch(/fired 2 times$/);
});

it('leaves nothing of an interval out, and tells a long time in two units', () => {
  expect([10, 90, 5_400, 86_400].map(spanWords)).toEqual(['10 s', '1 min 30 s', '1 h 30 min', '24 h']);
  expect([0, 59, 3_661, 90_061, 172_800].map(aboutSpan)).toEqual([
    '0 s',
    '59 s',
    '1 h 1 min',
    '1 d 1 h',
    '2 d',
  ]);
  expect([12, 1_234, 119_600].map(tookWords)).toEqual(['12 ms', '1.2 s', '2 min']);
});

it('counts down to the next poll, and says when it is due', () => {
  const before = (ms: number) => nextWords(at, Date.parse(at) - ms);
  expect([before(40_000), before(3_599_000), before(0), before(-500), nextWords(null, 0)]).toEqual([
    'next in 40 s',
    'next in 59 min',
    'due now',
    'due now',
    null,
  ]);
});

it('tells how a poll went, a mistake before a fire', () => {
  const kind = (fired: boolean, error: string | null, exitCode: number | null) =>
    outcomeOf({ fired, error, exitCode }).kind;
  expect([
    kind(false, null, 0),
    kind(false, null, 2),
    kind(false, null, null),
    kind(true, null, 0),
    kind(true, 'No.', 0),
  ]).toEqual(['quiet', 'exit', 'exit', 'fired', 'error']);
});

const fire = (part: Partial<Fire> = {}): Fire => ({
  watchId: 'w1',
  poll: 3,
  reason: 'CONDITION',
  ended: true,
  definition: watch().definition,
  elapsedSeconds: 720,
  exitCode: 0,
  output: '',
  error: null,
  author,
  depth: 1,
  firesBefore: 0,
  skipped: 0,
  ...part,
});

it('tells where a watch was when it fired, and that a fire too far from a person starts no turn (D-85)', () => {
  expect(fireFacts(fire())).toBe('Poll 3 of 100, 12 min after it was made, exit code 0. It has ended.');
  expect(fireFacts(fire({ ended: false, exitCode: null }))).toMatch(/did not end by itself\.$/);
  expect(fireFacts(fire({ reason: 'DEADLINE', exitCode: null }))).toBe(
    'After 2 of 100 polls, 12 min after it was made. It has ended.',
  );
  expect(fireFacts(fire({ ended: false, skipped: 1 }))).toMatch(
    / 1 fire right before it is left out: too many waited\.$/,
  );
  expect(fireFacts(fire({ skipped: 1_200 }))).toMatch(
    / 1,200 fires right before it are left out: too many waited\.$/,
  );
  expect([5, 6].map((depth) => fireFacts(fire({ depth })).includes('No turn was started'))).toEqual([
    false,
    true,
  ]);
});

it('says that a watch began a turn, and how far that is from a person (D-85)', () => {
  expect([1, 5].map(begunByWatch)).toEqual([
    'A watch began this turn (depth 1 of 5)',
    'A watch began this turn (depth 5 of 5)',
  ]);
});

it('tells of each change of a watch in words', () => {
  const made = watch();
  const paused = watch({ status: 'PAUSED', pausedBy: 'PERSON', due: null });
  const news = (before: Watch | undefined, now: Watch) => watchNews(before, now, before ? later : at)?.text;
  expect(news(undefined, made)).toBe('Watch “ci” made: every 5 min, until its output changes');
  expect(news(made, paused)).toBe('Watch “ci” paused');
  expect(news(paused, watch({ due: 'NOW' }))).toBe('Watch “ci” resumed, and told to poll at once');
  expect(news(made, watch({ due: 'NOW' }))).toBe('Watch “ci” told to poll at once');
  const closed = watch({ status: 'PAUSED', pausedBy: 'CLOSED', due: null });
  expect(news(made, closed)).toBe('Watch “ci” paused with the workstream');
  expect(news(closed, watch({ due: 'NOW' }))).toBe('Watch “ci” resumed with the workstream');
  expect(news(made, watch({ status: 'ENDED', end: 'CANCELED', due: null }))).toBe('Watch “ci” cancelled');
});

it('says who edited a watch, and how it was called before', () => {
  const named = { ...watch().definition, name: 'build', condition: 'exit_code != 0', repeat: true };
  expect(watchNews(watch(), watch({ version: 2, definition: named }), later)).toEqual({
    text: 'Watch “build” edited, once “ci”: every 5 min, whenever its condition holds',
    by: author,
  });
});

it('tells nothing of what the fire beside it says', () => {
  expect(watchNews(watch(), watch({ lastFire: 3, due: null }), later)).toBeNull();
  expect(
    watchNews(watch(), watch({ lastFire: 3, status: 'ENDED', end: 'FIRED', due: null }), later),
  ).toBeNull();
});

it('takes no watch for a new one whose beginning is not loaded', () => {
  expect(watchNews(undefined, watch({ lastFire: 3, due: null }), later)).toBeNull();
  expect(watchNews(undefined, watch({ due: 'NOW' }), later)?.text).toMatch(/resumed, or told to poll/);
  expect(watchNews(undefined, watch({ version: 4 }), later)?.text).toMatch(/edited/);
});
