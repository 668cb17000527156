/**
 * Owns: what is said to a turn while it runs, and what waits and is changed meanwhile (D-12, D-63), example by example.
 */
import { describe, expect, it } from 'vitest';
import { all, callIds, expectAsked, last, outcome, queued, said, shows } from './support/telling.ts';
import { ann, bob, createWorld, type World } from './support/world.ts';

/** A turn of Ann's whose model call is under way. */
function busy(): World {
  const w = createWorld();
  w.send('first');
  w.store();
  return w;
}

/** The same, with calls that run. */
function working(...names: readonly string[]): World {
  const w = busy();
  w.declare(...names);
  w.store();
  w.prepare('read');
  w.store();
  return w;
}

const waiting = (w: World) => w.state.projection.queue.items;
const idOf = (w: World, text: string): string => waiting(w).find((item) => item.text === text)!.id;
const turnsOf = (w: World): readonly string[] => [
  ...new Map(all(w, 'TURN').map(({ turn }) => [turn.id, turn.principal.id])).values(),
];

describe('a steer', () => {
  it('waits for the calls under way, and the answer says so', () => {
    const w = working('read_file');
    const turnId = w.state.projection.turn!.id;
    expect(w.steer('rather this').reply).toMatchObject({ acceptance: { disposition: 'STEERING', turnId } });
    expect(waiting(w)).toMatchObject([{ text: 'rather this', delivery: 'STEER', turnId }]);
    expect(said(w)).toEqual(['first']);
  });

  it('lands after the results of the batch, several as one message, before the model is asked again (D-34, D-63)', () => {
    const w = working('a', 'b');
    const [a, b] = callIds(w) as [string, string];
    const first = w.steer('rather this').reply;
    w.send('and later that');
    w.end(a);
    w.steer('and quickly');
    const landed = w.end(b);
    expect(landed.entries.map((e) => e.kind)).toEqual(['TOOL_SETTLED', 'TOOL', 'TOOL', 'QUEUE', 'USER']);
    expect(last(w, 'USER')).toMatchObject({
      text: 'rather this\n\nand quickly',
      source: 'STEER',
      author: ann,
    });
    expect(first).toMatchObject({ acceptance: { messageId: last(w, 'USER').id } });
    // What only waits goes on waiting.
    expect(queued(w)).toEqual(['and later that']);
    w.store();
    expectAsked(w, 'done', 'done', 'rather this\n\nand quickly');
  });

  it('lands after what was said with a decision', () => {
    const w = busy();
    w.declare('write_file');
    w.prepare('write');
    w.steer('rather this');
    w.decide('DENIED', { feedback: 'not there' });
    w.store();
    expectAsked(w, 'The person denied this call; it did not run.', 'not there', 'rather this');
    expect(all(w, 'USER').map((e) => e.source)).toEqual(['MESSAGE', 'FEEDBACK', 'STEER']);
  });

  it('says nothing about a question that is open (I41)', () => {
    const w = busy();
    w.declare('shell');
    w.prepare('write');
    w.steer('yes, do it');
    w.store();
    expect(shows(w)).toBe('ATTENTION');
    expect(w.running).toEqual([]);
  });

  it('is drained like the queue by an answer without calls', () => {
    const w = busy();
    w.steer('rather this');
    w.send('and that');
    w.answer({ text: 'hi' });
    expect(said(w)).toEqual(['first', 'rather this\n\nand that']);
    expect(turnsOf(w)).toEqual(['ann']);
    w.store();
    expectAsked(w, 'hi', 'rather this\n\nand that');
  });

  it('behind a message of another author starts a turn of its own after his (D-12)', () => {
    const w = busy();
    w.send('from bob', bob);
    w.steer('rather this');
    w.answer({ text: 'hi' });
    expect(waiting(w)).toMatchObject([{ text: 'rather this', delivery: 'QUEUE', turnId: null }]);
    w.store();
    w.answer({ text: 'hi bob' });
    expect(turnsOf(w)).toEqual(['ann', 'bob', 'ann']);
    expect(said(w)).toEqual(['first', 'from bob', 'rather this']);
  });

  it.each<[string, (w: World) => unknown]>([
    ['fails', (w) => w.fail({ kind: 'BAD_REQUEST' })],
    [
      'is stopped',
      (w) => {
        w.stop();
        w.endModel({ type: 'aborted' });
      },
    ],
    ['is forced to stop', (w) => w.force()],
    [
      'is lost too often',
      (w) => {
        for (let i = 0; i < 3; i += 1) {
          w.store();
          w.crash();
        }
      },
    ],
  ])('to a turn that %s waits, held, like any message (D-63)', (_, end) => {
    const w = busy();
    w.steer('rather this');
    end(w);
    expect(outcome(w)).not.toBeNull();
    expect(w.state.projection.queue).toMatchObject({
      held: true,
      items: [{ text: 'rather this', delivery: 'QUEUE', turnId: null, afterStop: false }],
    });
  });

  it('after the stop latch steers nothing: it starts the next turn', () => {
    const w = working('shell');
    w.stop();
    expect(w.steer('rather this').reply).toMatchObject({ acceptance: { disposition: 'QUEUED' } });
    expect(waiting(w)).toMatchObject([{ delivery: 'QUEUE', turnId: null, afterStop: true }]);
    w.end(w.running[0]!.call.callId);
    expect(said(w)).toEqual(['first', 'rather this']);
    expect(last(w, 'USER').source).toBe('MESSAGE');
    expect(turnsOf(w)).toEqual(['ann', 'ann']);
  });

  it('of another turn has no effect and says which one lives (I23, D-62)', () => {
    const w = busy();
    expect(w.steer('rather this', ann, 'another').reply).toMatchObject({
      refusal: { code: 'STALE_TURN', currentTurnId: w.state.projection.turn?.id },
    });
    const { id } = w.state.projection.turn!;
    w.answer({ text: 'hi' });
    expect(w.steer('rather this', ann, id).reply).toMatchObject({
      refusal: { code: 'STALE_TURN', currentTurnId: null },
    });
    expect(queued(w)).toEqual([]);
  });

  it('by another than the principal is refused: it would run on his credentials (D-12)', () => {
    const w = busy();
    expect(w.steer('rather this', bob).reply).toMatchObject({ refusal: { code: 'NOT_YOURS', author: ann } });
    expect(queued(w)).toEqual([]);
  });

  it('counts among the twenty that may wait', () => {
    const w = busy();
    for (let i = 0; i < 20; i += 1) w.steer(`rather ${i}`);
    expect(w.steer('one too many').reply).toMatchObject({ refusal: { code: 'QUEUE_FULL' } });
  });

  it('survives a crash and lands in the turn it was meant for (D-70)', () => {
    const w = working('read_file');
    w.steer('rather this');
    w.store();
    w.crash();
    expect(last(w, 'USER')).toMatchObject({ text: 'rather this', source: 'STEER' });
    w.store();
    expect(w.modelCalls[0]?.conversation.slice(-2).map((e) => e.kind)).toEqual(['TOOL', 'USER']);
  });
});

