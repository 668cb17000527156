/**
 * Owns: how blocks stand under one another: what a rewind took out is folded into one quiet line, which opens in place;
 * a summary in it stays in sight, because it holds whatever is taken back;
 * and pieces of a bounded size, so that far ones need not be drawn. Pure.
 * Does not own: what was taken out (the projection), how a line looks (`Lines.svelte`).
 *
 * Invariants: lines ascend by `revision`; a fold is the same fold (`key`) whichever pages are loaded, and counts what is
 * loaded; a line stays in its piece when older or newer pages come.
 */
import { type Author, type Entry, type EntryOf, type Span } from 'schema/projection';
import { isTalk } from './back.ts';
import type { Block, RewindBlock } from './blocks.ts';

/** What rewinds took out between two blocks that are in the conversation. */
export interface Fold {
  readonly type: 'fold';
  readonly id: string;
  /** Where its last span ends, which no page changes. */
  readonly key: number;
  readonly revision: number;
  /** Entries of the conversation. */
  readonly count: number;
  /** True when more of them are on pages that are not loaded. */
  readonly more: boolean;
  readonly open: boolean;
  /** The last who went back here; null when that is not loaded. */
  readonly last: {
    readonly by: Author;
    readonly at: string;
    readonly reason: EntryOf<'REWIND'>['reason'];
    /** Of `count`: what it took out; the others were out already. */
    readonly count: number;
  } | null;
}

export interface Told {
  readonly type: 'block';
  readonly id: string;
  readonly revision: number;
  readonly block: Block;
  /** Taken out of the conversation, and shown because its fold is open. */
  readonly aside: boolean;
}

export type Line = Fold | Told;

/** `spans`: what is superseded, ascending; `opened`: whether the fold that begins at `first` is open. */
export function linesOf(
  blocks: readonly Block[],
  entries: readonly Entry[],
  spans: readonly Span[],
  opened: (key: number, first: number) => boolean,
): readonly Line[] {
  const lines: Line[] = [];
  let folded: Block[] = [];
  let within: Span[] = [];
  let at = 0;

  const flush = () => {
    const first = folded[0];
    const final = folded.at(-1);
    if (!first || !final) return;
    const key = within.at(-1)?.through ?? final.revision - 1;
    const open = opened(key, first.revision);
    if (!open) for (const block of folded) if (holds(block)) lines.push(told(block, false));
    const last = folded.findLast((block) => block.type === 'rewind') ?? null;
    lines.push({
      type: 'fold',
      id: `fold-${key}`,
      key,
      // Closed, it stands at its end, which older pages do not move.
      revision: open ? first.revision : final.revision,
      count: within.reduce((sum, span) => sum + talkIn(entries, span), 0),
      more: within.some((span) => !isLoaded(entries, span)),
      open,
      last: last && { by: last.by, at: last.at, reason: last.reason, count: takenBy(entries, last) },
    });
    if (open) for (const block of folded) if (block.type !== 'rewind') lines.push(told(block, !holds(block)));
    folded = [];
    within = [];
  };

  for (const block of blocks) {
    const { revision } = block;
    for (let span = spans[at]; span && span.through < revision; span = spans[at]) at += 1;
    // A rewind stands behind what it took out, which may be all that there is of it.
    const span = block.type === 'rewind' ? spans.findLast((s) => s.after < revision) : spans[at];
    const aside = span !== undefined && revision > span.after;
    if (aside || block.type === 'rewind') {
      folded.push(block);
      if (aside && within.at(-1) !== span) within.push(span);
    } else {
      flush();
      lines.push(told(block, false));
    }
  }
  flush();
  return lines;
}

/** True for what holds whatever is taken back around it. */
const holds = (block: Block): boolean => block.type === 'checkpoint';

export const told = (block: Block, aside: boolean): Told => ({
  type: 'block',
  id: block.id,
  revision: block.revision,
  block,
  aside,
});

/** Entries of the conversation in a span, as far as they are loaded. Entries are contiguous. */
function talkIn(entries: readonly Entry[], { after, through }: Span): number {
  const first = entries[0]?.revision ?? 1;
  return entries.slice(Math.max(0, after + 1 - first), Math.max(0, through + 1 - first)).filter(isTalk)
    .length;
}

/** Entries of the conversation that a rewind took out and none before it had, as far as they are loaded. */
function takenBy(entries: readonly Entry[], { revision }: RewindBlock): number {
  const first = entries[0]?.revision ?? 1;
  const rewind = entries[revision - first];
  if (rewind?.kind !== 'REWIND') return 0;
  const within = entries.slice(Math.max(0, rewind.after + 1 - first), revision - first);
  const before = within.filter((entry) => entry.kind === 'REWIND');
  return within.filter(
    (entry) =>
      isTalk(entry) &&
      !before.some(({ after, revision: at }) => entry.revision > after && entry.revision < at),
  ).length;
}

const isLoaded = (entries: readonly Entry[], { after, through }: Span): boolean =>
  (entries[0]?.revision ?? 0) <= after + 1 && (entries.at(-1)?.revision ?? 0) >= through;

/** Entries of the journal in a piece. */
const PIECE = 40;

export interface Piece {
  readonly key: number;
  readonly lines: readonly Line[];
}

/** In pieces whose bounds no page moves. */
export function piecesOf(lines: readonly Line[]): readonly Piece[] {
  const pieces: { readonly key: number; readonly lines: Line[] }[] = [];
  for (const line of lines) {
    const key = Math.floor(line.revision / PIECE);
    const last = pieces.at(-1);
    if (last && last.key >= key) last.lines.push(line);
    else pieces.push({ key, lines: [line] });
  }
  return pieces;
}

/** With one more line at the end. The other pieces stay the same ones. */
export function withLast(pieces: readonly Piece[], line: Line): readonly Piece[] {
  const last = pieces.at(-1);
  return last ? [...pieces.slice(0, -1), { key: last.key, lines: [...last.lines, line] }] : piecesOf([line]);
}
