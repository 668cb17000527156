import { expect, it } from 'vitest';
import { lengthWarning, plainParts } from './plain.ts';

it('shows a short command as it is, a few empty lines included', () => {
  expect(plainParts('ls\n\n\npwd')).toEqual([{ kind: 'text', text: 'ls\n\n\npwd' }]);
  expect(lengthWarning('ls\npwd')).toBeNull();
});

it('tells a run of empty lines as a number, so that no tail hides below it', () => {
  const body = `ls${'\n'.repeat(5_001)}touch HIDDEN`;
  expect(plainParts(body)).toEqual([
    { kind: 'text', text: 'ls' },
    { kind: 'empty', count: 5_000 },
    { kind: 'text', text: 'touch HIDDEN' },
  ]);
  expect(lengthWarning(body)).toMatch(/^5,002 lines, /);
});

it('takes lines of spaces for empty, and says so also at the end', () => {
  expect(plainParts('ls\n \n\t\n  \n')).toEqual([
    { kind: 'text', text: 'ls' },
    { kind: 'empty', count: 4 },
  ]);
});

it('warns of one long line too', () => {
  expect(lengthWarning(`ls ${' '.repeat(3_000)}; rm x`)).toMatch(/^1 line, 3,009 characters/);
});
