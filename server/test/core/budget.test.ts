/**
 * Owns: the budget of a workstream (D-33), example by example: a person is asked before a model is, and what follows.
 */
import { activityOf, openCycles } from 'schema/projection';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { canUnload } from '../../src/core/workstream/lifecycle.ts';
import { all, kinds, last, outcome, queued, said, shows } from './support/telling.ts';
import { bob, createWorld, type World } from './support/world.ts';

const words = (n: number): string => 'word '.repeat(n).trim();

/** A workstream with a budget, and one exchange that cost about 1,100 tokens. */
function spent(budget = 1_000): World {
  const w = createWorld();
  w.provider = { window: 8_000, overhead: 90, factor: 1, counts: 'HONESTLY' };
  w.budget(budget);
  w.send('first');
  w.store();
  w.answer({ text: words(1_000) });
  w.store();
  return w;
}

/** And is asked for more, because of a message. */
function asked(budget?: number): World {
  const w = spent(budget);
  w.send('second');
  w.store();
  return w;
}

const question = (w: World) => openCycles(w.state.projection)[0];
const limit = (w: World) => w.state.projection.budgetLimit;
/** The model answers with so many tokens. */
const spend = (w: World, tokens: number): void => {
  w.answer({ text: words(tokens) });
  w.store();
};

describe('a budget', () => {
  it('lets the model be asked until it is spent; the answer that spends it is kept', () => {
    const w = spent();
    expect(w.state.spent).toBeGreaterThan(1_000);
    expect(limit(w)).toBe(1_000);
    expect(outcome(w)).toMatchObject({ type: 'COMPLETED' });
    expect(question(w)).toBeUndefined();
  });

  it('that is spent asks a person before the model, with the message safe first (D-33)', () => {
    const w = asked();
    expect(w.modelCalls).toEqual([]);
    expect(kinds(w).slice(-3)).toEqual(['TURN', 'USER', 'APPROVAL']);
    expect(said(w)).toEqual(['first', 'second']);
    expect(shows(w)).toBe('ATTENTION');
    expect(activityOf(w.state.projection)).toBe('BUDGET');
  });

  it('asks with one item without arguments, which says what was spent and what is asked for', () => {
    const w = asked();
    const cycle = question(w)!;
    const { spent: tokens } = w.state;
    expect(cycle).toMatchObject({ kind: 'BUDGET', budget: { spent: tokens, limit: 1_000, grant: 1_000 } });
    expect(cycle.items).toHaveLength(1);
    const [item] = cycle.items;
    expect(item).toMatchObject({ name: 'budget', arguments: '', basis: null, decision: null });
    expect(item?.argumentsHash).toBe(createHash('sha256').update('budget\n').digest('hex'));
    expect(item?.preview.body).toContain(new Intl.NumberFormat('en').format(tokens));
    expect(item?.preview.body).toContain('let it spend 1,000 more');
  });

  it('is asked about before every call, also in the middle of a turn', () => {
    const w = createWorld();
    w.provider = { window: 8_000, overhead: 90, factor: 1, counts: 'HONESTLY' };
    w.budget(90);
    w.send('first');
    w.store();
    w.declare('read_file');
    w.store();
    w.prepare('read');
    w.store();
    w.end(w.running[0]!.call.callId);
    w.store();
    expect(kinds(w).slice(-2)).toEqual(['TOOL', 'APPROVAL']);
    expect(w.modelCalls).toEqual([]);
  });

  it('is asked about before another attempt, when the one that failed spent it', () => {
    const w = createWorld();
    w.provider = { window: 8_000, overhead: 190, factor: 1, counts: 'NOTHING' };
    w.budget(100);
    w.send('first');
    w.store();
    w.fail();
    w.waitOver();
    w.store();
    expect(question(w)?.kind).toBe('BUDGET');
    expect([w.modelCalls, w.state.attempt]).toEqual([[], null]);
  });

  it('counts what comes of a call that is given up, under whatever claim it comes (D-5)', () => {
    const w = createWorld();
    w.provider = { window: 8_000, overhead: 90, factor: 1, counts: 'NOTHING' };
    w.budget(50);
    w.send('first');
    w.store();
    w.force();
    expect(w.state.spent).toBe(0);
    const { entries, batch, calls } = w.endModel({ type: 'aborted' });
    expect([entries, calls.length]).toEqual([[], 1]);
    expect(batch).not.toBeNull();
    expect(w.state.spent).toBeGreaterThan(90);
    w.send('second');
    expect(question(w)?.kind).toBe('BUDGET');
    w.store();
    w.crash();
    expect(w.state.spent).toBe(w.durablySpent);
  });

  it('leaves a workstream the question’s own words for a name, and no model is asked, where the first exchange spent it (broke: it had none for ever)', () => {
    const w = spent();
    expect(w.titles).toEqual([]);
    expect(w.state.projection.configuration).toMatchObject({ title: 'first', titleSource: 'GENERATED' });
    expect(spent(9_000).titles).toHaveLength(1);
  });
});

