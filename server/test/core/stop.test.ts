/**
 * Owns: Stop and force (D-65, D-66), example by example.
 */
import { describe, expect, it } from 'vitest';
import { all, callIds, kinds, last, outcome, queued, results, said, shows } from './support/telling.ts';
import { createWorld, prepared, type World } from './support/world.ts';

function asking(): World {
  const w = createWorld();
  w.send('go');
  w.store();
  return w;
}

/** Calls of these names, declared, durable, and prepared to run. */
function started(...names: readonly string[]): World {
  const w = asking();
  w.declare(...names);
  w.store();
  w.prepare('read');
  return w;
}

function working(...names: readonly string[]): World {
  const w = started(...names);
  w.store();
  return w;
}

const stopped = { type: 'CANCELED', reason: 'STOPPED', message: 'Stopped.', unconfirmed: [] };

describe('Stop while the model is asked', () => {
  it('aborts at once, and settles when the call is seen to end; what was never answered leaves no entry', () => {
    const w = asking();
    const { messageId } = w.modelCalls[0]!;
    const turnId = w.state.projection.turn!.id;
    const stop = w.stop();
    expect(stop.reply).toMatchObject({ acceptance: { stopped: [turnId], nothingToStop: false } });
    expect(stop.effects).toMatchObject([
      { type: 'abortModel', messageId },
      { type: 'watchStop', turnId, ms: 10_000 },
    ]);
    expect(w.state.projection.turn).toMatchObject({ phase: 'INTERRUPTING', outcome: null });
    w.endModel({ type: 'aborted' });
    expect(outcome(w)).toEqual(stopped);
    expect(kinds(w)).toEqual(['TURN', 'USER', 'TURN', 'TURN']);
  });

  it('keeps the partial text of a stream, and shows no more of it', () => {
    const w = asking();
    const { messageId } = w.modelCalls[0]!;
    w.piece('so I would', 'hm');
    w.stop();
    w.piece(' never');
    w.endModel({ type: 'aborted' });
    expect(last(w, 'CANCELLATION')).toMatchObject({
      id: messageId,
      text: 'so I would',
      reasoning: 'hm',
      reason: 'STOPPED',
    });
    expect(w.follower.overlay.message).toBeNull();
  });

  it('makes no turn of an answer that came anyway: its calls never run', () => {
    const w = asking();
    w.piece('I will');
    w.stop();
    w.declare('shell');
    expect(outcome(w)).toEqual(stopped);
    expect(all(w, 'ASSISTANT')).toEqual([]);
    expect(last(w, 'CANCELLATION').text).toBe('I will');
    expect(w.preparing).toEqual([]);
  });

  it('ends the wait of a retry at once', () => {
    const w = asking();
    w.fail();
    const stop = w.stop();
    expect(outcome(w)).toEqual(stopped);
    expect(stop.effects.map((e) => e.type)).not.toContain('abortModel');
    w.waitOver();
    w.store();
    expect(w.modelCalls).toEqual([]);
  });

  it('before the message is durable never asks it: nothing began, so the turn is over at once (D-2)', () => {
    const w = createWorld();
    w.send('go');
    w.stop();
    expect(outcome(w)).toEqual(stopped);
    w.store();
    expect(w.modelCalls).toEqual([]);
    expect(said(w)).toEqual(['go']);
  });
});

describe('Stop while tools are under way', () => {
  it('during preparation settles at once; no call began, and each is told so', () => {
    const w = asking();
    w.declare('shell', 'read_file');
    w.store();
    w.stop();
    expect(outcome(w)).toEqual(stopped);
    expect(results(w)).toEqual(['CANCELED NONE', 'CANCELED NONE']);
    w.prepare('read');
    w.store();
    expect(w.running).toEqual([]);
  });

  it('with a question open closes the question', () => {
    const w = asking();
    w.declare('shell');
    w.store();
    w.prepare('write');
    w.store();
    w.stop();
    expect(last(w, 'APPROVAL').cycle.status).toBe('SUPERSEDED');
    expect(results(w)).toEqual(['CANCELED NONE']);
    expect(shows(w)).toBe('IDLE');
  });

  it('kills what runs and waits for it; the effect is kept, the unreviewed output is not (I60)', () => {
    const w = working('shell');
    const id = callIds(w)[0]!;
    const stop = w.stop();
    expect(stop.reply).toMatchObject({ acceptance: { stopped: [w.state.projection.turn?.id, id] } });
    expect(stop.effects).toContainEqual({ type: 'abortTool', callId: id });
    expect(shows(w)).toBe('RUNNING');
    w.end(id, { outcome: 'OK', effect: 'PARTIAL', content: 'secret bytes' });
    expect(outcome(w)).toEqual(stopped);
    expect(results(w)).toEqual(['CANCELED PARTIAL']);
    expect(JSON.stringify(w.journal)).not.toContain('secret bytes');
  });

  it('waits for the last of several; those that have not begun never do', () => {
    const w = working('a', 'b', 'c', 'd', 'e');
    const ids = callIds(w);
    w.stop();
    w.end(ids[0]!);
    w.end(ids[1]!);
    w.end(ids[2]!, { effect: 'ROLLED_BACK' });
    expect(outcome(w)).toBeNull();
    w.end(ids[3]!, { effect: 'UNKNOWN' });
    expect(outcome(w)).toEqual(stopped);
    expect(results(w)).toEqual([
      'CANCELED COMMITTED',
      'CANCELED COMMITTED',
      'CANCELED ROLLED_BACK',
      'CANCELED UNKNOWN',
      'CANCELED NONE',
    ]);
    w.store();
    expect(w.running).toEqual([]);
  });

  it('drops a start that is not durable yet: it provably did nothing (D-2, D-9)', () => {
    const w = started('shell');
    expect(kinds(w).at(-1)).toBe('TOOL_STARTED');
    const stop = w.stop();
    expect(stop.effects.map((e) => e.type)).not.toContain('abortTool');
    expect(outcome(w)).toEqual(stopped);
    expect(results(w)).toEqual(['CANCELED NONE']);
    w.store();
    expect(w.running).toEqual([]);
  });

  it('begins nothing of what is only now prepared, while a neighbour is waited for (I31)', () => {
    const w = asking();
    w.declare('read_file', 'shell', 'write_file');
    const [read, shell, write] = callIds(w) as [string, string, string];
    w.store();
    const { stamp } = w.preparing[0]!;
    const tell = (callId: string, kind: 'read' | 'write') =>
      w.tell(stamp, { type: 'callsPrepared', calls: [{ callId, prepared: prepared(kind, callId) }] });
    tell(read, 'read');
    w.store();
    w.stop();
    const { state } = w;
    tell(shell, 'read');
    tell(write, 'write');
    expect(w.state).toEqual(state);
    w.end(read);
    expect(results(w)).toEqual(['CANCELED COMMITTED', 'CANCELED NONE', 'CANCELED NONE']);
  });

  it('keeps the results that were seen before it', () => {
    const w = working('a', 'b');
    const [a, b] = callIds(w) as [string, string];
    w.end(a, { content: 'seen and reviewed' });
    w.stop();
    w.end(b);
    expect(all(w, 'TOOL').map((e) => e.content)).toEqual([
      'seen and reviewed',
      'Stopped while running. Effect on the world: COMMITTED.',
    ]);
  });
});

