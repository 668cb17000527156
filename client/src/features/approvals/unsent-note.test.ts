import { expect, it } from 'vitest';
import { unsentNote } from './unsent-note.ts';

it('tells a note that was not sent from one that went along with the decision', () => {
  expect(unsentNote('Not there, please.', null)).toBe('Not there, please.');
  expect(unsentNote('Not there, please.', 'Go on.')).toBe('Not there, please.');
  expect(unsentNote(' Go on.\n', 'Go on.')).toBeNull();
});

it('has nothing to say where nothing was typed', () => {
  for (const typed of [undefined, '', ' \n']) expect(unsentNote(typed, null)).toBeNull();
});
