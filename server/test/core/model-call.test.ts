/**
 * Owns: asking the model, and asking again (D-37), example by example.
 */
import { describe, expect, it } from 'vitest';
import { all, expectAsked, last, outcome, shows } from './support/telling.ts';
import { createWorld, type World } from './support/world.ts';

function asking(): World {
  const w = createWorld();
  w.send('hello');
  w.store();
  return w;
}

const waits = (w: World): readonly number[] => w.effects.flatMap((e) => (e.type === 'backoff' ? [e.ms] : []));

describe('a retry', () => {
  it('is asked at once when its wait is over and everything before it is durable (broke: it waited for a batch that never came)', () => {
    const w = asking();
    w.fail();
    const again = w.waitOver();
    expect(again.batch).toBeNull();
    expect(again.effects.map((e) => e.type)).toEqual(['callModel']);
  });

  it('waits for what was accepted meanwhile, like any deed (D-2)', () => {
    const w = asking();
    w.fail();
    w.send('and this');
    w.waitOver();
    expect(w.modelCalls).toEqual([]);
    w.store();
    expectAsked(w, 'hello');
  });

  it('comes after 1, 2 and 4 seconds; the fourth failure is the last (D-37)', () => {
    const w = asking();
    for (let attempt = 1; attempt < 4; attempt += 1) {
      w.fail();
      expect(shows(w)).toBe('THINKING');
      w.waitOver();
    }
    w.fail({ message: 'Still busy.' });
    expect(waits(w)).toEqual([1_000, 2_000, 4_000]);
    expect(outcome(w)).toMatchObject({
      type: 'FAILED',
      reason: 'MODEL_OVERLOADED',
      message: 'Still busy.',
    });
    expect(shows(w)).toBe('ERROR');
  });

  it.each([
    [30_000, 30_000],
    [60_000, 60_000],
    [3_600_000, 60_000],
    [0, 0],
  ])('honours a Retry-After of %i ms as %i ms: at most 60 s (D-37)', (asked, waited) => {
    const w = asking();
    w.fail({ retryAfterMs: asked });
    expect(waits(w)).toEqual([waited]);
  });

  it('says so to people, with the reason and which attempt comes', () => {
    const w = asking();
    expect(w.fail({ message: 'The endpoint is busy.' }).items).toEqual([
      {
        type: 'Notice',
        level: 'WARNING',
        code: 'MODEL_RETRY',
        message: 'The endpoint is busy. Trying again in 1 s (attempt 2 of 4).',
      },
    ]);
  });

  it('voids what was shown and begins another message: attempts are never spliced (D-8, D-37)', () => {
    const w = asking();
    const first = w.modelCalls[0]!.messageId;
    w.piece('half an ans');
    const failed = w.fail({ message: 'Cut off.' });
    expect(failed.items[0]).toEqual({ type: 'StreamReset', messageId: first, reason: 'Cut off.' });
    expect(w.follower.overlay.message).toBeNull();
    w.waitOver();
    const second = w.modelCalls[0]!.messageId;
    expect(second).not.toBe(first);
    w.piece('the answer');
    expect(w.follower.overlay.message).toMatchObject({ id: second, text: 'the answer' });
    w.answer({ text: 'the answer' });
    expect(all(w, 'ASSISTANT').map((e) => [e.id, e.text])).toEqual([[second, 'the answer']]);
  });

  it('does not take the report of the attempt before it', () => {
    const w = asking();
    const { stamp, messageId } = w.modelCalls[0]!;
    w.fail();
    w.waitOver();
    const before = w.state;
    w.tell(stamp, { type: 'modelDelta', messageId, text: 'late', reasoning: '' });
    w.tell(stamp, { type: 'modelEnded', messageId, outcome: { type: 'aborted' } });
    w.tell(stamp, { type: 'backoffOver', messageId });
    expect(w.state).toEqual(before);
  });

  it('starts counting anew for the next question of the turn', () => {
    const w = asking();
    w.fail();
    w.waitOver();
    w.declare('read_file');
    w.prepare('read');
    w.store();
    w.end(w.running[0]!.call.callId);
    w.store();
    w.fail();
    expect(waits(w)).toEqual([1_000, 1_000]);
  });
});

describe('a failure that cannot be retried', () => {
  it('ends the turn at once, says why, and keeps the partial text (I35)', () => {
    const w = asking();
    const { messageId } = w.modelCalls[0]!;
    w.piece('half');
    w.fail({ kind: 'AUTHENTICATION', retryable: false, message: 'The key was refused.' });
    expect(outcome(w)).toMatchObject({
      type: 'FAILED',
      reason: 'MODEL_AUTHENTICATION',
      message: 'The key was refused.',
    });
    expect(last(w, 'CANCELLATION')).toMatchObject({ id: messageId, text: 'half', reason: 'FAILED' });
    expect(waits(w)).toEqual([]);
  });

  it('that was never an answer leaves no text', () => {
    const w = asking();
    w.fail({ retryable: false });
    expect(all(w, 'CANCELLATION')).toEqual([]);
  });

  it('is not the end of the workstream: the next message goes on with all that was said', () => {
    const w = asking();
    w.fail({ retryable: false });
    w.send('again');
    w.store();
    expectAsked(w, 'hello', 'again');
    expect(shows(w)).toBe('THINKING');
  });

  it('and an end from outside without a stop is a failure too, never a completion (I27)', () => {
    const w = asking();
    w.endModel({ type: 'aborted' });
    expect(outcome(w)).toMatchObject({ type: 'FAILED', reason: 'MODEL_ABORTED' });
  });
});

describe('a piece of an answer', () => {
  it('that is empty shows nothing (broke: it opened a message no follower had heard of)', () => {
    const w = asking();
    w.piece('');
    expect(w.state.overlay.message).toBeNull();
    expect(w.follower.overlay).toEqual(w.state.overlay);
  });

  it('is shown at its offset in its channel (I13)', () => {
    const w = asking();
    w.piece('ab', 'x');
    expect(w.piece('c', 'yz').items).toMatchObject([
      { type: 'StreamChunk', channel: 'REASONING', offset: 1, text: 'yz' },
      { type: 'StreamChunk', channel: 'TEXT', offset: 2, text: 'c' },
    ]);
  });
});
