/** What is shown of a question around a place of history. */
import { expect, it } from 'vitest';
import { asItWas } from './around.svelte.ts';
import { asks, type Block, type BudgetBlock, type CallBlock } from './blocks.ts';

it.each(['call', 'budget'] as const)(
  'a %s that was asked about is not asked about anew where history is shown: it may be answered further down (broke: the budget was)',
  (type) => {
    const asking = { type, state: 'ASKING' } as CallBlock | BudgetBlock;
    expect([asks(asking), asks(asItWas(asking))]).toEqual([true, false]);
    const granted = { type, state: 'GRANTED' } as unknown as Block;
    expect(asItWas(granted)).toBe(granted);
  },
);