describe('more budget that is granted', () => {
  it('is one more of the same, from what is spent on, and the model is asked', () => {
    const w = asked();
    const { spent: tokens } = w.state;
    w.decide('APPROVED');
    expect(limit(w)).toBe(tokens + 1_000);
    w.store();
    expect(w.modelCalls).toHaveLength(1);
    expect(question(w)).toBeUndefined();
    spend(w, 10);
    w.send('third');
    w.store();
    expect(question(w)?.kind).toBe('BUDGET');
  });

  it('is told to the model with what was said with it', () => {
    const w = asked();
    w.decide('APPROVED', { feedback: 'but be brief' });
    w.store();
    expect(last(w, 'USER')).toMatchObject({ text: 'but be brief', source: 'FEEDBACK' });
    expect(w.modelCalls).toHaveLength(1);
  });

  it('may be granted by anybody, who then says nothing on other credentials (D-12)', () => {
    const w = asked();
    expect(w.decide('APPROVED', { by: bob, feedback: 'mine' }).reply).toMatchObject({
      refusal: { code: 'NOT_YOURS' },
    });
    expect(w.decide('APPROVED', { by: bob }).reply?.type).toBe('accepted');
  });
});

describe('more budget that is denied', () => {
  it('ends the turn with BUDGET_DENIED, and the message stays (D-33)', () => {
    const w = asked();
    w.decide('DENIED');
    expect(outcome(w)).toMatchObject({ type: 'CANCELED', reason: 'BUDGET_DENIED' });
    expect(outcome(w)?.message).toMatch(/Set a larger one/);
    expect(said(w)).toEqual(['first', 'second']);
    expect(w.state.conversation.at(-1)).toMatchObject({ kind: 'USER', text: 'second' });
    expect(limit(w)).toBe(1_000);
    w.store();
    expect(w.modelCalls).toEqual([]);
  });

  it('holds what waits, and the next message asks again', () => {
    const w = asked();
    w.send('later');
    w.decide('DENIED');
    expect(queued(w)).toEqual(['later']);
    expect(w.state.projection.queue.held).toBe(true);
    w.send('and this');
    expect(question(w)?.kind).toBe('BUDGET');
  });
});

