/**
 * Owns: modes of a workstream (D-64): what runs unasked, and how the rows say so, example by example.
 */
import { describe, expect, it } from 'vitest';
import { rule, type Ruling } from '../../src/core/approvals/policy.ts';
import { all, callIds, kinds, last, results, shows } from './support/telling.ts';
import { ann, bob, createWorld, type PreparedKind, type World } from './support/world.ts';

/** A turn of Ann's in a workstream whose mode Bob set, with calls prepared to be of these kinds. */
function prepared(mode: 'ASK' | 'TRUST_WORKSPACE' | 'TRUST_ALL', ...of: readonly PreparedKind[]): World {
  const w = createWorld();
  w.configure(mode, bob);
  w.send('go');
  w.store();
  w.declare(...of);
  w.store();
  w.prepare(...of);
  w.store();
  return w;
}

const sources = (w: World) =>
  all(w, 'APPROVAL')
    .at(-1)
    ?.cycle.items.map(({ decision }) => decision && [decision.verdict, decision.source, decision.by.id]);
const ran = (w: World) => w.running.map((r) => r.call.name);

describe('a mode', () => {
  it.each<['ASK' | 'TRUST_WORKSPACE' | 'TRUST_ALL', readonly Ruling[]]>([
    ['ASK', ['FREE', 'ASK', 'ASK']],
    ['TRUST_WORKSPACE', ['FREE', 'TRUSTED', 'ASK']],
    ['TRUST_ALL', ['FREE', 'TRUSTED', 'TRUSTED']],
  ])('%s says who is asked about looking, changing files and running commands', (mode, rulings) => {
    expect((['READ', 'WRITE', 'EXECUTE'] as const).map((access) => rule(access, mode))).toEqual(rulings);
  });

  it('that trusts writes the row a person would have, in the name of who set it, and the call runs (D-64)', () => {
    const w = prepared('TRUST_ALL', 'write', 'execute');
    const { status, openedAt, closedAt } = last(w, 'APPROVAL').cycle;
    expect({ status, closedAt }).toEqual({ status: 'SETTLED', closedAt: openedAt });
    expect(sources(w)).toEqual([
      ['APPROVED', 'TRUST_ALL', 'bob'],
      ['APPROVED', 'TRUST_ALL', 'bob'],
    ]);
    expect(ran(w)).toEqual(['write', 'execute']);
    const [id] = callIds(w);
    expect(w.running[0]?.basis).toBe(`basis-${id}`);
    // The row is in the journal before the call starts.
    expect(kinds(w).indexOf('APPROVAL')).toBeLessThan(kinds(w).indexOf('TOOL_STARTED'));
  });

  it('leaves no row for a call that only looks', () => {
    expect(all(prepared('TRUST_ALL', 'read'), 'APPROVAL')).toEqual([]);
  });

  it('that trusts edits asks about commands, in one question with what it answered itself', () => {
    const w = prepared('TRUST_WORKSPACE', 'read', 'write', 'execute', 'invalid');
    expect(shows(w)).toBe('ATTENTION');
    expect(all(w, 'APPROVAL')).toHaveLength(1);
    expect(sources(w)).toEqual([['APPROVED', 'TRUST_WORKSPACE', 'bob'], null]);
    expect(ran(w)).toEqual(['read', 'write']);
    const execute = callIds(w)[2]!;
    w.decide('DENIED');
    for (const { call } of w.running) w.end(call.callId);
    expect(last(w, 'APPROVAL').cycle.status).toBe('SETTLED');
    expect(all(w, 'APPROVAL').at(-1)?.cycle.items.at(-1)).toMatchObject({
      callId: execute,
      decision: { verdict: 'DENIED', source: 'PERSON', by: ann },
    });
    expect(results(w)).toEqual(['OK COMMITTED', 'OK COMMITTED', 'DENIED NONE', 'ERROR NONE']);
  });

  it('that decided is told to who decides after it (I39)', () => {
    const w = prepared('TRUST_WORKSPACE', 'write', 'execute');
    const cycle = w.state.projection.cycles[0]!;
    const [trusted] = cycle.items;
    const late = {
      type: 'decide',
      cycleId: cycle.id,
      callId: trusted!.callId,
      argumentsHash: trusted!.argumentsHash,
      verdict: 'DENIED',
      feedback: null,
    } as const;
    expect(w.command(ann, late).reply).toMatchObject({
      refusal: { code: 'ALREADY_DECIDED', decision: { source: 'TRUST_WORKSPACE', by: bob } },
    });
  });

  it('set while a question is open answers nothing, nor does a crash after it (I41)', () => {
    const w = prepared('ASK', 'write', 'execute');
    w.configure('TRUST_ALL');
    w.store();
    expect(shows(w)).toBe('ATTENTION');
    expect(sources(w)).toEqual([null, null]);
    w.crash();
    w.store();
    expect(sources(w)).toEqual([null, null]);
    expect(w.effects.some((e) => e.type === 'runTool')).toBe(false);
  });

  it('set back to asking counts for calls that were not prepared yet', () => {
    const w = createWorld();
    w.configure('TRUST_ALL');
    w.send('go');
    w.store();
    w.declare('shell');
    w.configure('ASK');
    w.prepare('execute');
    expect(shows(w)).toBe('ATTENTION');
  });

  it('set to what it is changes nothing, nor who had set it', () => {
    const w = createWorld();
    w.configure('TRUST_ALL', bob);
    for (const mode of ['TRUST_ALL', null] as const) {
      const { entries, reply } = w.configure(mode);
      expect(entries).toEqual([]);
      expect(reply).toMatchObject({
        acceptance: { configuration: { approvalMode: 'TRUST_ALL', approvalModeBy: bob } },
      });
    }
  });
});

