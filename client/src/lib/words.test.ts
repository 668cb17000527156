import { expect, it } from 'vitest';
import {
  aboutModel,
  ago,
  dayWords,
  decisionWords,
  exactTime,
  minuteTime,
  questionWords,
  roundBytes,
  shortTime,
} from './words.ts';

it('says beside the name of a model what it is, and not its name again', () => {
  expect(aboutModel({ alias: 'demo', description: 'demo, not a language model' })).toBe(
    'not a language model',
  );
  expect(aboutModel({ alias: 'main', description: 'gpt-5 at api.example' })).toBe('gpt-5 at api.example');
});

it('leads to the question, and to the first when there are more', () => {
  expect([1, 3].map((count) => questionWords(count).go)).toEqual([
    'Go to the question',
    'Go to the first question',
  ]);
  expect(questionWords(3).waits).toBe('3 questions wait for your answers.');
});

it('says round counts of bytes in KiB and MiB, and others as they are', () => {
  expect(roundBytes('Of more than 262144 bytes the first part')).toBe('Of more than 256 KiB the first part');
  expect(roundBytes('At most 4194304 bytes.')).toBe('At most 4 MiB.');
  expect(roundBytes('1000000 bytes, 262145 bytes, 64 bytes')).toBe('1000000 bytes, 262145 bytes, 64 bytes');
});

it('says who decided, and on whose word nobody was asked (D-64)', () => {
  const by = { id: '7', name: 'Ann' };
  const decision = { verdict: 'APPROVED', source: 'PERSON', by, feedback: null, at: '' } as const;
  expect(decisionWords(decision, '7')).toBe('Approved by you');
  expect(decisionWords({ ...decision, verdict: 'DENIED' }, '8')).toBe('Denied by Ann');
  expect(decisionWords({ ...decision, source: 'TRUST_WORKSPACE' }, '8')).toBe(
    'Not asked: “Trust edits in the workspace” was set by Ann',
  );
});

it('writes every date in one way, whatever the browser is set to', () => {
  const at = new Date(2026, 11, 1, 4, 29, 58);
  const iso = at.toISOString();
  expect(exactTime(iso)).toBe('1 Dec 2026, 04:29:58');
  expect(minuteTime(at.getTime())).toBe('1 Dec 2026, 04:29');
  expect(shortTime(iso, at.getTime() + 60_000)).toBe('04:29');
  expect(shortTime(iso, at.getTime() + 3 * 86_400_000)).toBe('1 Dec 2026, 04:29');
  expect(ago(iso, at.getTime() + 3 * 86_400_000)).toBe('1 Dec 2026');
  expect(dayWords('2026-12-01')).toBe('1 Dec 2026');
});

it('says nothing of what is no date, and does not fail (broke: a page was not drawn)', () => {
  expect([exactTime(''), shortTime('soon', 0), ago('soon', 0), dayWords('soon'), minuteTime(NaN)]).toEqual(
    Array.from({ length: 5 }, () => ''),
  );
});
