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

describe('Stop by force', () => {
  it('does not wait: new claim, UNKNOWN results and the end in one batch, the slot free at once (D-66)', () => {
    const w = working('a', 'b');
    const [a, b] = callIds(w) as [string, string];
    w.end(a);
    const { id, generation } = w.state.projection.turn!;
    const forced = w.force();
    expect(forced.reply).toMatchObject({ acceptance: { stopped: [id, b], nothingToStop: false } });
    expect(forced.effects).toContainEqual({ type: 'abortTool', callId: b });
    expect(forced.entries.map((e) => e.kind)).toEqual(['TURN', 'TURN', 'TOOL', 'TOOL', 'TURN']);
    expect(w.state.projection.turn).toMatchObject({ id, generation: generation + 1, phase: 'CANCELED' });
    expect(outcome(w)).toMatchObject({ reason: 'STOPPED', unconfirmed: [b] });
    expect(results(w)).toEqual(['OK COMMITTED', 'CANCELED UNKNOWN']);
    w.send('next');
    w.store();
    expect(w.modelCalls).toHaveLength(1);
  });

  it('of what is asked keeps the partial text, and leaves the question to unwind', () => {
    const w = asking();
    const { messageId } = w.modelCalls[0]!;
    w.piece('half');
    const forced = w.force();
    expect(forced.effects).toContainEqual({ type: 'abortModel', messageId });
    expect(last(w, 'CANCELLATION').text).toBe('half');
    expect(outcome(w)).toMatchObject({ type: 'CANCELED', unconfirmed: [] });
    const { generation } = w.modelCalls[0]!.stamp;
    expect(w.state.orphans).toEqual([{ type: 'answer', id: messageId, generation }]);
  });

  it('of a turn that is stopping ends the wait, and what was sent after the latch goes on (D-63)', () => {
    const w = working('shell');
    w.stop();
    w.send('next');
    w.force();
    expect(said(w)).toEqual(['go', 'next']);
    expect(shows(w)).toBe('THINKING');
  });

  it('where nothing is under way is a Stop like any other: no orphan, no new claim', () => {
    const w = asking();
    w.declare('shell');
    w.store();
    w.prepare('write');
    w.store();
    const { generation } = w.state.projection.turn!;
    w.force();
    expect(outcome(w)).toEqual(stopped);
    expect(w.state.projection.turn?.generation).toBe(generation);
    expect(w.state.orphans).toEqual([]);
  });

  it('of another turn has no effect and says which one lives (I23, D-62)', () => {
    const w = working('shell');
    expect(w.force('another').reply).toMatchObject({ refusal: { code: 'STALE_TURN' } });
    expect(outcome(w)).toBeNull();
  });

  it('is the first end and stays it: the 10 s, the late end and another force change no outcome (I26)', () => {
    const w = working('shell');
    const id = callIds(w)[0]!;
    w.stop();
    w.force();
    const { turn } = w.state.projection;
    w.stopOverdue();
    w.end(id, { outcome: 'OK', effect: 'COMMITTED', content: 'it worked' });
    w.force();
    expect(w.state.projection.turn).toEqual(turn);
    expect(results(w)).toEqual(['CANCELED UNKNOWN']);
    expect(JSON.stringify(w.journal)).not.toContain('it worked');
  });
});

describe('what a forced turn left behind', () => {
  /** An answer and a call, each of a turn that was forced to end, beside the next turn. */
  function orphaned(): { readonly w: World; readonly answer: string; readonly call: string } {
    const w = working('shell');
    const call = callIds(w)[0]!;
    w.force();
    w.send('second');
    w.store();
    const answer = w.modelCalls[0]!.messageId;
    w.force();
    w.send('third');
    w.store();
    return { w, answer, call };
  }

  it('changes nothing with its late words, of this turn or the next; its end frees it (D-5, I28)', () => {
    const { w, answer, call } = orphaned();
    expect(w.state.orphans).toHaveLength(2);
    const before = w.state;
    w.output(call, 'late output');
    w.tell(w.modelCalls[0]!.stamp, { type: 'modelDelta', messageId: answer, text: 'late', reasoning: '' });
    expect(w.state).toEqual(before);
    const { entries, items, effects } = w.end(call, { content: 'late result' });
    expect({ entries, items, effects }).toEqual({ entries: [], items: [], effects: [] });
    const { generation } = w.modelCalls[0]!.stamp;
    expect(w.state).toEqual({ ...before, orphans: [{ type: 'answer', id: answer, generation }] });
    const late = { type: 'modelEnded', messageId: answer, outcome: { type: 'aborted' } } as const;
    w.tell(w.modelCalls[0]!.stamp, late);
    expect(w.state).toEqual({ ...before, orphans: [] });
  });

  it('is not freed by a word under another claim than it was begun under (D-5)', () => {
    const { w, answer } = orphaned();
    const { epoch, generation } = w.modelCalls[0]!.stamp;
    const before = w.state;
    const late = { type: 'modelEnded', messageId: answer, outcome: { type: 'aborted' } } as const;
    w.tell({ epoch, generation: generation! - 1 }, late);
    expect(w.state).toEqual(before);
  });

  it('is ended and named by a later Stop, with a live turn and without one (D-65)', () => {
    const { w, answer, call } = orphaned();
    const { id } = w.state.projection.turn!;
    const stop = w.stop();
    expect(stop.reply).toMatchObject({ acceptance: { stopped: [id, call, answer] } });
    expect(stop.effects).toEqual(
      expect.arrayContaining([
        { type: 'abortTool', callId: call },
        { type: 'abortModel', messageId: answer },
      ]),
    );
    w.endModel({ type: 'aborted' }, w.modelCalls.at(-1)!.messageId);
    expect(shows(w)).toBe('IDLE');
    const calm = w.stop();
    expect(calm.reply).toMatchObject({ acceptance: { stopped: [call, answer], nothingToStop: false } });
    expect(calm.entries).toEqual([]);
    expect(calm.effects).toHaveLength(2);
    w.end(call);
    w.endModel({ type: 'aborted' }, answer);
    expect(w.stop().reply).toMatchObject({ acceptance: { stopped: [], nothingToStop: true } });
  });

  it('is not ended under the claim of another owner, and is lost with its process', () => {
    const { w, answer } = orphaned();
    const { stamp } = w.modelCalls[0]!;
    const before = w.state;
    w.tell(
      { ...stamp, epoch: stamp.epoch + 1 },
      { type: 'modelEnded', messageId: answer, outcome: { type: 'aborted' } },
    );
    expect(w.state).toEqual(before);
    w.crash();
    expect(w.state.orphans).toEqual([]);
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
