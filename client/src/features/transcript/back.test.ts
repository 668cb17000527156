import type { Entry, EntryBody } from 'schema/projection';
import { expect, it } from 'vitest';
import { cannotGoBack, hasResults, lastSaid, talkSince } from './back.ts';

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

it('says why nothing can be taken back, the reason that lasts first', () => {
  expect(cannotGoBack({ busy: false, closed: false, setAside: false })).toBeNull();
  expect(cannotGoBack({ busy: true, closed: false, setAside: false })).toMatch(/stop it/);
  expect(cannotGoBack({ busy: true, closed: true, setAside: false })).toMatch(/closed/);
});
