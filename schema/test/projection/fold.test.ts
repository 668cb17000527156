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
  isConversation,
  isStopping,
  isSuperseded,
  openItems,
  stateOf,
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
  ended,
  entryAt,
  journalOf,
  liveTurn,
  open,
  rewound,
  said,
  settled,
  started,
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
        expect(applyEntry(here, entryAt(revision, { kind: 'LIFECYCLE', lifecycle: 'CLOSED' }))).toBe(here);
      }),
    );
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
    ['closed before all', [began, { kind: 'LIFECYCLE', lifecycle: 'CLOSED' }], 'CLOSED'],
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
