/** Owns: how full the context is where thoughts are told again that only their model can read (D-39). */
import { usedOf } from 'schema/projection';
import { expect, it } from 'vitest';
import { contextOf } from '../../src/core/workstream/state.ts';
import { all } from './support/telling.ts';
import { createWorld } from './support/world.ts';

const thought = 3_000;
const native = {
  alias: 'demo',
  model: 'demo',
  dialect: 'RESPONSES',
  parts: [{ type: 'reasoning' }],
} as const;

it.each([
  ['as they are shown', { reasoning: 'The journal says what it says and no more. '.repeat(thought / 9) }],
  ['that nobody else can read', { reasoning: '', native }],
] as const)(
  'thoughts %s are counted while they are told again, and no more once the provider drops them (broke: its right counts were refused, and history summarised for nothing)',
  (_, thoughts) => {
    const w = createWorld();
    w.provider = { window: 64_000, overhead: 200, factor: 1, counts: 'NOTHING' };
    let plain = 210;
    const exchange = (counted: number): number => {
      w.send('Go on.');
      w.store();
      const usage = { inputTokens: counted, outputTokens: thought + 10, reasoningTokens: thought };
      w.answer({ text: 'Yes.', ...thoughts, usage });
      w.store();
      plain += 18;
      return usedOf(contextOf(w.state));
    };
    const told = Array.from({ length: 10 }, (_, i) => exchange(plain + i * thought));
    expect(told.at(-1)).toBeGreaterThan(9 * thought);
    const dropped = Array.from({ length: 6 }, () => exchange(plain));
    for (const used of dropped) expect(used).toBeLessThan(3 * thought);
    expect(all(w, 'CHECKPOINT')).toEqual([]);
  },
);