describe('the question', () => {
  it('is not answered by Stop, which is STOPPED, and the message stays', () => {
    const w = asked();
    w.stop();
    expect(outcome(w)).toMatchObject({ type: 'CANCELED', reason: 'STOPPED' });
    expect(last(w, 'APPROVAL').cycle).toMatchObject({ status: 'SUPERSEDED', items: [{ decision: null }] });
    expect(said(w)).toEqual(['first', 'second']);
  });

  it('is not denied by a Stop that was meant for an earlier turn', () => {
    const w = spent();
    const old = w.state.projection.turn!.id;
    w.send('second');
    w.store();
    expect(w.stop(old).reply).toMatchObject({ refusal: { code: 'STALE_TURN' } });
    expect(question(w)?.status).toBe('OPEN');
  });

  it.each(['TRUST_WORKSPACE', 'TRUST_ALL'] as const)('is answered by no mode: %s (I41)', (mode) => {
    const w = spent();
    w.configure(mode);
    w.send('second');
    w.store();
    expect(question(w)?.items[0]?.decision).toBeNull();
    w.configure('ASK');
    w.configure(mode);
    expect(question(w)?.status).toBe('OPEN');
    expect(w.modelCalls).toEqual([]);
  });

  it('is answered by no message and no steer (I41)', () => {
    const w = asked();
    w.steer('do it');
    w.send('please');
    expect(question(w)?.status).toBe('OPEN');
    expect(w.modelCalls).toEqual([]);
  });

  it('is answered once, and only about what was asked', () => {
    const w = asked();
    expect(w.decide('APPROVED', { hash: 'other' }).reply).toMatchObject({
      refusal: { code: 'ARGUMENTS_CHANGED' },
    });
    const cycle = question(w)!;
    w.decide('APPROVED');
    const { reply } = w.command(bob, {
      type: 'decide',
      cycleId: cycle.id,
      callId: cycle.items[0]!.callId,
      argumentsHash: cycle.items[0]!.argumentsHash,
      verdict: 'DENIED',
      feedback: null,
    });
    expect(reply).toMatchObject({ refusal: { code: 'ALREADY_DECIDED' } });
  });

  it.each([false, true])(
    'is kept open under the same ids by another process, and counts as no recovery (lazily: %s) (I44)',
    (lazily) => {
      const w = asked();
      const cycle = question(w)!;
      expect(canUnload(w.state)).toBe(true);
      for (let i = 0; i < 4; i += 1) {
        w.crash(lazily);
        w.store();
      }
      expect(openCycles(w.state.projection)).toEqual([cycle]);
      expect(w.state.projection.turn?.recoveries).toBe(0);
      w.decide('APPROVED');
      w.store();
      expect(w.modelCalls).toHaveLength(1);
    },
  );

  it('is asked anew when it was lost before it was durable', () => {
    const w = spent();
    w.send('second');
    w.crash();
    expect(said(w)).toEqual(['first']);
    expect(question(w)).toBeUndefined();
  });
});

describe('a budget that is set anew', () => {
  it('larger lets the next call pass without a question', () => {
    const w = spent();
    w.budget(50_000);
    w.send('second');
    w.store();
    expect(w.modelCalls).toHaveLength(1);
  });

  it('is removed by nothing, and nothing is asked any more', () => {
    const w = spent();
    w.budget(0);
    expect(limit(w)).toBeNull();
    expect(w.state.projection.configuration).not.toHaveProperty('tokenBudget');
    w.send('second');
    w.store();
    expect(w.modelCalls).toHaveLength(1);
  });

  it('to what it is takes back nothing that was granted', () => {
    const w = asked();
    w.decide('APPROVED');
    const granted = limit(w);
    w.budget(1_000);
    w.rename('Another name');
    expect(limit(w)).toBe(granted);
  });

  it('while it is asked about answers nothing, and the grant then makes it no smaller', () => {
    const w = asked();
    w.budget(50_000);
    expect(question(w)?.status).toBe('OPEN');
    w.decide('APPROVED');
    expect(limit(w)).toBe(50_000);
  });

  it('to none while it is asked about stays none, and is asked about no more', () => {
    const w = asked();
    w.budget(0);
    w.decide('APPROVED');
    expect(limit(w)).toBeNull();
    w.store();
    spend(w, 5_000);
    w.send('third');
    w.store();
    expect(w.modelCalls).toHaveLength(1);
  });
});

