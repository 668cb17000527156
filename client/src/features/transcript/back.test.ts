import type { Entry, EntryBody } from 'schema/projection';
import { expect, it } from 'vitest';
import { asideInWords, cannotGoBack, endOf, hasResults, lastSaid, talkSince } from './back.ts';

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
const nothing = { superseded: [] };

it('the last message is the last that a person sent and nobody took back', () => {
  const entries = journal(user('one'), user('two', 'STEER'), user('no', 'FEEDBACK'), user('three'));
  expect(lastSaid(entries, { superseded: [{ after: 3, through: 4 }] })).toMatchObject({ text: 'two' });
  expect(lastSaid(entries, { superseded: [{ after: 0, through: 4 }] })).toBeNull();
});

it('counts what the agent would not see any more, and nothing twice', () => {
  const entries = journal(user('one'), queue, tool, user('two'), tool);
  expect(talkSince(entries, nothing, 1)).toBe(4);
  expect(talkSince(entries, { superseded: [{ after: 2, through: 3 }] }, 1)).toBe(3);
});

it('a new try keeps results only where there are some', () => {
  expect(hasResults(journal(user('one'), tool, user('two'), cut), nothing)).toBe(false);
  expect(hasResults(journal(user('one'), tool, cut), nothing)).toBe(true);
  expect(hasResults(journal(user('one'), tool, cut), { superseded: [{ after: 1, through: 2 }] })).toBe(false);
  expect(hasResults(journal(tool), nothing)).toBe(true);
});

it('tells what was set aside last by the count that was asked about, and the rest apart', () => {
  expect(asideInWords(2, 2, ' by you')).toBe('2 entries set aside by you');
  expect(asideInWords(3, 2, ' by you')).toBe('2 entries set aside by you, one before');
  expect(asideInWords(3, 1, '')).toBe('One entry set aside, 2 before');
  expect(asideInWords(1, null, '')).toBe('One entry set aside');
});

it('knows whether the last word is an answer or waits for one', () => {
  const answer: EntryBody = {
    kind: 'ASSISTANT',
    text: 'So.',
    reasoning: '',
    calls: [],
    discarded: [],
    finish: 'STOP',
  } as unknown as EntryBody;
  expect(endOf(journal(queue), nothing)).toBe('EMPTY');
  expect(endOf(journal(user('one'), answer, queue), nothing)).toBe('ANSWERED');
  for (const last of [user('two'), tool, cut])
    expect(endOf(journal(user('one'), answer, last), nothing)).toBe('OPEN');
  expect(endOf(journal(user('one'), answer, user('two')), { superseded: [{ after: 2, through: 3 }] })).toBe(
    'ANSWERED',
  );
});

it('says why nothing can be taken back, the reason that lasts first', () => {
  expect(cannotGoBack({ busy: false, closed: false, setAside: false })).toBeNull();
  expect(cannotGoBack({ busy: true, closed: false, setAside: false })).toMatch(/stop it/);
  expect(cannotGoBack({ busy: true, closed: true, setAside: false })).toMatch(/closed/);
});
