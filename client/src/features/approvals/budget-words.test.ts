import { expect, it } from 'vitest';
import { budgetAnswered, budgetFacts, grantWords } from './budget-words.ts';

const question = { spent: 51_234, limit: 50_000, grant: 50_000 };

it('D-33 says what is spent, where the limit is, and what approving grants', () => {
  expect(budgetFacts(question)).toEqual([
    ['Spent so far', '51,234 tokens'],
    ['Limit', '50,000 tokens'],
    ['Approving allows', '50,000 more; you are asked again at 101,234 tokens'],
  ]);
  expect(grantWords(question)).toBe('Approve 50,000 more');
});

it('D-33 says when it is asked again, also where the budget was changed since it was asked', () => {
  const allows = (limitNow: number | null) => budgetFacts(question, limitNow).at(-1)![1];
  expect(allows(200_000)).toBe('50,000 more; you are asked again at 200,000 tokens');
  expect(allows(60_000)).toBe('50,000 more; you are asked again at 101,234 tokens');
  expect(allows(null)).toBe('50,000 more; you are not asked again, since there is no budget any more');
});

it('D-33 says what became of it, and who it was', () => {
  expect(budgetAnswered(question, 'GRANTED', 'you')).toBe('50,000 more tokens approved by you, after 51,234');
  expect(budgetAnswered(question, 'DENIED', 'Bob')).toBe('More tokens denied by Bob, after 51,234');
  expect(budgetAnswered(question, 'DROPPED', '')).toMatch(/^Not answered/);
});