describe('a summary on a budget that is spent', () => {
  it('by hand is begun when more is granted, and is none when it is denied', () => {
    const denied = spent();
    denied.compact();
    denied.store();
    expect(question(denied)?.kind).toBe('BUDGET');
    expect(denied.summaries).toEqual([]);
    denied.decide('DENIED');
    expect(outcome(denied)).toMatchObject({ type: 'CANCELED', reason: 'BUDGET_DENIED' });

    const granted = spent();
    granted.compact();
    granted.store();
    granted.crash(true);
    granted.decide('APPROVED');
    granted.readForSummary();
    granted.store();
    granted.summarised('In short.');
    expect(outcome(granted)).toMatchObject({ type: 'COMPLETED', reason: 'COMPACTED' });
  });

  it('at the end of a turn is not begun: the turn ends', () => {
    const w = createWorld();
    w.provider = { window: 1_200, overhead: 90, factor: 1, counts: 'HONESTLY' };
    w.budget(1_000);
    w.send('first');
    w.store();
    w.answer({ text: words(1_000) });
    expect(outcome(w)).toMatchObject({ type: 'COMPLETED', reason: 'DONE' });
  });

  /** Results for which there is no room, and no budget to make it. */
  function owed(): World {
    const w = createWorld();
    w.provider = { window: 2_000, overhead: 90, factor: 1, counts: 'HONESTLY' };
    w.send(words(900));
    w.store();
    w.answer({ text: words(400) });
    w.store();
    w.budget(1_000_000);
    w.send('go');
    w.store();
    w.declare('read_file');
    w.store();
    w.prepare('read');
    w.store();
    w.budget(1);
    w.end(w.running[0]!.call.callId, { content: words(900) });
    w.store();
    return w;
  }

  it('for results is asked about before they are sized, and made when that is granted (D-34)', () => {
    const w = owed();
    expect(question(w)?.kind).toBe('BUDGET');
    expect(all(w, 'TOOL')).toEqual([]);
    w.budget(5_000);
    w.decide('APPROVED', { feedback: 'be brief' });
    expect(w.state.projection.turn?.compaction?.trigger).toBe('TOOLS');
    w.store();
    w.summarised('In short.');
    expect(last(w, 'TOOL').content).toBe(words(900));
    expect(last(w, 'USER')).toMatchObject({ text: 'be brief', source: 'FEEDBACK' });
    expect(all(w, 'USER').filter((e) => e.source === 'FEEDBACK')).toHaveLength(1);
  });

  it('for results is asked about under the same ids in another process, and the results wait', () => {
    const w = owed();
    const cycle = question(w)!;
    w.crash();
    w.store();
    expect(openCycles(w.state.projection)).toEqual([cycle]);
    expect(all(w, 'TOOL')).toEqual([]);
    expect(canUnload(w.state)).toBe(true);
    w.decide('DENIED');
    expect(outcome(w)).toMatchObject({ reason: 'BUDGET_DENIED' });
    expect(all(w, 'TOOL')).toHaveLength(1);
  });

  it('is not begun again by another process, and the turn goes on to the question', () => {
    const w = owed();
    w.budget(5_000);
    w.decide('APPROVED');
    w.store();
    expect(w.summaries).toHaveLength(1);
    w.budget(1);
    w.store();
    w.crash();
    w.store();
    expect(w.summaries).toEqual([]);
    expect(question(w)?.kind).toBe('BUDGET');
    expect(all(w, 'TOOL')).toHaveLength(1);
  });

  it('for what did not fit is asked about first, and then what does not fit again is summarised', () => {
    const w = spent(9_000);
    w.send('second');
    w.store();
    w.budget(1);
    w.overflow('THERE', 'Too long.');
    w.store();
    expect(question(w)?.kind).toBe('BUDGET');
    w.budget(90_000);
    w.decide('APPROVED');
    w.store();
    w.overflow('THERE', 'Too long.');
    expect(w.state.projection.turn?.compaction?.trigger).toBe('OVERFLOW');
  });

  it('that ends it on the way is asked about, and then what does not fit is summarised (D-33; broke: the turn failed)', () => {
    const w = spent(9_000);
    w.send('second');
    w.store();
    w.overflow('THERE', 'Too long.');
    w.store();
    expect(w.summaries).toHaveLength(1);
    w.budget(1);
    w.summarised({ type: 'failed', reason: 'BUDGET_SPENT', message: 'The token budget was spent.' });
    expect(outcome(w)).toBeNull();
    expect(question(w)?.kind).toBe('BUDGET');
    w.budget(90_000);
    w.store();
    w.crash();
    w.store();
    w.decide('APPROVED');
    w.store();
    w.overflow('THERE', 'Too long.');
    expect(w.state.projection.turn?.compaction?.trigger).toBe('OVERFLOW');
    w.store();
    w.summarised('In short.');
    w.store();
    w.answer({ text: 'Done.' });
    expect(outcome(w)).toMatchObject({ type: 'COMPLETED' });
  });
});
