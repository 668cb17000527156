/**
 * Owns: how a turn goes on after its process is lost (D-70, D-71), by what it was doing.
 */
import { describe, expect, it } from 'vitest';
import { all, callIds, expectAsked, kinds, last, outcome, results, said, shows } from './support/telling.ts';
import { createWorld, type World } from './support/world.ts';

function asking(): World {
  const w = createWorld();
  w.send('go');
  w.store();
  return w;
}

/** These calls, declared and durable. */
function declared(...names: readonly string[]): World {
  const w = asking();
  w.declare(...names);
  w.store();
  return w;
}

const lost = (w: World): World => {
  w.store();
  w.crash();
  w.store();
  return w;
};

const recoveries = (w: World): number | undefined => w.state.projection.turn?.recoveries;

describe('after a crash', () => {
  it('without a live turn there is nothing to do', () => {
    const w = asking();
    w.answer({ text: 'hi' });
    w.store();
    const { journal } = w;
    expect(w.crash().entries).toEqual([]);
    expect(w.journal).toEqual(journal);
    expect(shows(w)).toBe('IDLE');
  });

  it('the same turn goes on under a new generation and epoch', () => {
    const w = asking();
    const { id, generation } = w.state.projection.turn!;
    w.crash();
    expect(w.state.projection.turn).toMatchObject({ id, generation: generation + 1, outcome: null });
    expect(last(w, 'RECOVERY')).toMatchObject({ epoch: 2, generation: generation + 1, turnId: id });
  });

  it('a lost model call is asked again, as another message, and followers void the old one (D-70)', () => {
    const w = asking();
    const { messageId } = w.modelCalls[0]!;
    w.piece('half');
    lost(w);
    expect(w.follower.overlay.message).toBeNull();
    expectAsked(w, 'go');
    expect(w.modelCalls[0]?.messageId).not.toBe(messageId);
    expect(last(w, 'RECOVERY').reason).toBe('MODEL');
  });

  it('a lost wait is over', () => {
    const w = asking();
    w.fail();
    lost(w);
    expectAsked(w, 'go');
  });

  it('a message that was not durable is gone as if never sent, and one that was is asked for', () => {
    const never = createWorld();
    never.send('go');
    never.crash();
    expect(said(never)).toEqual([]);
    expect(shows(never)).toBe('IDLE');

    const kept = createWorld();
    kept.send('go');
    kept.commit();
    kept.crash();
    kept.store();
    expectAsked(kept, 'go');
  });

  it('calls that were being prepared are prepared again', () => {
    const w = lost(declared('read_file', 'shell'));
    expect(w.preparing[0]?.calls.map((c) => c.callId)).toEqual(callIds(w));
    expect(shows(w)).toBe('RUNNING');
  });

  it('a question stays open under the same ids and can be answered (I44)', () => {
    const w = declared('shell');
    w.prepare('write');
    w.store();
    const [cycle] = w.state.projection.cycles;
    lost(w);
    expect(w.state.projection.cycles).toEqual([cycle]);
    expect(shows(w)).toBe('ATTENTION');
    expect(w.preparing).toEqual([]);
    const id = callIds(w)[0]!;
    w.decide('APPROVED');
    w.store();
    expect(w.running).toMatchObject([{ call: { callId: id }, basis: `basis-${id}` }]);
    w.end(id);
    w.store();
    expectAsked(w, 'done');
  });

  it('a call that had started is UNKNOWN and never run again; its neighbours keep what they have (D-9, I37)', () => {
    const w = declared('a', 'b', 'c', 'd');
    const [a, b, c, d] = callIds(w) as [string, string, string, string];
    w.prepare('read', 'read', 'write', 'write');
    w.store();
    w.end(a, { content: 'seen' });
    w.decide('DENIED', { callId: d });
    lost(w);
    expect(w.running).toEqual([]);
    expect(shows(w)).toBe('ATTENTION');
    w.decide('APPROVED', { callId: c });
    w.store();
    expect(w.running.map((r) => r.call.callId)).toEqual([c]);
    w.end(c);
    expect(results(w)).toEqual(['OK COMMITTED', 'CANCELED UNKNOWN', 'OK COMMITTED', 'DENIED NONE']);
    // Nobody saw it end either: what leaves its group and drops its marker is not found.
    const told = all(w, 'TOOL').find((entry) => entry.callId === b)!.content;
    expect(told).toContain('may still run');
    expect(told).not.toMatch(/was ended|has ended/);
    expect(w.effects.filter((e) => e.type === 'runTool' && e.call.callId === b)).toHaveLength(1);
  });

  it('a call that was approved and had not started starts now, without another question', () => {
    const w = declared('a', 'b', 'c', 'd', 'e');
    w.prepare('write');
    for (let i = 0; i < 5; i += 1) w.decide('APPROVED');
    const fifth = callIds(w)[4]!;
    lost(w);
    expect(w.running.map((r) => [r.call.callId, r.basis])).toEqual([[fifth, `basis-${fifth}`]]);
    expect(shows(w)).toBe('RUNNING');
  });

  it('a stopped turn settles CANCELED; what ran is UNKNOWN', () => {
    const w = declared('shell');
    w.prepare('read');
    w.store();
    w.stop();
    lost(w);
    expect(outcome(w)).toMatchObject({ type: 'CANCELED', reason: 'STOPPED' });
    expect(results(w)).toEqual(['CANCELED UNKNOWN']);
    expect(kinds(w).at(-1)).toBe('TURN');
  });

  it('a stop that was not durable was never made', () => {
    const w = asking();
    w.stop();
    w.crash();
    expect(w.state.projection.turn?.phase).toBe('RUNNING');
  });

  it('what the old process still reports is fenced (D-5)', () => {
    const w = asking();
    const { stamp, messageId } = w.modelCalls[0]!;
    lost(w);
    const before = w.state;
    w.tell(stamp, { type: 'modelEnded', messageId, outcome: { type: 'aborted' } });
    // Not even with the ids of the new attempt.
    w.tell(stamp, {
      type: 'modelEnded',
      messageId: w.modelCalls[0]!.messageId,
      outcome: { type: 'aborted' },
    });
    w.take({ type: 'acknowledged', epoch: 1, batch: 99, through: 99 });
    expect(w.state).toEqual(before);
  });
});