describe('a message that does not want to wait', () => {
  it('is refused while a turn lives, also one that is stopping, and changes nothing', () => {
    const w = busy();
    const currentTurnId = w.state.projection.turn!.id;
    const busyNow = { refusal: { code: 'BUSY', currentTurnId } };
    expect(w.send('now', ann, 'REJECT').reply).toMatchObject(busyNow);
    w.stop();
    expect(w.send('now', ann, 'REJECT').reply).toMatchObject(busyNow);
    expect(queued(w)).toEqual([]);
  });

  it('is refused when messages of another author are held and come first', () => {
    const w = busy();
    w.send('from bob', bob);
    w.fail({ kind: 'BAD_REQUEST' });
    expect(w.send('now', ann, 'REJECT').reply).toMatchObject({
      refusal: { code: 'BUSY', currentTurnId: null },
    });
    expect(w.state.projection.queue).toMatchObject({ held: true, items: [{ text: 'from bob' }] });
    expect(shows(w)).toBe('ERROR');
  });

  it('starts a turn otherwise, with what is held of its author', () => {
    const w = busy();
    w.send('second');
    w.fail({ kind: 'BAD_REQUEST' });
    expect(w.send('now', ann, 'REJECT').reply).toMatchObject({ acceptance: { disposition: 'STARTED' } });
    expect(said(w)).toEqual(['first', 'second\n\nnow']);
  });
});

