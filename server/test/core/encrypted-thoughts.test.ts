/** Owns: how full the context is where thoughts are told again that only their model can read (D-39). */
import { usedOf } from 'schema/projection';
import { expect, it } from 'vitest';
import { thoughtsOf } from '../../src/core/context/tokens.ts';
import { contextOf } from '../../src/core/workstream/state.ts';
import { all } from './support/telling.ts';
import { createWorld } from './support/world.ts';

const thought = 3_000;
const native = {
  alias: 'demo',
  model: 'demo',
  dialect: 'RESPONSES',
  parts: [{ type: 'reasoning', encrypted_content: 'x'.repeat(4 * thought) }],
} as const;

interface Thought {
  readonly reasoning: string;
  readonly native?: typeof native;
  readonly reasoningTokens?: number;
}

it.each([
  ['as they are shown', { reasoning: 'The journal says what it says and no more. '.repeat(thought / 9) }],
  ['that nobody else can read', { reasoning: '', native }],
  [
    'that nobody else can read, and that are counted as nothing',
    { reasoning: '', native, reasoningTokens: 0 },
  ],
] as const)(
  'thoughts %s are counted while they are told again, and no more once the provider drops them (broke: its right counts were refused, and history summarised for nothing)',
  (_, { reasoningTokens = thought, ...thoughts }: Thought) => {
    const w = createWorld();
    w.provider = { window: 64_000, overhead: 200, factor: 1, counts: 'NOTHING' };
    let plain = 210;
    const exchange = (counted: number): number => {
      w.send('Go on.');
      w.store();
      const usage = { inputTokens: counted, outputTokens: reasoningTokens + 10, reasoningTokens };
      w.answer({ text: 'Yes.', ...thoughts, usage });
      w.store();
      plain += 18;
      return usedOf(contextOf(w.state));
    };
    const told = Array.from({ length: 10 }, (_, i) => exchange(plain + i * thought));
    expect(told.at(-1)).toBeGreaterThan(9.9 * thought);
    const dropped = Array.from({ length: 6 }, () => exchange(plain));
    for (const used of dropped) expect(used).toBeLessThan(3 * thought);
    expect(all(w, 'CHECKPOINT')).toEqual([]);
  },
);

it('thoughts that are counted as more than what is told again can hold fill no window (broke: one wrong count had history summarised)', () => {
  const w = createWorld();
  w.provider = { window: 64_000, overhead: 200, factor: 1, counts: 'NOTHING' };
  let read = 210;
  const exchange = (claimed: number): number => {
    w.send('Go on.');
    w.store();
    const usage = { inputTokens: read, outputTokens: claimed + 10, reasoningTokens: claimed };
    w.answer({ text: 'Yes.', reasoning: '', native, usage });
    w.store();
    read += thought + 18;
    return usedOf(contextOf(w.state));
  };
  for (let i = 0; i < 3; i += 1) exchange(thought);
  for (const claimed of [100_000, 500_000, 2_000_000_000])
    expect(exchange(claimed)).toBeLessThan(read + 2 * thought);
  expect(all(w, 'CHECKPOINT')).toEqual([]);
});

it('thoughts that only their model can read are as long as that is, where nobody counted them, and at most twice as long', () => {
  const of = (reasoningTokens?: number): number =>
    thoughtsOf({
      reasoning: '',
      native,
      usage: { inputTokens: 1, outputTokens: 1, ...(reasoningTokens !== undefined && { reasoningTokens }) },
    });
  expect(of()).toBeLessThan(1.01 * thought);
  expect([of(0), of(thought - 5)]).toEqual([of(), thought - 5]);
  expect(of(1e9)).toBeLessThan(2.01 * thought);
});

it('thoughts are weighed however many values stand in them (broke: more than the stack takes as arguments failed the step)', () => {
  // The wire keeps 131,000 of one part, where the stack of a server took some 125,000; that of a test takes more.
  const part = {
    type: 'reasoning',
    encrypted_content: 'x'.repeat(40),
    more: Array<number>(1_000_000).fill(0),
  };
  expect(thoughtsOf({ reasoning: '', native: { ...native, parts: [part] }, usage: null })).toBe(
    Math.ceil(('reasoning'.length + 40) / 4),
  );
});
