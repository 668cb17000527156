/**
 * Owns: the one fold: what follows from entries (D-58), and what a workstream is then said to be doing (D-6).
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  activityOf,
  applyEntries,
  applyEntry,
  emptyProjection,
  isCompacting,
  isConversation,
  isEstimated,
  isNearlyFull,
  isStopping,
  isSuperseded,
  openItems,
  stateOf,
  usedOf,
  type ContextMark,
  type Entry,
  type EntryBody,
  type EntryKind,
  type Projection,
} from '../../src/projection/index.ts';
import {
  anyJournal,
  ann,
  answered,
  asked,
  began,
  budgeted,
  compacting,
  configured,
  ended,
  entryAt,
  fired,
  journalOf,
  liveTurn,
  markOf,
  open,
  rewound,
  said,
  settled,
  started,
  summarised,
  watching,
  watchOf,
} from './journals.ts';

const fold = (...bodies: readonly EntryBody[]): Projection =>
  applyEntries(emptyProjection, journalOf(...bodies));

describe('the fold', () => {
  it('of a snapshot and what came after it is the fold of everything (I5, D-58)', () => {
    fc.assert(
      fc.property(anyJournal, fc.nat(40), (journal, k) => {
        const snapshot = applyEntries(emptyProjection, journal.slice(0, k));
        // A snapshot travels as JSON.
        const read = JSON.parse(JSON.stringify(snapshot)) as Projection;
        expect(applyEntries(read, journal.slice(k))).toEqual(applyEntries(emptyProjection, journal));
      }),
    );
  });

  it('is total and deterministic: any well-formed journal has one, at its last revision (I6)', () => {
    fc.assert(
      fc.property(anyJournal, (journal) => {
        const once = applyEntries(emptyProjection, journal);
        expect(once.revision).toBe(journal.length);
        expect(applyEntries(emptyProjection, journal)).toEqual(once);
        expect(() => [stateOf(once), activityOf(once), isStopping(once), openItems(once)]).not.toThrow();
      }),
    );
  });

  it('applies the next entry only: a repeat or a gap leaves the very same projection (I7)', () => {
    fc.assert(
      fc.property(anyJournal, fc.integer({ min: -3, max: 60 }), (journal, revision) => {
        const here = applyEntries(emptyProjection, journal);
        fc.pre(revision !== here.revision + 1);
        expect(applyEntry(here, entryAt(revision, { kind: 'LIFECYCLE', lifecycle: 'CLOSED', by: ann }))).toBe(
          here,
        );
      }),
    );
  });

  it('follows from entries of earlier builds, which say nothing of the context, as it did (I6)', () => {
    const before = fold(open, configured({}), began, said('a'), rewound(3));
    expect(before.context).toEqual(emptyProjection.context);
    expect([before.checkpoint, before.budgetLimit]).toEqual([null, null]);
  });

  it('of an unknown kind advances the revision and changes nothing else (I6)', () => {
    fc.assert(
      fc.property(anyJournal, fc.string(), fc.object(), (journal, word, payload) => {
        const here = applyEntries(emptyProjection, journal);
        const place = { epoch: here.epoch, generation: here.generation };
        const unknown = entryAt(
          here.revision + 1,
          { kind: `NEW_${word}` } as unknown as EntryBody,
          { ...place, payload } as Partial<Entry>,
        );
        expect(applyEntry(here, unknown)).toEqual({
          ...here,
          revision: here.revision + 1,
          updatedAt: unknown.at,
        });
      }),
    );
  });

  it.each(['constructor', 'toString', '__proto__'])(
    'is not fooled by a kind named %s (broke: it counted as progress)',
    (kind) => {
      const here = fold(open, { kind: 'TURN', turn: { ...liveTurn, recoveries: 2 } });
      const next = applyEntry(here, entryAt(3, { kind } as unknown as EntryBody));
      expect(next.turn?.recoveries).toBe(2);
      expect(isConversation(kind as EntryKind)).toBe(false);
    },
  );

  it('keeps the greatest epoch and generation it has seen (D-7)', () => {
    const journal = [
      entryAt(1, open, { epoch: 3, generation: 5 }),
      entryAt(2, open, { epoch: 2, generation: 1 }),
    ];
    expect(applyEntries(emptyProjection, journal)).toMatchObject({ epoch: 3, generation: 5 });
  });

  it('opens a batch at an answer with calls, marks them, and closes it with the last result (D-34)', () => {
    const opened = fold(open, began, said('a', 'b'), started('a'), ended('a'));
    expect(opened.batch).toMatchObject({
      messageId: 'e3',
      calls: [
        { call: { callId: 'a' }, started: true, result: { effect: 'COMMITTED' } },
        { call: { callId: 'b' }, started: false, result: null },
      ],
    });
    const half = applyEntry(opened, entryAt(6, answered('a')));
    expect(half.batch?.calls.map((c) => c.call.callId)).toEqual(['b']);
    expect(applyEntry(half, entryAt(7, answered('b'))).batch).toBeNull();
  });

  it('keeps the cycles of a batch until the next answer, and none of a settled turn (D-64)', () => {
    const closed = fold(open, began, said('a'), asked('SETTLED', 'a'), answered('a'));
    expect(closed).toMatchObject({ batch: null, cycles: [{ id: 'c1' }] });
    expect(applyEntry(closed, entryAt(6, said())).cycles).toEqual([]);
    expect(applyEntry(closed, entryAt(6, { kind: 'TURN', turn: settled('COMPLETED') })).cycles).toEqual([]);
  });

  it('puts a cycle in place of the one with its id', () => {
    const { cycles } = fold(open, began, said('a'), asked('OPEN', 'a'), asked('SUPERSEDED', 'a'));
    expect(cycles).toMatchObject([{ id: 'c1', status: 'SUPERSEDED' }]);
  });

  it.each([said(), started('a'), ended('a'), answered('a')])(
    'counts recoveries anew after $kind of a live turn (D-71)',
    (progress) => {
      const stuck = fold(open, { kind: 'TURN', turn: { ...liveTurn, recoveries: 2 } });
      expect(applyEntry(stuck, entryAt(3, progress)).turn?.recoveries).toBe(0);
    },
  );

  it('leaves a settled turn as it is (I26)', () => {
    const done = { ...settled('FAILED'), recoveries: 3 };
    expect(fold(open, { kind: 'TURN', turn: done }, answered('a')).turn).toEqual(done);
  });

  it('knows of every entry whether a rewind took it back, in spans apart from one another (D-59)', () => {
    fc.assert(
      fc.property(anyJournal, (journal) => {
        const p = applyEntries(emptyProjection, journal);
        for (const { revision } of journal)
          expect(isSuperseded(p, revision)).toBe(
            journal.some((e) => e.kind === 'REWIND' && e.after < revision && revision < e.revision),
          );
        for (const [i, { after, through }] of p.superseded.entries()) {
          expect(after).toBeGreaterThan(p.superseded[i - 1]?.through ?? -1);
          expect(through).toBeGreaterThanOrEqual(after);
        }
      }),
    );
  });

  it('makes one span of those that a later rewind covers or touches, and forgets the last turn (D-59)', () => {
    const failed: EntryBody = { kind: 'TURN', turn: settled('FAILED') };
    const once = fold(open, began, failed, said(), rewound(3));
    expect(once).toMatchObject({ superseded: [{ after: 3, through: 4 }], turn: null });
    expect(stateOf(once)).toBe('IDLE');
    const apart = applyEntries(once, [entryAt(6, said()), entryAt(7, said()), entryAt(8, rewound(6))]);
    expect(apart.superseded).toEqual([
      { after: 3, through: 4 },
      { after: 6, through: 7 },
    ]);
    expect(applyEntry(apart, entryAt(9, rewound(4))).superseded).toEqual([{ after: 3, through: 8 }]);
    expect(applyEntry(apart, entryAt(9, rewound(1))).superseded).toEqual([{ after: 1, through: 8 }]);
  });
});

describe('the state of a workstream is the first that fits (D-6, I29)', () => {
  it.each<[string, readonly EntryBody[], string]>([
    ['lifecycle before all', [began, said('a'), asked('OPEN', 'a')], 'CREATING'],
    ['closed before all', [began, { kind: 'LIFECYCLE', lifecycle: 'CLOSED', by: ann }], 'CLOSED'],
    [
      'attention before running',
      [open, began, said('a', 'b'), started('b'), asked('OPEN', 'a')],
      'ATTENTION',
    ],
    ['running while a batch is open', [open, began, said('a')], 'RUNNING'],
    ['running when the question is settled', [open, began, said('a'), asked('SETTLED', 'a')], 'RUNNING'],
    ['thinking for any other live turn', [open, began], 'THINKING'],
    ['thinking again after the results', [open, began, said('a'), answered('a')], 'THINKING'],
    ['error after a failure', [open, { kind: 'TURN', turn: settled('FAILED') }], 'ERROR'],
    [
      'idle after a summary by hand that failed, which left all as it was',
      [open, { kind: 'TURN', turn: { ...settled('FAILED'), kind: 'COMPACT' } }],
      'IDLE',
    ],
    ['idle after a stop', [open, { kind: 'TURN', turn: settled('CANCELED') }], 'IDLE'],
    ['idle before the first turn', [open], 'IDLE'],
    [
      'thinking again once newer input was accepted',
      [open, { kind: 'TURN', turn: settled('FAILED') }, { kind: 'TURN', turn: { ...liveTurn, id: 't2' } }],
      'THINKING',
    ],
  ])('%s', (_, bodies, state) => {
    expect(stateOf(fold(...bodies))).toBe(state);
  });

  it('and stopping is a flag beside it, of a live turn only', () => {
    const stopping: EntryBody = { kind: 'TURN', turn: { ...liveTurn, phase: 'INTERRUPTING' } };
    expect(isStopping(fold(open, stopping))).toBe(true);
    expect(stateOf(fold(open, stopping))).toBe('THINKING');
    expect(isStopping(fold(open, stopping, { kind: 'TURN', turn: settled('CANCELED') }))).toBe(false);
  });

  it('counts the items that nobody has decided', () => {
    const decision = { verdict: 'APPROVED', source: 'PERSON', by: ann, feedback: null, at: 't' } as const;
    const [first, second] = [fold(open, began, said('a', 'b'), asked('OPEN', 'a', 'b')).cycles[0]!].flatMap(
      (c) => c.items,
    );
    const half = { kind: 'APPROVAL', cycle: { ...cycleOf(), items: [{ ...first!, decision }, second!] } };
    const p = fold(open, began, said('a', 'b'), half as EntryBody);
    expect(openItems(p).map((i) => i.callId)).toEqual(['b']);
    expect(activityOf(p)).toBe('APPROVAL');
  });
});

const cycleOf = () => fold(open, began, said('a', 'b'), asked('OPEN', 'a', 'b')).cycles[0]!;

describe('what the fold says of the context', () => {
  const counted = { tokens: 300, told: 60 };
  const answer = (context: ContextMark): EntryBody => ({ ...said(), context }) as EntryBody;
  const weighed = (...pairs: readonly (readonly [EntryBody, number])[]): Projection =>
    applyEntries(
      emptyProjection,
      pairs.map(([body, tokens], i) => entryAt(i + 1, body, { tokens })),
    );
  const hello: EntryBody = { kind: 'USER', text: 'hello', author: ann, source: 'MESSAGE' };

  it('adds up what is told, and takes the whole account of an answer (D-39)', () => {
    expect(weighed([hello, 7], [hello, 8]).context).toMatchObject({ told: 15, counted: null });
    const after = weighed([hello, 7], [answer(markOf(60, { counted, scale: 2 })), 50], [hello, 4]);
    expect(after.context).toMatchObject({ told: 64, counted, overhead: 10, window: 1_000 });
    expect([usedOf(after.context), isEstimated(after.context)]).toEqual([308, true]);
  });

  it('begins anew with a summary, which stands whatever is taken back above its watermark (D-40, D-59)', () => {
    const told = weighed([hello, 90], [answer(markOf(95, { counted })), 5], [hello, 6]);
    const summary = applyEntry(told, entryAt(4, summarised(2, markOf(26)), { tokens: 20 }));
    expect(summary.context).toMatchObject({ told: 26, counted: null });
    expect(summary.checkpoint).toEqual({ id: 'e4', revision: 4, watermark: 2 });
    const back = applyEntry(
      summary,
      entryAt(5, { kind: 'REWIND', after: 2, reason: 'REWIND', by: ann, context: markOf(20) }),
    );
    expect(isSuperseded(back, 4)).toBe(true);
    expect([back.checkpoint, back.context.told]).toEqual([summary.checkpoint, 20]);
  });

  it('believes no count of one model for another (D-39)', () => {
    const chosen = weighed(
      [configured({}), 0],
      [answer(markOf(60, { counted })), 60],
      [configured({ model: 'other' }), 0],
    );
    expect(chosen.context).toMatchObject({ told: 60, counted: null, window: null });
    const named = applyEntry(
      weighed([configured({}), 0], [answer(markOf(60, { counted })), 60]),
      entryAt(3, configured({ instructions: 'Be brief.' })),
    );
    expect(named.context).toMatchObject({ counted, window: 1_000 });
  });

  it('counts the compactions of a turn once each, and those that came to nothing until one does not (D-40)', () => {
    const advice: EntryBody = { kind: 'SYSTEM', text: 'wind down', source: 'COMPACTION_ADVICE' };
    const tried = fold(open, began, advice, compacting('co1'), compacting('co1'));
    expect(fold(open, began, advice).context.advised).toBe(true);
    expect(tried.context).toMatchObject({ advised: false, tried: 'OVERFLOW', failures: 1 });
    const again = fold(open, began, compacting('co1'), began, said(), compacting('co2'));
    expect(again.context.failures).toBe(2);
    expect(fold(open, began, compacting('co1'), began, said()).context).toMatchObject({
      tried: null,
      failures: 1,
    });
    const made = fold(open, began, compacting('co1'), summarised(1, markOf(9)));
    expect(made.context).toMatchObject({ tried: 'OVERFLOW', failures: 0 });
    const over = fold(open, began, advice, compacting('co1'), {
      kind: 'TURN',
      turn: settled('COMPLETED'),
    });
    expect(over.context).toMatchObject({ advised: false, tried: null, failures: 0 });
  });

  it('says that it is being summarised: RUNNING within a batch, THINKING otherwise (I29)', () => {
    const thinking = fold(open, began, compacting('co1'));
    expect([stateOf(thinking), activityOf(thinking), isCompacting(thinking)]).toEqual([
      'THINKING',
      'COMPACTING',
      true,
    ]);
    const running = fold(open, began, said('a'), compacting('co1'));
    expect([stateOf(running), activityOf(running)]).toEqual(['RUNNING', 'COMPACTING']);
  });

  it.each([
    [0, 800, false],
    [0, 801, true],
    [1, 800, true],
  ])('warns above 80 %% of the window: overhead %i, told %i', (overhead, told, warned) => {
    expect(isNearlyFull(markOf(told, { overhead }))).toBe(warned);
    expect(isNearlyFull(markOf(told, { overhead, window: null }))).toBe(false);
  });
});

describe('what the fold says of the budget (D-33)', () => {
  const asking = { spent: 1_200, limit: 1_000, grant: 1_000 };
  const limited = (...bodies: readonly EntryBody[]): number | null =>
    fold(open, configured({ tokenBudget: 1_000 }), began, ...bodies).budgetLimit;

  it('is where it was set, further by what was granted, and where it was when it was denied', () => {
    expect(limited()).toBe(1_000);
    expect(limited(budgeted(asking, null))).toBe(1_000);
    expect(limited(budgeted(asking, 'APPROVED'))).toBe(2_200);
    expect(limited(budgeted(asking, 'DENIED'))).toBe(1_000);
  });

  it('stays granted when something else is set, and is as set when the budget is', () => {
    const granted = budgeted(asking, 'APPROVED');
    expect(limited(granted, configured({ tokenBudget: 1_000, model: 'other' }))).toBe(2_200);
    expect(limited(granted, configured({ tokenBudget: 5_000 }))).toBe(5_000);
    expect(limited(granted, configured({}))).toBeNull();
  });

  it('is not made less by a grant for which it was raised or taken away meanwhile', () => {
    expect(limited(configured({ tokenBudget: 9_000 }), budgeted(asking, 'APPROVED'))).toBe(9_000);
    expect(limited(configured({}), budgeted(asking, 'APPROVED'))).toBeNull();
  });

  it('asks for attention', () => {
    const asked = fold(open, began, budgeted(asking, null));
    expect([stateOf(asked), activityOf(asked)]).toEqual(['ATTENTION', 'BUDGET']);
  });
});

describe('watches', () => {
  it('are those that have not ended, in the order they were made, each as it was last said to be (D-80)', () => {
    const paused = { status: 'PAUSED', pausedBy: 'PERSON', due: null } as const;
    const p = fold(watching('a'), watching('b'), watching('a', paused), watching('c'));
    expect(p.watches).toEqual([watchOf('a', paused), watchOf('b'), watchOf('c')]);
    expect(fold().watches).toEqual([]);
  });

  it('that have ended are gone, and the others stay', () => {
    const ends = { status: 'ENDED', end: 'CANCELED', due: null } as const;
    expect(fold(watching('a'), watching('b'), watching('a', ends)).watches).toEqual([watchOf('b')]);
    expect(fold(watching('a', ends)).watches).toEqual([]);
  });

  it('outlive a rewind: what is taken back is conversation', () => {
    expect(fold(open, watching('a'), rewound(1)).watches).toEqual([watchOf('a')]);
  });

  it('are no part of the conversation; what they said is, and changes nothing else', () => {
    expect(isConversation('WATCH')).toBe(false);
    expect(isConversation('SYSTEM')).toBe(true);
    const before = fold(open, watching('a'));
    const after = fold(open, watching('a'), fired('a', 3));
    const { revision, updatedAt } = before;
    expect({ ...after, revision, updatedAt }).toEqual(before);
  });
});
