import { expect, it } from 'vitest';
import { pointedAt, trialSaid, type Trial } from './trial-words.ts';

const trial = (part: Partial<Trial>): Trial => ({
  soundness: 'SOUND',
  line: null,
  column: null,
  verdict: null,
  message: null,
  ...part,
});

it('D-83 says whether it would fire, and why not where that can be told', () => {
  const head = (part: Partial<Trial>) => trialSaid(trial(part), false).head;
  expect(head({ verdict: 'HOLDS' })).toMatch(/^HOLDS/);
  expect(head({ verdict: 'HOLDS_NOT' })).toMatch(/^Does not hold/);
  expect(trialSaid(trial({ verdict: 'FAILED', message: 'It is no JSON.' }), false)).toMatchObject({
    tone: 'bad',
    why: 'It is no JSON.',
  });
  expect(trialSaid(trial({}), false).why).toMatch(/no output to judge it by/);
  expect(trialSaid(trial({ verdict: 'HOLDS_NOT' }), true).why).toMatch(/Without a condition/);
});

it('D-83 names the place that is wrong', () => {
  const unsound = trial({ soundness: 'UNSOUND', line: 1, column: 11, message: 'Write `&&`.' });
  expect(trialSaid(unsound, false)).toEqual({
    tone: 'bad',
    head: 'It is wrong in line 1, column 11',
    why: 'Write `&&`.',
  });
  expect(trialSaid({ ...unsound, line: 1, column: null }, false).head).toBe('It is wrong in line 1');
});

it('points at the character in its line, and behind the line where something is missing', () => {
  expect(pointedAt('exit_code and', 1, 11)).toEqual({ before: 'exit_code ', at: 'a', after: 'nd' });
  expect(pointedAt('a &&\nb ==', 2, 5)).toEqual({ before: 'b ==', at: ' ', after: '' });
  expect(pointedAt('"😀" == x', 1, 2)).toEqual({ before: '"', at: '😀', after: '" == x' });
  expect([pointedAt('a', 1, null), pointedAt('a', null, null), pointedAt('a', 3, 1)]).toEqual([
    null,
    null,
    null,
  ]);
});
