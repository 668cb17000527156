/**
 * Owns: what a subscriber knows after each item of a feed (D-53 to D-58).
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applyEntries,
  applyItem,
  durableThrough,
  emptyOverlay,
  emptyProjection,
  outputTail,
  toolOutputTail,
  viewOf,
  type Entry,
  type FeedItem,
  type View,
  type ViewChange,
} from '../../src/projection/index.ts';
import { anyJournal, began, ended, entryAt, journalOf, liveTurn, open, said, settled } from './journals.ts';

const fresh = (durable: readonly Entry[], pending: readonly Entry[] = [], epoch = 1): View =>
  viewOf(applyEntries(emptyProjection, durable), pending, epoch);

const after = (view: View, ...items: readonly FeedItem[]): View =>
  items.reduce((v, item) => applyItem(v, item)[0], view);

const change = (view: View, item: FeedItem): ViewChange => applyItem(view, item)[1];

const admit = (entry: Entry, durable = false): FeedItem => ({ type: 'EntryAdmitted', entry, durable });

const text = (offset: number, more: string, messageId = 'm1', channel: 'TEXT' | 'REASONING' = 'TEXT') =>
  ({ type: 'StreamChunk', messageId, turnId: 't1', channel, offset, text: more }) as const;

const output = (offset: number, more: string, callId = 'a'): FeedItem => ({
  type: 'ToolOutputChunk',
  callId,
  offset,
  text: more,
});

describe('an entry', () => {
  const two = fresh(journalOf(open, began));

  it('that is next is shown at once, and durable when the mark reaches it (D-50, D-53)', () => {
    const shown = after(two, admit(entryAt(3, said())));
    expect(shown.projection.revision).toBe(3);
    expect(durableThrough(shown)).toBe(2);
    const landed = after(shown, { type: 'EntriesDurable', durableThrough: 3 });
    expect(landed.base).toEqual(shown.projection);
    expect(landed.pending).toEqual([]);
  });

  it('that is there already is a repeat and changes nothing (I7)', () => {
    const [view, what] = applyItem(two, admit(entryAt(2, said())));
    expect(view).toBe(two);
    expect(what.type).toBe('nothing');
  });

  it('that is not the next is never applied: the subscriber goes back to where it was (I7)', () => {
    const [view, what] = applyItem(two, admit(entryAt(4, said())));
    expect(view).toBe(two);
    expect(what.type).toBe('resubscribe');
  });

  it('that arrives durable makes everything before it durable too', () => {
    const view = after(two, admit(entryAt(3, said())), admit(entryAt(4, said()), true));
    expect(durableThrough(view)).toBe(4);
    expect(view.pending).toEqual([]);
  });

  it('with the id of the open message takes its place (I13)', () => {
    const view = after(two, text(0, 'hel'), admit(entryAt(3, said(), { id: 'm1' })));
    expect(view.overlay).toEqual(emptyOverlay);
  });

  it('that settles a call ends its live output; one that settles the turn ends all that was only shown', () => {
    const busy = after(two, admit(entryAt(3, said('a', 'b'))), output(0, 'one'), output(0, 'two', 'b'));
    expect(Object.keys(after(busy, admit(entryAt(4, ended('a')))).overlay.tools)).toEqual(['b']);
    const over = after(busy, text(0, 'x'), admit(entryAt(4, { kind: 'TURN', turn: settled('CANCELED') })));
    expect(over.overlay).toEqual(emptyOverlay);
  });
});

describe('a chunk of the open message (I13)', () => {
  const start = fresh(journalOf(open, began));
  const shown = (view: View): string | undefined => view.overlay.message?.text;

  it('never moves the revision', () => {
    expect(after(start, text(0, 'hello')).projection).toBe(start.projection);
  });

  it('at the local length appends; at 0 replaces', () => {
    const hello = after(start, text(0, 'hel'), text(3, 'lo'));
    expect(shown(hello)).toBe('hello');
    expect(shown(after(hello, text(0, 'bye')))).toBe('bye');
  });

  it('below the local length is a repeat, above it waits for the re-base', () => {
    const hello = after(start, text(0, 'hello'));
    expect(shown(after(hello, text(2, 'XX')))).toBe('hello');
    expect(shown(after(hello, text(9, 'XX')))).toBe('hello');
    expect(change(hello, text(9, 'XX')).type).toBe('nothing');
  });

  it('of another message begins a new one at 0, and is ignored at any other offset', () => {
    const hello = after(start, text(0, 'hello'));
    expect(shown(after(hello, text(5, ' you', 'm2')))).toBe('hello');
    expect(after(hello, text(0, 'again', 'm2')).overlay.message).toMatchObject({ id: 'm2', text: 'again' });
  });

  it('keeps text and reasoning apart, each with its own offsets', () => {
    const both = after(
      start,
      text(0, 'why', 'm1', 'REASONING'),
      text(0, 'so'),
      text(3, '?', 'm1', 'REASONING'),
    );
    expect(both.overlay.message).toMatchObject({ reasoning: 'why?', text: 'so' });
  });

  it('is void after a StreamReset of its message, and only of its', () => {
    const hello = after(start, text(0, 'hello'));
    const reset = (messageId: string): FeedItem => ({ type: 'StreamReset', messageId, reason: 'again' });
    expect(after(hello, reset('m1')).overlay.message).toBeNull();
    expect(after(hello, reset('m0'))).toBe(hello);
  });

  it('cut anywhere and told twice makes the text it was cut from', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1 })), fc.array(fc.nat(9)), (pieces, repeats) => {
        const chunks = pieces.map((piece, i) => text(pieces.slice(0, i).join('').length, piece));
        const told = chunks.flatMap((chunk, i) => {
          const again = chunks[Math.max(1, i - (repeats[i] ?? 0))];
          // The first chunk is at 0 and replaces, as a re-base does: it is not told again here.
          return again && again.offset > 0 && again.offset <= chunk.offset ? [chunk, again] : [chunk];
        });
        expect(shown(after(start, ...told)) ?? '').toBe(pieces.join(''));
      }),
    );
  });
});

describe('live output of a call', () => {
  const start = fresh(journalOf(open, began, said('a')));
  const shown = (view: View) => view.overlay.tools['a'];

  it('goes on at its end; what is known already is a repeat', () => {
    const view = after(start, output(0, 'abc'), output(3, 'def'));
    expect(shown(view)).toEqual({ offset: 0, text: 'abcdef' });
    expect(after(view, output(0, 'abc'))).toBe(view);
    expect(after(view, output(2, 'cd'))).toBe(view);
  });

  it('that overlaps goes on from there (broke: a re-base within the known tail was dropped)', () => {
    expect(shown(after(start, output(10, 'abcd'), output(12, 'cdef')))).toEqual({
      offset: 10,
      text: 'abcdef',
    });
  });

  it('that leaves a hole, or reaches further back, begins anew', () => {
    const view = after(start, output(10, 'abc'));
    expect(shown(after(view, output(20, 'xyz')))).toEqual({ offset: 20, text: 'xyz' });
    expect(shown(after(view, output(5, '56789abcde')))).toEqual({ offset: 5, text: '56789abcde' });
  });

  it('is kept as a tail of 65,536 units that says where it begins, and never begins with half a pair', () => {
    const long = after(start, output(0, 'x'.repeat(toolOutputTail)), output(toolOutputTail, 'yz'));
    expect(shown(long)).toEqual({ offset: 2, text: `${'x'.repeat(toolOutputTail - 2)}yz` });
    const pairs = outputTail({ offset: 7, text: `😀${'x'.repeat(toolOutputTail - 1)}` });
    expect(pairs).toEqual({ offset: 9, text: 'x'.repeat(toolOutputTail - 1) });
    expect(pairs.text.isWellFormed()).toBe(true);
  });

  it('cut anywhere, told twice or late is the whole output or a true part of it', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, maxLength: 60 }),
        fc.array(fc.tuple(fc.nat(60), fc.nat(20))),
        (whole, cuts) => {
          const told = cuts.map(([from, length]) =>
            output(from % whole.length, whole.slice(from % whole.length).slice(0, length)),
          );
          const view = after(start, ...told.filter((c) => c.type === 'ToolOutputChunk' && c.text !== ''));
          const known = shown(view);
          if (known) expect(whole.slice(known.offset, known.offset + known.text.length)).toBe(known.text);
        },
      ),
    );
  });
});

describe('a new epoch (D-55)', () => {
  it('drops the pending entries above `from`, makes the rest durable and voids the overlay', () => {
    const durable = journalOf(open, began);
    const pending = [entryAt(3, said('a')), entryAt(4, ended('a'))];
    const view = after(fresh(durable, pending), text(0, 'x'));
    const [moved, what] = applyItem(view, { type: 'EpochStarted', epoch: 2, from: 3 });
    expect(moved.base).toEqual(applyEntries(emptyProjection, [...durable, ...pending.slice(0, 1)]));
    expect(moved).toMatchObject({ pending: [], epoch: 2, overlay: emptyOverlay });
    expect(what).toEqual({ type: 'dropped', from: 3 });
  });

  it('that begins beyond what is known sends the subscriber back, from where it was (broke: it never came to its end again)', () => {
    const view = fresh(journalOf(open, began));
    expect(applyItem(view, { type: 'EpochStarted', epoch: 2, from: 3 })).toEqual([
      view,
      { type: 'resubscribe' },
    ]);
  });

  it('leaves what a fresh fold of what is stored would be, and goes on from there without a refetch', () => {
    fc.assert(
      fc.property(anyJournal, anyJournal, fc.nat(40), fc.nat(40), (journal, other, d, f) => {
        const durable = journal.slice(0, d);
        const from = Math.min(journal.length, durable.length + f);
        const view = fresh(durable, journal.slice(d));
        const moved = after(view, { type: 'EpochStarted', epoch: 2, from });
        const stored = journal.slice(0, from);
        expect(moved.projection).toEqual(applyEntries(emptyProjection, stored));
        const next = other.map((e, i) => ({ ...e, revision: from + i + 1, epoch: 2 }));
        const on = after(moved, ...next.map((e) => admit(e)));
        expect(on.projection).toEqual(applyEntries(emptyProjection, [...stored, ...next]));
      }),
    );
  });
});

describe('a mark', () => {
  const two = fresh(journalOf(open, began));

  it.each<[string, FeedItem]>([
    ['Synchronized', { type: 'Synchronized', epoch: 1, revision: 3, durableThrough: 2 }],
    ['Heartbeat', { type: 'Heartbeat', epoch: 1, revision: 3, durableThrough: 2 }],
  ])('%s with a head that is not reached sends the subscriber back (D-57)', (_, item) => {
    expect(change(two, item).type).toBe('resubscribe');
  });

  it('Synchronized says once that everything is there, takes over the epoch, and voids what may not be open any more', () => {
    const view = after(two, text(0, 'x'), { type: 'Synchronized', epoch: 4, revision: 2, durableThrough: 2 });
    expect(view).toMatchObject({ synchronized: true, epoch: 4, overlay: emptyOverlay });
  });

  it('beyond what is there makes durable what is there and no more', () => {
    const view = after(two, admit(entryAt(3, said())), { type: 'EntriesDurable', durableThrough: 99 });
    expect(durableThrough(view)).toBe(3);
  });

  it('for people changes nothing but what it says', () => {
    const retrying = { status: 'RETRYING', nextAttemptAt: 't', message: 'away' } as const;
    expect(after(two, { type: 'PersistenceChanged', persistence: retrying })).toEqual({
      ...two,
      persistence: retrying,
    });
    expect(after(two, { type: 'Notice', level: 'INFO', code: 'X', message: 'x' })).toBe(two);
    expect(change(two, { type: 'SnapshotRequired', reason: 'x' }).type).toBe('snapshot');
    expect(change(two, { type: 'Ended', reason: 'x', resumable: true })).toMatchObject({ resumable: true });
    expect(change(two, { type: 'FROM_A_NEWER_SERVER' } as unknown as FeedItem).type).toBe('nothing');
  });
});

/** What happens on the server, and what becomes of each item on its way to the subscriber. */
type Happening =
  | { readonly do: 'admit'; readonly entry: Entry; readonly way: Way }
  | { readonly do: 'commit'; readonly count: number; readonly way: Way }
  | { readonly do: 'heartbeat'; readonly way: Way }
  | { readonly do: 'takeover' }
  | { readonly do: 'reconnect' };
