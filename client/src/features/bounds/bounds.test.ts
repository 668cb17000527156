import { expect, it } from 'vitest';
import {
  boundsChange,
  boundsOf,
  budgetOf,
  budgetProblem,
  chosenBounds,
  instructionsProblem,
  lengthWords,
} from './bounds.ts';

it.each([
  ['', null],
  ['  ', null],
  ['0', null],
  ['50000', 50_000],
  ['50,000', 50_000],
  ['1.000.000', 1_000_000],
  ['50 000', 50_000],
  ["50'000", 50_000],
] as const)('D-33 takes "%s" for a budget of %s', (text, value) => {
  expect(budgetOf(text)).toEqual({ ok: true, value });
});

it.each(['999', '-5000', '50k', '1.5', '5,00', '1,0000', '2147483648', 'much'])(
  'D-33 takes no "%s" for a budget, and says what to write',
  (budget) => {
    expect(budgetOf(budget).ok).toBe(false);
    expect(budgetProblem({ instructions: '', budget })).toMatchObject({
      field: 'tokenBudget',
      message: expect.stringMatching(/1,000 to .* empty for none/) as string,
    });
    expect(chosenBounds({ instructions: '', budget })).toBeNull();
  },
);

it('counts the instructions, and takes no more than fit', () => {
  const longest = 'x'.repeat(20_000);
  expect(lengthWords(longest)).toBe('20,000 of 20,000 characters');
  expect(instructionsProblem({ instructions: longest, budget: '' })).toBeNull();
  const longer = { instructions: `${longest}x`, budget: '' };
  expect(instructionsProblem(longer)?.message).toMatch(/AGENTS\.md/);
  expect(chosenBounds(longer)).toBeNull();
});

it('sets only what is other than it was, and removes what is emptied', () => {
  const set = { instructions: 'Be brief.', tokenBudget: 50_000 };
  const bounds = boundsOf(set);
  expect(boundsChange(bounds, set)).toBe('nothing');
  expect(boundsChange({ ...bounds, budget: '' }, set)).toEqual({ instructions: null, tokenBudget: 0 });
  expect(boundsChange({ ...bounds, instructions: ' \n' }, set)).toEqual({
    instructions: '',
    tokenBudget: null,
  });
  expect(boundsChange({ instructions: 'Be kind.', budget: '60000' }, set)).toEqual({
    instructions: 'Be kind.',
    tokenBudget: 60_000,
  });
  expect(boundsChange(boundsOf({}), {})).toBe('nothing');
  expect(chosenBounds({ instructions: ' ', budget: '' })).toEqual({ instructions: null, tokenBudget: null });
});
