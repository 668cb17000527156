/**
 * Owns: decisions of people (D-64), example by example.
 */
import { describe, expect, it } from 'vitest';
import { callIds, expectAsked, last, outcome, results, shows } from './support/telling.ts';
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

const again = (w: World, verdict: 'APPROVED' | 'DENIED', over: Readonly<Record<string, string>> = {}) => {
  const cycle = w.state.projection.cycles[0]!;
  const item = cycle.items[0]!;
  return w.command(bob, {
    type: 'decide',
    cycleId: cycle.id,
    callId: item.callId,
    argumentsHash: item.argumentsHash,
    verdict,
    feedback: null,
    ...over,
  });
};

describe('an approved call', () => {
  it('runs once the decision and its start are durable, with what the preview was made from (I40)', () => {
    const w = asking('write_file');
    expect(shows(w)).toBe('ATTENTION');
    const id = callIds(w)[0]!;
    const decided = w.decide('APPROVED');
    expect(decided.entries.map((e) => e.kind)).toEqual(['APPROVAL', 'TOOL_STARTED']);
    expect(w.running).toEqual([]);
    expect(shows(w)).toBe('RUNNING');
    w.store();
    expect(w.running).toMatchObject([{ call: { callId: id }, basis: `basis-${id}` }]);
    w.end(id);
    w.store();
    expectAsked(w, 'done');
  });

  it('starts while another call still waits for its answer', () => {
    const w = asking('write_file', 'shell');
    const [first] = callIds(w);
    w.decide('APPROVED', { callId: first! });
    w.store();
    expect(w.running.map((r) => r.call.callId)).toEqual([first]);
    expect(shows(w)).toBe('ATTENTION');
    expect(w.state.projection.cycles[0]?.status).toBe('OPEN');
  });
});

describe('a denied call', () => {
  it('never runs; the model is told, with the feedback in the words of the person', () => {
    const w = asking('shell');
    w.decide('DENIED', { feedback: 'use read_file instead' });
    expect(results(w)).toEqual(['DENIED NONE']);
    expect(last(w, 'USER')).toMatchObject({ source: 'FEEDBACK', author: { id: 'ann' } });
    w.store();
    expectAsked(w, 'The person denied this call; it did not run.', 'use read_file instead');
    expect(w.effects.some((e) => e.type === 'runTool')).toBe(false);
  });

  it.each(['', ' \n', '\u200b\ufeff'])('without feedback (%j) says nothing more', (feedback) => {
    const w = asking('shell');
    w.decide('DENIED', { feedback });
    w.store();
    expectAsked(w, 'The person denied this call; it did not run.');
  });
});

describe('a decision', () => {
  it('is for one call; each of them is answered by itself, and one continuation follows the last (I43)', () => {
    const w = asking('a', 'b', 'c');
    const [a, b, c] = callIds(w) as [string, string, string];
    w.decide('DENIED', { callId: b });
    w.decide('DENIED', { callId: c });
    expect(w.modelCalls).toEqual([]);
    w.decide('DENIED', { callId: a });
    expect(last(w, 'APPROVAL').cycle.status).toBe('SETTLED');
    w.store();
    expect(w.modelCalls).toHaveLength(1);
  });

  it('is the first one, whoever races it; the second is told who decided what (I39)', () => {
    const w = asking('write_file');
    w.decide('APPROVED');
    expect(again(w, 'DENIED').reply).toMatchObject({
      refusal: { code: 'ALREADY_DECIDED', decision: { verdict: 'APPROVED', by: { id: 'ann' } } },
    });
  });

  it('that comes a moment after the last one is told what was decided, not that there was nothing (I39, D-64; broke: a denial closed the batch and forgot)', () => {
    const w = asking('write_file');
    w.decide('DENIED');
    expect(again(w, 'APPROVED').reply).toMatchObject({
      type: 'refused',
      refusal: { code: 'ALREADY_DECIDED', decision: { verdict: 'DENIED', by: { id: 'ann' } } },
    });
  });

  it('about other arguments than those that would run is refused with what would (I40)', () => {
    const w = asking('write_file');
    const id = callIds(w)[0]!;
    expect(again(w, 'APPROVED', { argumentsHash: 'seen before an edit' }).reply).toMatchObject({
      refusal: { code: 'ARGUMENTS_CHANGED', currentHash: `hash-${id}` },
    });
    expect(shows(w)).toBe('ATTENTION');
  });

  it('about a question that is gone is refused with those that are open', () => {
    const w = asking('write_file');
    const open = w.state.projection.cycles[0]!.id;
    expect(again(w, 'APPROVED', { cycleId: 'gone' }).reply).toMatchObject({
      refusal: { code: 'APPROVAL_GONE', currentCycleIds: [open] },
    });
    w.stop();
    expect(w.command(bob, { ...decideOn(open), callId: 'x' }).reply).toMatchObject({
      refusal: { code: 'APPROVAL_GONE', currentCycleIds: [] },
    });
  });

  it('is never implied: neither a message nor a stop says yes (I41)', () => {
    const w = asking('shell');
    w.send('yes, go on, do it');
    expect(shows(w)).toBe('ATTENTION');
    w.stop();
    w.store();
    expect(outcome(w)?.type).toBe('CANCELED');
    expect(last(w, 'APPROVAL').cycle.status).toBe('SUPERSEDED');
    expect(results(w)).toEqual(['CANCELED NONE']);
    expect(w.effects.some((e) => e.type === 'runTool')).toBe(false);
  });
});

const decideOn = (cycleId: string) =>
  ({ type: 'decide', cycleId, argumentsHash: 'h', verdict: 'APPROVED', feedback: null }) as const;
