/**
 * Owns: asking the model, and asking again (D-37), example by example.
 */
import { describe, expect, it } from 'vitest';
import { createWorld } from './support/world.ts';

describe('a retry', () => {
  it('is asked at once when its wait is over and everything before it is durable (broke: it waited for a batch that never came)', () => {
    const w = createWorld();
    w.send('hello');
    w.store();
    w.fail();
    const again = w.waitOver();
    expect(again.batch).toBeNull();
    expect(again.effects.map((e) => e.type)).toEqual(['callModel']);
  });
});

describe('a piece of an answer', () => {
  it('that is empty shows nothing (broke: it opened a message no follower had heard of)', () => {
    const w = createWorld();
    w.send('hello');
    w.store();
    w.piece('');
    expect(w.state.overlay.message).toBeNull();
    expect(w.follower.overlay).toEqual(w.state.overlay);
  });
});
