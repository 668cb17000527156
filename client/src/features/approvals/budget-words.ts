/** Owns: how a question about the token budget is said to a person (D-33). Pure. */
import type { BudgetQuestion } from 'schema/projection';
import { tokensInFull } from '../models/model-words.ts';

/** What is asked, as a name and what it is. `limitNow`: it may have been changed since; null: there is none any more. */
export function budgetFacts(
  { spent, limit, grant }: BudgetQuestion,
  limitNow: number | null = limit,
): readonly (readonly [name: string, value: string])[] {
  const next =
    limitNow === null
      ? 'you are not asked again, since there is no budget any more'
      : `you are asked again at ${tokensInFull(Math.max(limitNow, spent + grant))} tokens`;
  return [
    ['Spent so far', `${tokensInFull(spent)} tokens`],
    ['Limit', `${tokensInFull(limit)} tokens`],
    ['Approving allows', `${tokensInFull(grant)} more; ${next}`],
  ];
}

/** What the button does that allows it. */
export const grantWords = ({ grant }: BudgetQuestion): string => `Approve ${tokensInFull(grant)} more`;

/** What became of it, in one line. `state` and by whom, where somebody answered. */
export function budgetAnswered(
  { spent, grant }: BudgetQuestion,
  state: 'ASKING' | 'ASKED' | 'GRANTED' | 'DENIED' | 'DROPPED',
  by: string,
): string {
  switch (state) {
    case 'ASKING':
      return 'Waits for your decision';
    case 'ASKED':
      return 'Asked here; whether it was answered stands further down';
    case 'GRANTED':
      return `${tokensInFull(grant)} more tokens approved by ${by}, after ${tokensInFull(spent)}`;
    case 'DENIED':
      return `More tokens denied by ${by}, after ${tokensInFull(spent)}`;
    case 'DROPPED':
      return 'Not answered: the turn ended first';
  }
}
