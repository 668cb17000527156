import { expect, it } from 'vitest';
import { nextTry, persistenceSaid } from './persistence.ts';

it('says nothing when all is saved, and else how bad it is and why', () => {
  expect(persistenceSaid({ status: 'HEALTHY' })).toBeNull();
  expect(persistenceSaid({ status: 'PENDING' })?.tone).toBe('quiet');
  const nextAttemptAt = new Date(0).toISOString();
  expect(persistenceSaid({ status: 'RETRYING', nextAttemptAt, message: 'It is away.' })).toEqual({
    tone: 'wait',
    head: 'Not saved yet',
    why: 'It is away.',
  });
  expect(persistenceSaid({ status: 'CONFLICT', message: 'It refuses.' })?.head).toBe('Cannot be saved');
});

it('counts down to the next try, and not by a clock that differs or a time that is none', () => {
  const at = '2026-01-01T00:00:10.000Z';
  const before = (ms: number) => Date.parse(at) - ms;
  expect(nextTry(at, before(4_200))).toBe('Next try in 5 s.');
  expect(nextTry(at, before(0))).toBe('Trying again …');
  expect(nextTry(at, before(-3_000))).toBe('Trying again …');
  expect(nextTry(at, before(3_600_000))).toBe('It tries again soon.');
  expect(nextTry('', 0)).toBe('It tries again soon.');
});
