/**
 * Owns: what a person means by the text of a search, and what of an entry to show for it. No text is wrong: what is no
 * word is passed over.
 *
 * Words are looked for by their beginning, and all of them must be there. `"…"` is a phrase: these words in this order,
 * whole. `-` in front leaves out what has the word or the phrase. What holds words together without a space (`foo.bar`)
 * is a phrase whose last word is looked for by its beginning.
 */
import { wordsOf, type Word } from './search-text.ts';

/** Most of a search that is read, UTF-16 units; longer ones are refused. */
export const maxQueryLength = 1_000;
/** Most words and phrases of a search; more are refused. Those that say nothing new do not count. */
export const maxTerms = 32;
/** Most words of a text that are compared with words of the search to find the place to show. */
const maxCompared = 2_000_000;

/** Words in a row. */
export interface Term {
  /** At least one. */
  readonly words: readonly string[];
  /** The last word need only begin so. */
  readonly prefix: boolean;
}

export interface SearchQuery {
  /** At least one; an entry has all of them. */
  readonly wanted: readonly Term[];
  /** An entry has none of these. */
  readonly unwanted: readonly Term[];
}

export type ReadQuery =
  | { readonly type: 'query'; readonly query: SearchQuery }
  /** One sentence: what is wrong, and what to do. */
  | { readonly type: 'invalid'; readonly problem: string };

export function readQuery(text: string): ReadQuery {
  if (text.length > maxQueryLength)
    return invalid(`A search has at most ${maxQueryLength} characters; search for fewer words.`);
  const wanted: Term[] = [];
  const unwanted: Term[] = [];
  for (const { 1: minus, 2: phrase, 3: plain } of text.matchAll(pieces)) {
    const leftOut = minus !== undefined;
    const term = termOf([...wordsOf(phrase ?? plain ?? '')], plain !== undefined && !leftOut);
    if (term) (leftOut ? unwanted : wanted).push(term);
  }
  const query = { wanted: telling(wanted), unwanted: distinct(unwanted) };
  if (query.wanted.length + query.unwanted.length > maxTerms)
    return invalid(`A search has at most ${maxTerms} different words or phrases; search for fewer.`);
  if (wanted.length > 0) return { type: 'query', query };
  return invalid(
    unwanted.length > 0
      ? 'Name at least one word to find beside those to leave out.'
      : 'Name at least one word or number to find.',
  );
}

const distinct = (terms: readonly Term[]): readonly Term[] => [
  ...new Map(terms.map((term) => [`${term.prefix} ${term.words.join(' ')}`, term])).values(),
];

/** Without those that another one implies: who has `configuration` has `conf`. */
function telling(terms: readonly Term[]): readonly Term[] {
  const all = distinct(terms);
  return all.filter(
    (term) =>
      !(term.prefix && term.words.length === 1) ||
      !all.some((other) => other !== term && other.words.some((word) => word.startsWith(term.words[0]!))),
  );
}

const invalid = (problem: string): ReadQuery => ({ type: 'invalid', problem });

/** A minus in front (`--force` is no such thing), then a phrase, which may lack its end, or what has no space in it. */
const pieces = /((?<!\S)-(?![-\s]))?(?:"([^"]*)"?|([^\s"]+))/gu;

function termOf(words: readonly Word[], byBeginning: boolean): Term | null {
  const last = words.at(-1);
  if (!last) return null;
  const texts = words.map((word) => word.text);
  if (last.kind !== 'LAST') return { words: texts, prefix: byBeginning };
  // The run may go on where it is found: its last letter is in the last pair, or begins one.
  return words.at(-2)?.kind === 'PAIR'
    ? { words: texts.slice(0, -1), prefix: false }
    : { words: texts, prefix: true };
}

/** A piece of plain text; `hit` when it is what was searched for. */
export interface SnippetSegment {
  readonly text: string;
  readonly hit: boolean;
}

/** How much is shown around the first hit, UTF-16 units. */
const shownBefore = 80;
const shownAfter = 200;

/**
 * The surroundings of the first hit, in pieces that make a continuous text; an ellipsis stands where it was cut. The
 * beginning of the text when there is no hit in it, or none was found within the work that is done for it.
 */
export function snippetOf(text: string, { wanted }: SearchQuery): readonly SnippetSegment[] {
  const seen: Word[] = [];
  const hits: { readonly start: number; readonly end: number }[] = [];
  const byLetter = Map.groupBy(wanted, (term) => firstLetter(term.words.at(-1)!));
  let through = Infinity;
  let left = maxCompared;
  for (const word of wordsOf(text)) {
    if (word.start >= through || left <= 0) break;
    seen.push(word);
    left -= 1;
    for (const term of byLetter.get(firstLetter(word.text)) ?? []) {
      left -= term.words.length;
      const first = seen.at(-term.words.length);
      if (!first || !endsAt(seen, seen.length, term)) continue;
      hits.push({ start: first.start, end: word.end });
      through = Math.min(through, first.start + shownAfter);
    }
  }
  const from = inside(text, Math.max(0, (hits[0]?.start ?? 0) - shownBefore));
  const to = inside(text, Math.min(text.length, (hits[0]?.start ?? 0) + shownAfter));
  return segments(text, from, to, hits);
}

const firstLetter = (word: string): number => word.charCodeAt(0);

/** Whether the words before the place `end` are those of the term. */
export function endsAt(seen: readonly Word[], end: number, { words, prefix }: Term): boolean {
  const from = end - words.length;
  return (
    from >= 0 &&
    words.every((wanted, i) => {
      const { text } = seen[from + i]!;
      return prefix && i === words.length - 1 ? text.startsWith(wanted) : text === wanted;
    })
  );
}

function segments(
  text: string,
  from: number,
  to: number,
  hits: readonly { readonly start: number; readonly end: number }[],
): readonly SnippetSegment[] {
  const found: SnippetSegment[] = [];
  const add = (piece: string, hit: boolean): void => {
    if (piece !== '') found.push({ text: piece, hit });
  };
  let at = from;
  for (const { start, end } of merged(hits)) {
    if (start >= to) break;
    add((at === from && from > 0 ? '…' : '') + text.slice(at, Math.max(at, start)), false);
    add(text.slice(Math.max(at, start), Math.min(end, to)), true);
    at = Math.min(end, to);
  }
  add(text.slice(at, to) + (to < text.length ? '…' : ''), false);
  return found;
}

/** Ascending, and those that touch or overlap as one: pairs of neighbours do. */
function merged(hits: readonly { readonly start: number; readonly end: number }[]) {
  const all: { readonly start: number; readonly end: number }[] = [];
  for (const hit of hits.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1);
    if (last && hit.start <= last.end) all[all.length - 1] = { ...last, end: Math.max(last.end, hit.end) };
    else all.push(hit);
  }
  return all;
}

/** The place, or the one before it when it is within a character. */
const inside = (text: string, place: number): number =>
  place > 0 && place < text.length && text.codePointAt(place - 1)! > 0xffff ? place - 1 : place;
