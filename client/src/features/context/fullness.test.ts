import type { ContextMark } from 'schema/projection';
import { expect, it } from 'vitest';
import { fullnessOf } from './fullness.ts';

/** As a provider counted it, unless something came since. */
const mark = (tokens: number, since = 0): ContextMark => ({
  told: 100 + since,
  counted: { tokens, told: 100 },
  scale: 2,
  overhead: 50,
  window: 32_000,
});

it('D-39 says how much of the window is used, in short and in full', () => {
  const said = fullnessOf(mark(12_400), null);
  expect([said.amount, said.share, said.warning]).toEqual(['12.4k of 32k', '39 %', '']);
  expect(said.long).toBe('12,400 of 32,000 tokens, 39 %');
});

it('D-39 says "about" while a part is estimated', () => {
  const said = fullnessOf(mark(12_400, 10), null);
  expect([said.amount, said.used]).toEqual(['about 12.4k of 32k', 12_420]);
  expect(said.long).toMatch(/^about 12,420 of/);
  // By the measure of the model, also where it has counted nothing yet.
  expect(fullnessOf({ ...mark(0), counted: null }, null).amount).toBe('about 300 of 32k');
});

it('D-39 warns in words above 80 % and not at it, and says when it does not fit', () => {
  const warningAt = (tokens: number) => fullnessOf(mark(tokens), null).warning;
  expect([25_600, 25_601, 32_000, 32_001].map(warningAt)).toEqual([
    '',
    'nearly full',
    'nearly full',
    'does not fit',
  ]);
  expect(fullnessOf(mark(26_000), null).long).toBe('26,000 of 32,000 tokens, 81 %: nearly full');
});

it('tells no share of a window that is not known, and takes the one that is set up before the first answer', () => {
  const unknown = { ...mark(90_000), window: null };
  const said = fullnessOf(unknown, null);
  expect([said.amount, said.share, said.state]).toEqual(['90k', '', 'CALM']);
  expect(said.long).toMatch(/is not known$/);
  expect(fullnessOf(unknown, 100_000)).toMatchObject({ share: '90 %', state: 'FULL' });
  expect(fullnessOf(mark(16_000), 100_000).share).toBe('50 %');
});

it('counts both sides of a window in the same unit', () => {
  expect(fullnessOf({ ...mark(16_384), window: 32_768 }, null).amount).toBe('16k of 32k');
});

it('says that nothing was said yet rather than that nothing is used', () => {
  const fresh: ContextMark = { told: 0, counted: null, scale: 1, overhead: 0, window: null };
  expect(fullnessOf(fresh, 32_000)).toMatchObject({ state: 'NOTHING', amount: 'empty' });
});
