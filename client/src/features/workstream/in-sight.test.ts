import { expect, it } from 'vitest';
import { isBeforeEyes } from './in-sight.ts';

it.each([
  ['whole', 240, 240, 844, true],
  ['cut off at its buttons', 240, 190, 844, false],
  ['too long for the window, with much of it to be seen', 2_000, 320, 844, true],
  ['too long for the window, of which only the end is seen', 2_000, 100, 844, false],
  ['as much as a low window has room for', 240, 140, 390, true],
  ['scrolled away', 240, 0, 844, false],
  ['not drawn', 0, 0, 844, false],
])('tells a question that is before the eyes from one that is not: %s', (_, height, shown, window, is) => {
  expect(isBeforeEyes(height, shown, window)).toBe(is);
});
