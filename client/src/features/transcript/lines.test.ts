import { applyEntries, emptyProjection, type Entry, type EntryBody } from 'schema/projection';
import { expect, it } from 'vitest';
import { blocksOf } from './blocks.ts';
import { linesOf, piecesOf, told, withLast, type Line } from './lines.ts';

const ann = { id: 'a', name: 'Ann' };
const bob = { id: 'b', name: 'Bob' };

type Short =
  string | readonly ['back', number, typeof ann] | readonly ['summary', number] | readonly ['control'];

const summary = (watermark: number): EntryBody => ({
  kind: 'CHECKPOINT',
  summary: 's',
  watermark,
  request: null,
  trigger: 'TOOLS',
  before: 9,
  after: 3,
  model: 'm',
  alias: 'm',
  context: { told: 3, counted: null, scale: 1, overhead: 0, window: null },
});

/** A message for each text, a control entry for each `control`, a REWIND for each `back`; from revision 1. */
const journal = (...shorts: readonly Short[]): readonly Entry[] =>
  shorts.map((short, i) => {
    const body: EntryBody =
      typeof short === 'string'
        ? { kind: 'USER', text: short, author: ann, source: 'MESSAGE' }
        : short[0] === 'control'
          ? { kind: 'QUEUE', queue: { items: [], held: false } }
          : short[0] === 'summary'
            ? summary(short[1])
            : { kind: 'REWIND', after: short[1], reason: 'REWIND', by: short[2] };
    const revision = i + 1;
    const placed = { epoch: 1, generation: 1, lane: null, turnId: null };
    return { id: `e${revision}`, revision, ...placed, at: `2026-11-30T14:0${i % 10}:00.000Z`, ...body };
  });

/** What is seen when the entries between two revisions are loaded and these folds are open. */
function show(
  entries: readonly Entry[],
  { from = 1, through = Infinity, open = [] as readonly number[] } = {},
) {
  const { superseded } = applyEntries(emptyProjection, entries);
  const loaded = entries.filter(({ revision }) => revision >= from && revision <= through);
  return linesOf(blocksOf(loaded, Infinity), loaded, superseded, (key) => open.includes(key));
}

const words = (lines: readonly Line[]) =>
  lines.map((line) => {
    if (line.type === 'fold')
      return `${line.more ? '>' : ''}${line.count} by ${line.last?.by.name ?? '?'}${line.open ? ' open' : ''}`;
    return `${line.aside ? '- ' : ''}${line.block.type === 'user' ? line.block.text : line.block.type}`;
  });

it('folds what a rewind took out into one line, which counts what was said and not the rest (D-59)', () => {
  const entries = journal('one', 'two', ['control'], 'three', ['back', 1, ann], 'four');
  expect(words(show(entries))).toEqual(['one', '2 by Ann', 'four']);
});

it('opens in place', () => {
  const entries = journal('one', 'two', 'three', ['back', 1, ann], 'four');
  const [, fold] = show(entries);
  const lines = show(entries, { open: [fold?.type === 'fold' ? fold.key : 0] });
  expect(words(lines)).toEqual(['one', '2 by Ann open', '- two', '- three', 'four']);
});

it('makes one line of rewinds inside of one another, and of those with nothing between them, by who went back last', () => {
  const nested = journal(
    'one',
    'two',
    ['back', 1, ann],
    'three',
    'four',
    ['back', 4, ann],
    ['back', 1, bob],
    'five',
  );
  expect(words(show(nested))).toEqual(['one', '3 by Bob', 'five']);
  const neighbours = journal('one', 'two', ['back', 1, ann], ['control'], 'three', ['back', 4, bob], 'four');
  expect(words(show(neighbours))).toEqual(['one', '2 by Bob', 'four']);
});

