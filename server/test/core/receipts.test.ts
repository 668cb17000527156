/**
 * Owns: keys and receipts of commands (D-60), example by example.
 */
import { describe, expect, it } from 'vitest';
import { createWorld } from './support/world.ts';

describe('a receipt', () => {
  it('is storable whatever a person wrote (broke: NUL in feedback came back in the recorded answer, D-51)', () => {
    const w = createWorld();
    w.send('go');
    w.store();
    w.declare('write_file');
    w.prepare('write');
    const decided = w.decide('APPROVED', { feedback: 'nul \0 and lone \ud800' });
    expect(JSON.stringify(decided.receipts.map((r) => r.outcome))).not.toMatch(/\\u0000|\\ud800/);
    expect(decided.reply).toMatchObject({
      acceptance: { cycle: { items: [{ decision: { feedback: 'nul \ufffd and lone \ufffd' } }] } },
    });
  });
});
