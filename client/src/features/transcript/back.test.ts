import type { Entry, EntryBody } from 'schema/projection';
import { expect, it } from 'vitest';
import {
  asideInWords,
  cannotGoBack,
  carriedAuthor,
  endOf,
  hasResults,
  isLastSaidSummarised,
  isSummarised,
  lastSaid,
  talkSince,
} from './back.ts';

const ann = { id: 'a', name: 'Ann' };
const user = (text: string, source: 'MESSAGE' | 'STEER' | 'FEEDBACK' = 'MESSAGE'): EntryBody => ({
  kind: 'USER',
  text,
  author: ann,
  source,
});
const tool: EntryBody = {
  kind: 'TOOL',
  callId: 'c',
  name: 'shell',
  outcome: 'OK',
  effect: 'NONE',
  content: '',
};
const cut: EntryBody = { kind: 'CANCELLATION', text: 'ha', reasoning: '', reason: 'FAILED' };
const answer: EntryBody = {
  kind: 'ASSISTANT',
  text: 'So.',
  reasoning: '',
  calls: [],
  discarded: [],
  finish: 'STOP',
} as unknown as EntryBody;
const queue: EntryBody = { kind: 'QUEUE', queue: { items: [], held: false } };
const journal = (...bodies: readonly EntryBody[]): readonly Entry[] =>
  bodies.map((body, i) => ({
    id: `e${i + 1}`,
    revision: i + 1,
    epoch: 1,
    generation: 1,
    lane: null,
    turnId: null,
    at: '2026-11-30T09:52:03.120Z',
    ...body,
  }));
const nothing = { superseded: [], checkpoint: null };
const without = (after: number, through: number) => ({ ...nothing, superseded: [{ after, through }] });
/** Summarised up to there. */
const summarised = (watermark: number) => ({
  ...nothing,
  checkpoint: { id: 'c', revision: watermark + 1, watermark },
});

it('the last message is the last that a person sent and nobody took back', () => {
  const entries = journal(user('one'), user('two', 'STEER'), user('no', 'FEEDBACK'), user('three'));
  expect(lastSaid(entries, without(3, 4))).toMatchObject({ text: 'two' });
  expect(lastSaid(entries, without(0, 4))).toBeNull();
});

it('counts what the agent would not see any more, and nothing twice', () => {
  const entries = journal(user('one'), queue, tool, user('two'), tool);
  expect(talkSince(entries, nothing, 1)).toBe(4);
  expect(talkSince(entries, without(2, 3), 1)).toBe(3);
});

it('a new try keeps results only where there are some', () => {
  expect(hasResults(journal(user('one'), tool, user('two'), cut), nothing)).toBe(false);
  expect(hasResults(journal(user('one'), tool, cut), nothing)).toBe(true);
  expect(hasResults(journal(user('one'), tool, cut), without(1, 2))).toBe(false);
  expect(hasResults(journal(tool), nothing)).toBe(true);
});

it('tells what was set aside last by the count that was asked about, and the rest apart', () => {
  expect(asideInWords(2, 2, ' by you')).toBe('2 entries set aside by you');
  expect(asideInWords(3, 2, ' by you')).toBe('2 entries set aside by you, one before');
  expect(asideInWords(3, 1, '')).toBe('One entry set aside, 2 before');
  expect(asideInWords(1, null, '')).toBe('One entry set aside');
});

it('knows whether the last word is an answer or waits for one', () => {
  expect(endOf(journal(queue), nothing)).toBe('EMPTY');
  expect(endOf(journal(user('one'), answer, queue), nothing)).toBe('ANSWERED');
  for (const last of [user('two'), tool, cut])
    expect(endOf(journal(user('one'), answer, last), nothing)).toBe('OPEN');
  expect(endOf(journal(user('one'), answer, user('two')), without(2, 3))).toBe('ANSWERED');
});

it('says why nothing can be taken back, the reason that lasts first', () => {
  expect(cannotGoBack({ busy: false, closed: false, setAside: false })).toBeNull();
  expect(cannotGoBack({ busy: true, closed: false, setAside: false })).toMatch(/stop it/);
  expect(cannotGoBack({ busy: true, closed: true, setAside: false })).toMatch(/closed/);
});

/** What stands where the conversation up to `watermark` was summarised. */
const checkpoint = (watermark: number): EntryBody => ({
  kind: 'CHECKPOINT',
  summary: 's',
  watermark,
  request: { messageId: 'm1', text: 'one', author: ann },
  trigger: 'MANUAL',
  before: 9,
  after: 3,
  model: 'm',
  alias: 'm',
  context: { told: 3, counted: null, scale: 1, overhead: 0, window: null },
});

it('D-40 takes back nothing at or below the watermark, and counts neither that nor the summary', () => {
  const entries = journal(user('one'), answer, user('two'), answer, checkpoint(2), user('three'));
  const p = { ...nothing, checkpoint: { id: 'e5', revision: 5, watermark: 2 } };
  expect([1, 2, 3].map((revision) => isSummarised(p, revision))).toEqual([true, true, false]);
  expect(isSummarised(nothing, 1)).toBe(false);
  expect(talkSince(entries, p, 3)).toBe(3);
  expect(lastSaid(entries, p)).toMatchObject({ text: 'three' });
});

it('D-40 a conversation that is summarised as a whole has nothing to ask again about', () => {
  const entries = journal(user('one'), answer, checkpoint(2));
  const p = { ...nothing, checkpoint: { id: 'e3', revision: 3, watermark: 2 } };
  expect(endOf(entries, p)).toBe('EMPTY');
  expect(isLastSaidSummarised(entries, p)).toBe(true);
  expect(hasResults(entries, p)).toBe(false);
  // With the message on a page that is not loaded, nobody knows.
  expect(isLastSaidSummarised([], summarised(2))).toBe(false);
  expect(isLastSaidSummarised(journal(user('one')), nothing)).toBe(false);
});

it('D-40 ends the conversation with what was said, not with the summary of it', () => {
  const entries = journal(user('one'), answer, user('two'), answer, checkpoint(2));
  expect(endOf(entries, summarised(2))).toBe('ANSWERED');
});

it('D-12 knows who asked for what goes on, also where that message is summarised', () => {
  const entries = journal(user('one'), tool, checkpoint(1));
  const p = { ...nothing, checkpoint: { id: 'e3', revision: 3, watermark: 1 } };
  expect(carriedAuthor(entries, p)).toEqual(ann);
  expect(hasResults(entries, p)).toBe(true);
  expect(carriedAuthor(entries, nothing)).toBeNull();
});
