/**
 * Owns: the arguments of one call from the pieces they come in: fragments, growing, repeated, or after a placeholder.
 * Does not own: which call a piece belongs to (`tool-calls.ts`).
 *
 * Invariant: work and memory are linear in what was added, however it was cut and however often it is asked for.
 */
import { isRecord, parseJson } from './json.ts';

export interface ArgumentsText {
  /** The UTF-16 units that were kept of it: a whole object that is sent once more is not. */
  add(piece: string): number;
  /** Fragments joined, or the last one where the others repeat it or grow towards it; `{}` when there is nothing. */
  text(): string;
  /** Whether that is a JSON object, and was sent. */
  isWhole(): boolean;
  isEmpty(): boolean;
}

export function createArgumentsText(): ArgumentsText {
  /** `{}` before anything else, which some endpoints send first. */
  let placeholder = '';
  let joined = '';
  let blank = true;
  const scanner = createObjectScanner();
  /** Whether `joined` is an object; what follows a closed one is white space, or it is none for good. */
  let parses: boolean | undefined;
  let last = '';
  /** The longest piece while all of them are beginnings of it, else null. */
  let longest: string | null = '';
  let whole: string | null | undefined;

  function findWhole(): string | null {
    if (blank) return placeholder === '' ? null : placeholder;
    if (scanner.isClosed() && (parses ??= isRecord(parseJson(joined)))) return joined;
    return longest !== null && last.startsWith(longest) && isObjectText(last) ? last : null;
  }

  const wholeText = (): string | null => (whole === undefined ? (whole = findWhole()) : whole);

  return {
    add(piece) {
      if (piece === '' || piece === wholeText()) return 0;
      whole = undefined;
      const isPlaceholder = piece.trim() === '{}';
      if (joined === '' && isPlaceholder) {
        placeholder = piece;
        return piece.length;
      }
      joined += piece;
      blank &&= piece.trim() === '';
      scanner.add(piece);
      last = piece;
      if (longest !== null && !isPlaceholder) {
        if (piece.startsWith(longest)) longest = piece;
        else if (!longest.startsWith(piece)) longest = null;
      }
      return piece.length;
    },
    text: () => wholeText() ?? (blank ? '{}' : joined),
    isWhole: () => wholeText() !== null,
    isEmpty: () => joined === '' && placeholder === '',
  };
}

const isObjectText = (text: string): boolean => text.trimEnd().endsWith('}') && isRecord(parseJson(text));

/** Follows the brackets of a text in pieces, so that it is parsed only when it may be an object. */
function createObjectScanner() {
  let state: 'BEFORE' | 'INSIDE' | 'CLOSED' | 'BROKEN' = 'BEFORE';
  let depth = 0;
  let quoted = false;
  let escaped = false;

  function inside(c: string): void {
    if (escaped) escaped = false;
    else if (quoted) {
      if (c === '\\') escaped = true;
      else if (c === '"') quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === '{' || c === '[') depth++;
    else if ((c === '}' || c === ']') && --depth === 0) state = 'CLOSED';
  }

  return {
    add(piece: string): void {
      for (let i = 0; i < piece.length && state !== 'BROKEN'; i++) {
        const c = piece[i]!;
        if (state === 'INSIDE') inside(c);
        else if (/\s/.test(c)) continue;
        else if (state === 'BEFORE' && c === '{') [state, depth] = ['INSIDE', 1];
        else state = 'BROKEN';
      }
    },
    isClosed: () => state === 'CLOSED',
  };
}