type Way = 'once' | 'twice' | 'late' | 'lost';

const way = fc.constantFrom<Way>('once', 'once', 'once', 'twice', 'late', 'lost');
const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('admit' as const),
      entry: fc.constantFrom(
        entryAt(0, began),
        entryAt(0, said('a')),
        entryAt(0, ended('a')),
        entryAt(0, { kind: 'TURN', turn: { ...liveTurn, phase: 'INTERRUPTING' } }),
        entryAt(0, { kind: 'TURN', turn: settled('FAILED') }),
      ),
      way,
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('commit' as const), count: fc.nat(4), way }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('heartbeat' as const), way }) },
  { weight: 1, arbitrary: fc.constant({ do: 'takeover' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'reconnect' as const }) },
);

describe('a subscriber', () => {
  it(
    'knows what a fresh fold knows, whatever is repeated, late or lost on the way (I5, I7, D-53 to D-57)',
    { timeout: 60_000 },
    () => {
      fc.assert(
        fc.property(fc.array(happening, { maxLength: 60, size: 'max' }), (happenings) => {
          let stored: readonly Entry[] = journalOf(open);
          let pending: readonly Entry[] = [];
          let epoch = 1;
          let view = fresh(stored);
          let late: readonly FeedItem[] = [];

          const take = (item: FeedItem): void => {
            const [next, what] = applyItem(view, item);
            view = next;
            if (what.type === 'resubscribe') reconnect();
          };
          const deliver = (item: FeedItem, how: Way): void => {
            const before = late;
            late = how === 'late' ? [...before, item] : [];
            if (how === 'late' || how === 'lost') return;
            take(item);
            for (const old of before) take(old);
            if (how === 'twice') take(item);
          };
          /** The rules of D-54 and D-55, told by a server that reads its table. */
          const reconnect = (): void => {
            late = [];
            const r = view.projection.revision;
            const good = r === 0 || view.epoch === epoch || (stored[r - 1]?.epoch ?? Infinity) <= view.epoch;
            if (!good) {
              const from = stored.filter((e) => e.revision <= r && e.epoch <= view.epoch).length;
              take({ type: 'EpochStarted', epoch, from });
            }
            const at = view.projection.revision;
            for (const e of stored.filter((x) => x.revision > at)) take(admit(e, true));
            for (const e of pending.filter((x) => x.revision > at)) take(admit(e));
            take({
              type: 'Synchronized',
              epoch,
              revision: stored.length + pending.length,
              durableThrough: stored.length,
            });
          };

          for (const h of happenings) {
            switch (h.do) {
              case 'admit': {
                const revision = stored.length + pending.length + 1;
                const entry = { ...h.entry, id: `${epoch}-${revision}`, revision, epoch };
                pending = [...pending, entry];
                deliver(admit(entry), h.way);
                break;
              }
              case 'commit':
                stored = [...stored, ...pending.slice(0, h.count)];
                pending = pending.slice(h.count);
                deliver({ type: 'EntriesDurable', durableThrough: stored.length }, h.way);
                break;
              case 'heartbeat':
                deliver(
                  {
                    type: 'Heartbeat',
                    epoch,
                    revision: stored.length + pending.length,
                    durableThrough: stored.length,
                  },
                  h.way,
                );
                break;
              case 'takeover':
                pending = [];
                epoch += 1;
                late = [];
                take({
                  type: 'EpochStarted',
                  epoch,
                  from: Math.min(stored.length, view.projection.revision),
                });
                break;
              case 'reconnect':
                reconnect();
                break;
            }
            // Never wrong, only behind: what is shown is a prefix of what was accepted, what is durable is stored.
            const all = [...stored, ...pending];
            expect(view.projection).toEqual(
              applyEntries(emptyProjection, all.slice(0, view.projection.revision)),
            );
            expect(durableThrough(view)).toBeLessThanOrEqual(stored.length);
          }
          reconnect();
          expect(view.base).toEqual(applyEntries(emptyProjection, stored));
          expect(view.pending).toEqual(pending);
          expect(view.projection).toEqual(applyEntries(emptyProjection, [...stored, ...pending]));
          expect(view.epoch).toBe(epoch);
        }),
        { numRuns: 300 },
      );
    },
  );
});
