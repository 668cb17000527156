import { expect, it } from 'vitest';
import { doesAgain } from './held-key.ts';

const held = (key: string, ctrlKey = false) => ({ key, repeat: true, ctrlKey, metaKey: false });

it('takes a held key for one press, wherever it would do something', () => {
  for (const key of ['Enter', 'Escape']) {
    expect(doesAgain(held(key), false)).toBe(true);
    expect(doesAgain({ ...held(key), repeat: false }, false)).toBe(false);
  }
  expect(doesAgain(held('Enter', true), true)).toBe(true);
  expect(doesAgain(held('Escape'), true)).toBe(true);
});

it('lets a held key write, delete, move and scroll', () => {
  expect(doesAgain(held('Enter'), true)).toBe(false);
  for (const key of ['a', 'Backspace', 'ArrowDown', 'Tab', ' '])
    expect(doesAgain(held(key), false)).toBe(false);
});