it('tells what was taken out last from what was out already, as a person was asked (broke: 2 entries asked about, 3 told)', () => {
  const taken = (...shorts: readonly Short[]) =>
    show(journal(...shorts)).flatMap((line) =>
      line.type === 'fold' ? [[line.last?.count, line.count]] : [],
    );
  expect(taken('one', 'two', 'three', ['back', 1, ann])).toEqual([[2, 2]]);
  expect(taken('one', 'two', 'three', ['back', 2, ann], 'four', ['back', 1, bob])).toEqual([[2, 3]]);
  expect(taken('one', ['back', 0, ann], ['control'], 'two', ['back', 3, ann])).toEqual([[1, 2]]);
  expect(taken('one', 'two', ['back', 1, ann], ['back', 1, bob])).toEqual([[0, 1]]);
});

it('keeps apart what has something of the conversation between', () => {
  const entries = journal('one', ['back', 0, ann], 'two', 'three', ['back', 3, bob]);
  expect(words(show(entries))).toEqual(['1 by Ann', 'two', '1 by Bob']);
});

it('stays the same line when older pages come, and says that there is more as long as they have not', () => {
  const entries = journal('one', 'two', 'three', 'four', ['back', 1, ann], 'five');
  const all = show(entries);
  const ids = all.map(({ id }) => id).slice(1);
  for (const from of [2, 3, 4, 5]) {
    const lines = show(entries, { from });
    expect(lines.map(({ id }) => id)).toEqual(ids);
    expect(words(lines)).toEqual([`${from > 2 ? '>' : ''}${Math.max(0, 5 - from)} by Ann`, 'five']);
    expect(lines[0]!.revision).toBe(all[1]!.revision);
  }
});

it('folds what is superseded also where the rewind itself is on a newer page', () => {
  const entries = journal('one', 'two', 'three', ['back', 1, ann], 'four');
  expect(words(show(entries, { through: 2 }))).toEqual(['one', '>1 by ?']);
});

it('is in order, and keeps each line in its piece when a page comes before it', () => {
  const entries = journal(
    ...Array.from({ length: 300 }, (_, i) => (i === 200 ? (['back', 120, ann] as const) : `m${i}`)),
  );
  const placeOf = (lines: readonly Line[]) =>
    new Map(piecesOf(lines).flatMap((piece) => piece.lines.map((line) => [line.id, piece.key] as const)));
  const all = show(entries);
  expect(all.map((line) => line.revision)).toEqual(
    all.map((line) => line.revision).toSorted((a, b) => a - b),
  );
  const whole = placeOf(all);
  for (const from of [17, 100, 150, 250])
    for (const [id, key] of placeOf(show(entries, { from }))) expect(whole.get(id)).toBe(key);
  expect(piecesOf(all).every(({ lines }) => lines.length <= 41)).toBe(true);
});

it('puts the answer that is being written at the end and leaves the other pieces as they are', () => {
  const pieces = piecesOf(show(journal(...Array.from({ length: 90 }, (_, i) => `m${i}`))));
  const block = { type: 'mark', id: 'x', revision: 91, tone: 'CALM', text: '', by: null } as const;
  const longer = withLast(pieces, told(block, false));
  expect(longer.slice(0, -1).every((piece, i) => piece === pieces[i])).toBe(true);
  expect(longer.at(-1)!.lines.at(-1)!.id).toBe('x');
  expect(withLast([], told(block, false))).toHaveLength(1);
});

it('D-40 leaves a summary in sight, whatever was taken back around it, and counts it not', () => {
  const entries = journal('one', 'two', ['summary', 1], 'three', ['back', 1, ann], 'four');
  expect(words(show(entries))).toEqual(['one', 'checkpoint', '2 by Ann', 'four']);
  const fold = show(entries).find((line) => line.type === 'fold');
  const lines = show(entries, { open: [fold?.key ?? 0] });
  expect(words(lines)).toEqual(['one', '2 by Ann open', '- two', 'checkpoint', '- three', 'four']);
  for (const shown of [lines, show(entries)]) {
    const places = shown.map(({ revision }) => revision);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  }
});