describe('a call that a mode trusted', () => {
  it('and whose row was lost with its process is prepared and trusted anew (D-70)', () => {
    const w = createWorld();
    w.configure('TRUST_ALL', bob);
    w.send('go');
    w.store();
    w.declare('shell');
    w.store();
    w.prepare('execute');
    const id = callIds(w)[0]!;
    w.crash();
    expect(w.preparing).toMatchObject([{ calls: [{ callId: id }] }]);
    w.prepare('execute');
    w.store();
    expect(ran(w)).toEqual(['shell']);
  });

  it('and waits for a slot keeps its word though the mode is set back, also after a crash', () => {
    const w = prepared('TRUST_ALL', 'write', 'write', 'write', 'write', 'write');
    const fifth = callIds(w)[4]!;
    w.configure('ASK');
    w.store();
    w.crash();
    w.store();
    expect(w.running.map((r) => [r.call.callId, r.basis])).toEqual([[fifth, `basis-${fifth}`]]);
    expect(shows(w)).toBe('RUNNING');
  });

  it('and that had started when its process was lost is UNKNOWN and not run again (D-9, I37)', () => {
    const w = prepared('TRUST_ALL', 'execute');
    w.crash();
    expect(results(w)).toEqual(['CANCELED UNKNOWN']);
    w.store();
    expect(w.running).toEqual([]);
  });
});

describe('feedback', () => {
  it('by another than the principal is refused, for it would run on his credentials; the decision alone is not (D-12)', () => {
    const w = prepared('ASK', 'write');
    expect(w.decide('DENIED', { by: bob, feedback: 'rather this' }).reply).toMatchObject({
      refusal: { code: 'NOT_YOURS', author: ann },
    });
    expect(shows(w)).toBe('ATTENTION');
    expect(w.decide('DENIED', { by: bob, feedback: '' }).reply?.type).toBe('accepted');
    expect(all(w, 'USER').map((e) => e.source)).toEqual(['MESSAGE']);
  });
});