describe('a stop that is not confirmed within 10 s', () => {
  it('is forced: the calls not seen to end are named and UNKNOWN, and the slot is free', () => {
    const w = working('a', 'b');
    const [a, b] = callIds(w) as [string, string];
    w.stop();
    w.end(a);
    const forced = w.stopOverdue();
    expect(outcome(w)).toMatchObject({ type: 'CANCELED', reason: 'STOPPED', unconfirmed: [b] });
    expect(results(w)).toEqual(['CANCELED COMMITTED', 'CANCELED UNKNOWN']);
    // The end and its results are one batch: who comes next sees all of it or none (D-66).
    expect(forced.entries.map((e) => e.kind)).toEqual(['TURN', 'TOOL', 'TOOL', 'TURN']);
    expect(shows(w)).toBe('IDLE');
  });

  it('is forced also when the model never says that it ended', () => {
    const w = asking();
    w.piece('half');
    w.stop();
    w.stopOverdue();
    expect(outcome(w)).toMatchObject({ type: 'CANCELED', unconfirmed: [] });
    expect(last(w, 'CANCELLATION').text).toBe('half');
  });

  it('leaves an orphan that may unwind but changes nothing: not this turn, not the next (D-5, I28)', () => {
    const w = working('shell');
    const id = callIds(w)[0]!;
    w.stop();
    w.stopOverdue();
    const before = w.state;
    w.output(id, 'late output');
    expect(w.state).toEqual(before);
    w.end(id, { content: 'late result' });
    expect(w.state).toEqual({ ...before, orphans: [] });

    const again = working('shell');
    const orphan = callIds(again)[0]!;
    again.stop();
    again.send('next');
    again.stopOverdue();
    again.store();
    const next = again.state;
    expect(shows(again)).toBe('THINKING');
    again.end(orphan, { content: 'late result' });
    expect(again.state).toEqual({ ...next, orphans: [] });
  });

  it('is not forced a second time, nor a turn that was not stopped', () => {
    const w = asking();
    const turnId = w.state.projection.turn!.id;
    const { stamp } = w.modelCalls[0]!;
    const before = w.state;
    w.tell(stamp, { type: 'stopOverdue', turnId });
    expect(w.state).toEqual(before);
  });
});

describe('Stop', () => {
  it('without a live turn is calm: nothing to stop (I32)', () => {
    const w = createWorld();
    expect(w.stop().reply).toMatchObject({
      type: 'accepted',
      acceptance: { stopped: [], nothingToStop: true },
    });
    expect(shows(w)).toBe('IDLE');
  });

  it('of another turn has no effect and says which one lives (I23, D-62)', () => {
    const w = asking();
    expect(w.stop('another').reply).toMatchObject({
      refusal: { code: 'STALE_TURN', currentTurnId: w.state.projection.turn?.id },
    });
    expect(w.state.projection.turn?.phase).toBe('RUNNING');
  });

  it('twice latches once, aborts once, and both are answered (I32)', () => {
    const w = working('shell');
    w.stop();
    const again = w.stop();
    expect(again.entries).toEqual([]);
    expect(again.effects).toEqual([]);
    expect(again.reply).toMatchObject({ type: 'accepted', acceptance: { nothingToStop: false } });
  });

  it('does not stop what was sent after it', () => {
    const w = asking();
    w.stop();
    w.send('next');
    w.endModel({ type: 'aborted' });
    expect(queued(w)).toEqual([]);
    expect(shows(w)).toBe('THINKING');
  });
});
