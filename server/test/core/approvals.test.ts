/**
 * Owns: decisions of people (D-64), example by example.
 */
import { describe, expect, it } from 'vitest';
import { bob, createWorld, type World } from './support/world.ts';

/** A turn that waits for a person about these calls. */
function asking(...names: readonly string[]): World {
  const w = createWorld();
  w.send('go');
  w.store();
  w.declare(...names);
  w.prepare('write');
  w.store();
  return w;
}

describe('a decision', () => {
  it('that comes a moment after the last one is told what was decided, not that there was nothing (I39, D-64; broke: a denial closed the batch and forgot)', () => {
    const w = asking('write_file');
    const [cycle] = w.state.projection.cycles;
    const [item] = cycle!.items;
    w.decide('DENIED');
    const late = w.command(bob, {
      type: 'decide',
      cycleId: cycle!.id,
      callId: item!.callId,
      argumentsHash: item!.argumentsHash,
      verdict: 'APPROVED',
      feedback: null,
    });
    expect(late.reply).toMatchObject({
      type: 'refused',
      refusal: { code: 'ALREADY_DECIDED', decision: { verdict: 'DENIED', by: { id: 'ann' } } },
    });
  });
});
