/**
 * Owns: what is sent while a turn lives (D-63, D-12), example by example.
 */
import { describe, expect, it } from 'vitest';
import { all, expectAsked, outcome, queued, said, shows } from './support/telling.ts';
import { ann, bob, createWorld, type World } from './support/world.ts';

/** A turn of Ann's whose model call is under way. */
function busy(): World {
  const w = createWorld();
  w.send('first');
  w.store();
  return w;
}

const principals = (w: World): readonly string[] => [
  ...new Map(all(w, 'TURN').map(({ turn }) => [turn.id, turn.principal.id])).values(),
];

describe('a message sent while busy', () => {
  it('waits, and the answer says so', () => {
    const w = busy();
    expect(w.send('second').reply).toMatchObject({
      acceptance: { disposition: 'QUEUED', turnId: w.state.projection.turn?.id },
    });
    expect(queued(w)).toEqual(['second']);
    expect(w.modelCalls).toHaveLength(1);
  });

  it('is said when the turn would end; neighbours of one author become one message under the id of the first', () => {
    const w = busy();
    const first = w.send('second').reply;
    w.send('third');
    w.answer({ text: 'hi' });
    expect(queued(w)).toEqual([]);
    expect(said(w)).toEqual(['first', 'second\n\nthird']);
    expect(first).toMatchObject({ acceptance: { messageId: all(w, 'USER').at(-1)?.id } });
    w.store();
    expectAsked(w, 'hi', 'second\n\nthird');
    w.answer({ text: 'both' });
    expect(shows(w)).toBe('IDLE');
    expect(principals(w)).toEqual(['ann']);
  });

  it('does not come between a call and its result', () => {
    const w = busy();
    w.declare('read_file');
    w.send('second');
    w.prepare('read');
    w.store();
    w.end(w.running[0]!.call.callId);
    w.store();
    expectAsked(w, 'done');
    expect(queued(w)).toEqual(['second']);
  });

  it('of another author ends the turn and starts one of its own, so that nothing typed by one runs as another (D-12)', () => {
    const w = busy();
    w.send('from bob', bob);
    w.send('from ann');
    w.answer({ text: 'hi' });
    expect(principals(w)).toEqual(['ann', 'bob']);
    expect(outcomes(w)).toEqual(['COMPLETED', null]);
    w.store();
    expectAsked(w, 'hi', 'from bob');
    w.answer({ text: 'hi bob' });
    expect(principals(w)).toEqual(['ann', 'bob', 'ann']);
    expect(said(w)).toEqual(['first', 'from bob', 'from ann']);
  });

  it('is refused when twenty wait, with the capacity, and changes nothing', () => {
    const w = busy();
    for (let i = 0; i < 20; i += 1) w.send(`waiting ${i}`);
    expect(w.send('one too many').reply).toMatchObject({ refusal: { code: 'QUEUE_FULL', capacity: 20 } });
    expect(queued(w)).toHaveLength(20);
  });

  it('is refused when what waits has more than 200,000 characters, for every entry of the queue keeps it whole (D-63)', () => {
    const w = busy();
    w.send('a'.repeat(100_000));
    w.send('b'.repeat(100_000));
    expect(w.send('c').reply).toMatchObject({ refusal: { code: 'QUEUE_FULL' } });
    expect(queued(w)).toHaveLength(2);
  });

  it('waits alone however long it is, and nothing beside it (D-63)', () => {
    const w = busy();
    expect(w.send('a'.repeat(1_000_000)).reply).toMatchObject({ acceptance: { disposition: 'QUEUED' } });
    expect(w.send('b').reply).toMatchObject({ refusal: { code: 'QUEUE_FULL' } });
    const [waiting] = w.state.projection.queue.items;
    expect(w.edit(waiting!.id, 'short').reply?.type).toBe('accepted');
    expect(w.send('b').reply).toMatchObject({ acceptance: { disposition: 'QUEUED' } });
    expect(w.edit(waiting!.id, 'a'.repeat(200_000)).reply).toMatchObject({
      refusal: { code: 'QUEUE_FULL' },
    });
    expect(queued(w)).toEqual(['short', 'b']);
  });

  it('is taken also when twenty are held: they go first, and it goes with them (broke: it was refused for good)', () => {
    const w = busy();
    for (let i = 0; i < 20; i += 1) w.send(`waiting ${i}`);
    w.fail({ kind: 'BAD_REQUEST' });
    expect(w.send('the next').reply).toMatchObject({ acceptance: { disposition: 'STARTED' } });
    expect(queued(w)).toEqual([]);
    expect(said(w).at(-1)).toMatch(/^waiting 0\n\n[^]*waiting 19\n\nthe next$/);
  });
});