describe('a message that waits', () => {
  it('is edited in its place by its author, and stays what it was', () => {
    const w = working('read_file');
    w.send('second');
    w.steer('rather this');
    w.send('third', bob);
    const before = waiting(w);
    expect(w.edit(idOf(w, 'rather this'), 'rather that').reply).toMatchObject({
      acceptance: { queue: { items: [{ text: 'second' }, { text: 'rather that' }, { text: 'third' }] } },
    });
    expect(waiting(w)).toEqual([before[0], { ...before[1], text: 'rather that' }, before[2]]);
    w.end(w.running[0]!.call.callId);
    expect(last(w, 'USER')).toMatchObject({ text: 'rather that', source: 'STEER' });
  });

  it('is not edited by another, whose words would run on its author’s credentials (D-12)', () => {
    const w = busy();
    w.send('second');
    expect(w.edit(idOf(w, 'second'), 'delete it all', bob).reply).toMatchObject({
      refusal: { code: 'NOT_YOURS', author: ann },
    });
    expect(queued(w)).toEqual(['second']);
  });

  it('is not edited to more than may wait', () => {
    const w = busy();
    w.send('a'.repeat(150_000));
    w.send('second');
    expect(w.edit(idOf(w, 'second'), 'b'.repeat(50_001)).reply).toMatchObject({
      refusal: { code: 'QUEUE_FULL' },
    });
    expect(w.edit(idOf(w, 'second'), 'b'.repeat(50_000)).reply?.type).toBe('accepted');
  });

  it('is withdrawn by anybody, and never said', () => {
    const w = busy();
    w.send('second');
    w.steer('rather this');
    w.send('third');
    w.withdraw(idOf(w, 'rather this'), bob);
    w.withdraw(idOf(w, 'second'));
    w.answer({ text: 'hi' });
    expect(said(w)).toEqual(['first', 'third']);
  });

  it('is not found once it is said or withdrawn, and what still waits is told', () => {
    const w = busy();
    w.send('second');
    const id = idOf(w, 'second');
    w.withdraw(id);
    w.send('third');
    const gone = { refusal: { code: 'MESSAGE_NOT_QUEUED', queuedMessageIds: [idOf(w, 'third')] } };
    expect(w.withdraw(id).reply).toMatchObject(gone);
    expect(w.edit(id, 'again').reply).toMatchObject(gone);
    const third = idOf(w, 'third');
    w.answer({ text: 'hi' });
    expect(w.withdraw(third).reply).toMatchObject({
      refusal: { code: 'MESSAGE_NOT_QUEUED', queuedMessageIds: [] },
    });
  });

  it('and is held stays held when another is withdrawn; the last one withdrawn leaves nothing held', () => {
    const w = busy();
    w.send('second');
    w.send('third');
    w.fail({ kind: 'BAD_REQUEST' });
    w.withdraw(idOf(w, 'second'));
    expect(w.state.projection.queue).toMatchObject({ held: true, items: [{ text: 'third' }] });
    w.withdraw(idOf(w, 'third'));
    expect(w.state.projection.queue).toEqual({ items: [], held: false });
  });
});

describe('a queue that is held', () => {
  /** Ann's turn failed with a message waiting, and she tries again. */
  function retrying(): World {
    const w = busy();
    w.send('second');
    w.fail({ kind: 'BAD_REQUEST' });
    w.retry();
    w.store();
    return w;
  }

  it('stays held through a retry', () => {
    const w = retrying();
    expect(w.state.projection.queue).toMatchObject({ held: true, items: [{ text: 'second' }] });
    w.answer({ text: 'hi' });
    expect(outcome(w)?.type).toBe('COMPLETED');
    expect(w.state.projection.queue).toMatchObject({ held: true, items: [{ text: 'second' }] });
    expect(said(w)).toEqual(['first']);
  });

  it.each<[string, (w: World) => unknown]>([
    ['the next message', (w) => w.send('third')],
    ['the next steer', (w) => w.steer('third')],
  ])(
    'goes on with %s sent during it (D-63; broke: that message was held with the others, and a steer stayed one for good)',
    (_, send) => {
      const w = retrying();
      send(w);
      w.answer({ text: 'hi' });
      expect(said(w)).toEqual(['first', 'second\n\nthird']);
      expect(w.state.projection.queue).toEqual({ items: [], held: false });
    },
  );

  it('goes on with resumeQueue during it', () => {
    const w = retrying();
    w.resumeQueue();
    w.answer({ text: 'hi' });
    expect(said(w)).toEqual(['first', 'second']);
  });
});