describe('recoveries in a row', () => {
  it('end the turn at the third: it is given up with the reason, and the next message goes on (D-71)', () => {
    const w = asking();
    lost(w);
    lost(w);
    expect(recoveries(w)).toBe(2);
    expect(outcome(w)).toBeNull();
    lost(w);
    expect(outcome(w)).toMatchObject({ type: 'FAILED', reason: 'RECOVERY_EXHAUSTED' });
    expect(shows(w)).toBe('ERROR');
    expect(w.modelCalls).toEqual([]);
    w.send('again');
    w.store();
    expectAsked(w, 'go', 'again');
    expect(recoveries(w)).toBe(0);
  });

  it('answer every open call when they end the turn, and close its questions', () => {
    const w = declared('a', 'b');
    // Only one of the two is known yet: the question is open while the other is still being prepared.
    const request = w.preparing[0]!;
    const asked = {
      type: 'ready',
      access: 'WRITE',
      argumentsHash: 'h',
      preview: { kind: 'TEXT', title: '', body: '' },
      basis: null,
    } as const;
    w.tell(request.stamp, {
      type: 'callsPrepared',
      calls: [{ callId: request.calls[0]!.callId, prepared: asked }],
    });
    lost(w);
    lost(w);
    lost(w);
    expect(outcome(w)).toMatchObject({ type: 'FAILED', reason: 'RECOVERY_EXHAUSTED' });
    expect(results(w)).toEqual(['CANCELED NONE', 'CANCELED NONE']);
    expect(last(w, 'APPROVAL').cycle.status).toBe('SUPERSEDED');
  });

  it('are counted anew after progress', () => {
    const w = asking();
    lost(w);
    lost(w);
    w.declare('read_file');
    expect(recoveries(w)).toBe(0);
    lost(w);
    expect(recoveries(w)).toBe(1);
    expect(outcome(w)).toBeNull();
  });

  it('do not count while only a person is waited for', () => {
    const w = declared('shell');
    w.prepare('write');
    for (let i = 0; i < 5; i += 1) lost(w);
    expect(recoveries(w)).toBe(0);
    expect(shows(w)).toBe('ATTENTION');
    expect(all(w, 'RECOVERY')).toHaveLength(5);
  });
});
