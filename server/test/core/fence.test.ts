/**
 * Owns: the fence alone (D-5, I28). In a life of the core each half also covers for the other, since a new owner
 * always takes a new generation; here each half is held to its own.
 */
import { describe, expect, it } from 'vitest';
import { isCurrent } from '../../src/core/fence.ts';
import { createWorld } from './support/world.ts';

describe('the fence', () => {
  const w = createWorld();
  w.send('go');
  const { state } = w;
  const generation = state.projection.turn!.generation;

  it('lets the claim of the live turn through, and no other generation', () => {
    expect(isCurrent(state, { epoch: state.epoch, generation })).toBe(true);
    expect(isCurrent(state, { epoch: state.epoch, generation: generation - 1 })).toBe(false);
    expect(isCurrent(state, { epoch: state.epoch, generation: generation + 1 })).toBe(false);
  });

  it('lets no other ownership through, whatever its generation', () => {
    expect(isCurrent(state, { epoch: state.epoch - 1, generation })).toBe(false);
    expect(isCurrent(state, { epoch: state.epoch + 1, generation })).toBe(false);
    expect(isCurrent(state, { epoch: state.epoch - 1, generation: null })).toBe(false);
  });

  it('lets nothing of a turn through once no turn lives; work of the ownership goes on', () => {
    w.stop();
    expect(isCurrent(w.state, { epoch: state.epoch, generation })).toBe(false);
    expect(isCurrent(w.state, { epoch: state.epoch, generation: null })).toBe(true);
  });
});