const outcomes = (w: World): readonly (string | null)[] => [
  ...new Map(all(w, 'TURN').map(({ turn }) => [turn.id, turn.outcome?.type ?? null])).values(),
];

describe('the queue', () => {
  it.each<[string, (w: World) => unknown]>([
    [
      'a stop',
      (w) => {
        w.stop();
        w.endModel({ type: 'aborted' });
      },
    ],
    ['a failure', (w) => w.fail({ kind: 'BAD_REQUEST' })],
  ])('is held after %s, and says so', (_, end) => {
    const w = busy();
    w.send('second');
    end(w);
    expect(w.state.projection.queue).toMatchObject({ held: true, items: [{ text: 'second' }] });
    expect(w.state.projection.turn?.outcome).not.toBeNull();
  });

  it('that is held goes on with resumeQueue, in a turn of its author', () => {
    const w = busy();
    w.send('second', bob);
    w.fail({ kind: 'BAD_REQUEST' });
    expect(shows(w)).toBe('ERROR');
    const resumed = w.resumeQueue();
    expect(resumed.reply).toMatchObject({ acceptance: { turnId: w.state.projection.turn?.id } });
    expect(principals(w)).toEqual(['ann', 'bob']);
    expect(w.state.projection.queue).toEqual({ items: [], held: false });
    w.store();
    expectAsked(w, 'second');
  });

  it('that is held is drained first by the next message, together with it if it is of the same author', () => {
    const w = busy();
    w.send('second');
    w.fail({ kind: 'BAD_REQUEST' });
    expect(w.send('third').reply).toMatchObject({ acceptance: { disposition: 'STARTED' } });
    expect(said(w)).toEqual(['first', 'second\n\nthird']);
  });

  it('that is held is drained first by a message of another author, which waits for its own turn', () => {
    const w = busy();
    w.send('second');
    w.fail({ kind: 'BAD_REQUEST' });
    expect(w.send('third', bob).reply).toMatchObject({ acceptance: { disposition: 'QUEUED' } });
    expect(said(w)).toEqual(['first', 'second']);
    expect(queued(w)).toEqual(['third']);
    w.store();
    w.answer({ text: 'hi' });
    expect(said(w)).toEqual(['first', 'second', 'third']);
    expect(principals(w)).toEqual(['ann', 'ann', 'bob']);
  });

  it('with nothing in it is resumed calmly', () => {
    const w = createWorld();
    expect(w.resumeQueue().reply).toMatchObject({ type: 'accepted', acceptance: { turnId: null } });
    expect(shows(w)).toBe('IDLE');
  });

  it('survives a crash in its place', () => {
    const w = busy();
    w.send('second');
    w.send('third', bob);
    w.store();
    w.crash();
    expect(queued(w)).toEqual(['second', 'third']);
    w.store();
    w.answer({ text: 'hi' });
    expect(said(w)).toEqual(['first', 'second']);
  });
});

describe('a message sent after the stop latch', () => {
  it('is not held: it starts the next turn when this one has settled (D-63)', () => {
    const w = busy();
    w.stop();
    w.send('something else');
    expect(shows(w)).toBe('THINKING');
    w.endModel({ type: 'aborted' });
    expect(outcomes(w)).toEqual(['CANCELED', null]);
    expect(said(w)).toEqual(['first', 'something else']);
    w.store();
    expectAsked(w, 'first', 'something else');
  });

  it('takes along what waited before it', () => {
    const w = busy();
    w.send('before');
    w.stop();
    w.send('after');
    w.endModel({ type: 'aborted' });
    expect(said(w)).toEqual(['first', 'before\n\nafter']);
  });

  it('starts the next turn also when the stop was overdue or the process was lost', () => {
    const overdue = busy();
    overdue.stop();
    overdue.send('next');
    overdue.stopOverdue();
    expect(said(overdue)).toEqual(['first', 'next']);

    const lost = busy();
    lost.stop();
    lost.send('next', ann);
    lost.store();
    lost.crash();
    expect(outcomes(lost)).toEqual(['CANCELED', null]);
    expect(said(lost)).toEqual(['first', 'next']);
  });

  it('says nothing about a later turn: the flag is gone when it is passed over once', () => {
    const w = busy();
    w.stop();
    w.send('ann again');
    w.send('bob', bob);
    w.endModel({ type: 'aborted' });
    w.store();
    // Ann's turn lives; Bob's message waits as if sent during it, and is held when that turn is stopped.
    w.stop();
    w.endModel({ type: 'aborted' });
    expect(w.state.projection.queue).toMatchObject({ held: true, items: [{ text: 'bob' }] });
    expect(outcome(w)?.type).toBe('CANCELED');
  });
});
