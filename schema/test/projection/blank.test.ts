import { expect, it } from 'vitest';
import { isBlank } from '../../src/projection/index.ts';

it.each([
  ['nothing', ''],
  ['spaces and line ends', ' \t\n\u00a0\u0085\u2003\u2028\u3000'],
  ['controls', '\0\u0007\u001b\u009f'],
  ['zero-width characters', '\u200b\u200c\u200d\u2060\ufeff'],
  ['marks of direction', '\u061c\u200e\u202a\u202e\u2066\u2069'],
  ['soft hyphens and variation selectors', '\u00ad\ufe0f\u{e0100}'],
  ['fillers', '\u115f\u1160\u3164\uffa0\u2800'],
  ['tags and marks of annotation', '\u{e0041}\u{e007f}\ufff9\ufffb'],
])('%s: a person sees nothing', (_, text) => {
  expect([...text].filter((character) => !isBlank(character))).toEqual([]);
  expect(isBlank(text)).toBe(true);
});

it.each(['.', 'ß', '字', '👩‍👩‍👧', '\u0301', '\u06dd', '\ue000', '\ud800', '\ufffd', '\u200b\n x'])(
  'something can be seen: %j',
  (text) => {
    expect(isBlank(text)).toBe(false);
  },
);
