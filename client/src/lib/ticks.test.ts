import { expect, it } from 'vitest';
import { ticked } from './ticks.ts';

it('parts what is code from what is said, and loses nothing but the backticks', () => {
  expect(ticked('CEL does not know `and`: write `&&`.')).toEqual([
    { text: 'CEL does not know ', code: false },
    { text: 'and', code: true },
    { text: ': write ', code: false },
    { text: '&&', code: true },
    { text: '.', code: false },
  ]);
  expect(ticked('`a` b')).toEqual([
    { text: 'a', code: true },
    { text: ' b', code: false },
  ]);
});

it('leaves a backtick alone that has no other in its line', () => {
  const odd = 'One ` alone\nand another `';
  expect(ticked(odd)).toEqual([{ text: odd, code: false }]);
  expect(ticked('')).toEqual([]);
});
