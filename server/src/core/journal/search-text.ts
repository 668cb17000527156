/**
 * Owns: what of an entry can be found, and as which words. The same words are made of what is stored and of what is
 * asked for, so this file is all there is to know about the languages.
 * Does not own: what a query means (`search-query.ts`), or how words are stored and asked for (the storage adapter).
 *
 * - A word is a run of letters, digits and their marks; everything else parts words, so `foo_bar.baz` is three of them
 *   in a row, and so is a URL.
 * - Words are folded: case, width and other forms of one letter, and marks that people leave out (accents, Arabic and
 *   Hebrew points) do not count. `ü` is `u`, not `ue`; `ß` is `ss`.
 * - Scripts that are written without spaces (Han, Kana, Thai, Lao, Khmer, Myanmar) give each pair of neighbours, and the
 *   last one of a run alone. Pairs need no dictionary: what is stored by one version is found by the next, and any part
 *   of a run can be asked for. (Intl.Segmenter parts a text differently by what stands around it, and by its version.)
 */
import type { Entry } from 'schema/projection';
import { cut } from '../kit/cut.ts';

/** Most of an entry that can be found, bytes of UTF-8 (D-51). */
export const maxSearchBytes = 256 * 1024;
/** Most of a word that counts, UTF-16 units: what is longer is no word but data, found by its beginning. */
const maxWord = 200;

export interface Word {
  /** Folded: lower-case letters, digits and marks only. */
  readonly text: string;
  /** Where it stands in the text, UTF-16 units, `end` exclusive. */
  readonly start: number;
  readonly end: number;
  /** PAIR: two neighbours of a run without spaces. LAST: the last one of such a run, alone. */
  readonly kind: 'WORD' | 'PAIR' | 'LAST';
}

/** What of an entry can be found, cut to 256 KiB; null when nothing can be. */
export function searchText(entry: Entry): string | null {
  const text = textOf(entry);
  return text === '' ? null : cutToBytes(text, maxSearchBytes);
}

/** What it says to a reader: not its reasoning, and nothing of control entries. */
function textOf(entry: Entry): string {
  switch (entry.kind) {
    case 'USER':
    case 'ASSISTANT':
    case 'SYSTEM':
    case 'CANCELLATION':
      return entry.text;
    case 'TOOL':
      return entry.content;
    default:
      return '';
  }
}

/** The words of a text, in order. Lazy: who has seen enough stops. */
export function* wordsOf(text: string): Generator<Word, void> {
  for (const { 0: run, index: start } of text.matchAll(runs)) {
    const end = start + run.length;
    if (isAscii.test(run)) {
      yield { text: run.toLowerCase().slice(0, maxWord), start, end, kind: 'WORD' };
      continue;
    }
    const folded = fold(run);
    const exact = keepsPlaces(run, folded);
    for (const { 0: part, 1: unspaced, index } of folded.matchAll(parts)) {
      const at = (from: number, to: number) =>
        exact ? { start: start + from, end: start + to } : { start, end };
      if (unspaced !== undefined) yield* pairs(part, index, at);
      else yield { text: cut(part, maxWord), ...at(index, index + part.length), kind: 'WORD' };
    }
  }
}

function* pairs(
  run: string,
  index: number,
  at: (from: number, to: number) => { readonly start: number; readonly end: number },
): Generator<Word, void> {
  let from = 0;
  while (from < run.length) {
    const middle = from + unitsAt(run, from);
    const to = middle < run.length ? middle + unitsAt(run, middle) : middle;
    const kind = to > middle ? 'PAIR' : 'LAST';
    yield { text: run.slice(from, to), ...at(index + from, index + to), kind };
    from = middle;
  }
}

const runs = /[\p{L}\p{N}\p{M}]+/gv;
/** The first group is set when the part is of a script without spaces. */
const parts =
  /([[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]&&[\p{L}\p{N}\p{M}]]+)|[[\p{L}\p{N}\p{M}]--[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]]+/gv;
const isAscii = /^[0-9A-Za-z]*$/u;
/** Accents of Latin, Greek and Cyrillic; points of Hebrew and Arabic; the Arabic stretch. */
const optionalMarks = /[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670]|\u0640/gu;

const fold = (run: string): string =>
  run
    .normalize('NFKD')
    .replace(optionalMarks, '')
    // Upper first: it knows that ß is SS, and that ς is Σ.
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .normalize('NFKC');

/** Whether each letter is folded into one of its size. If not, there is no place in the text for each of them. */
const keepsPlaces = (run: string, folded: string): boolean =>
  // Only what is cut apart or taken out makes a text shorter; without that, what did not grow as a whole grew nowhere.
  folded.length === run.length && run.search(optionalMarks) === -1 && run.normalize('NFKC') === run;

const unitsAt = (text: string, index: number): number => (text.codePointAt(index)! > 0xffff ? 2 : 1);

/** The longest beginning of the text that takes at most `bytes` in UTF-8, never half a character. */
export function cutToBytes(text: string, bytes: number): string {
  // No UTF-16 unit takes more than three.
  if (text.length * 3 <= bytes) return text;
  let left = bytes;
  for (let i = 0; i < text.length;) {
    const point = text.codePointAt(i)!;
    left -= point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (left < 0) return text.slice(0, i);
    i += point > 0xffff ? 2 : 1;
  }
  return text;
}
