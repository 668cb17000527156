/**
 * Owns: the texts that `{a,b}` stands for, also nested. Does not own: the words they are parts of (`shell-words.ts`).
 *
 * Invariant: no more than `most` of them are made; null when there would be more.
 */
import { ANY, STAR, UNKNOWN } from './shell-signs.ts';

/** Braces in braces; deeper ones are not known. */
const maxNested = 16;

/** The alternatives of a brace expansion as it is written. */
export function alternativesOf(text: string, most: number): readonly string[] | null {
  if (/^\{[a-zA-Z]\.\.[a-zA-Z]\}$/.test(text)) return [ANY];
  return listAt(text, 1, { most, left: 20 * most }, 0)?.texts ?? null;
}

interface Bound {
  readonly most: number;
  /** How many texts may still be made longer. */
  left: number;
}

interface List {
  readonly texts: readonly string[];
  readonly isList: boolean;
  readonly end: number;
}

/** The list whose first character stands at `start`. */
function listAt(text: string, start: number, bound: Bound, depth: number): List | null {
  const done: string[] = [];
  let open = [''];
  let from = start;
  let isList = false;
  let index = start;
  const take = (piece: string): void => {
    if (piece === '') return;
    bound.left -= open.length;
    if (bound.left >= 0) open = open.map((each) => each + piece);
  };
  /** What was passed over as it is, and what it stands for from here to `next`. */
  const passTo = (next: number, piece = ''): void => {
    take(text.slice(from, index) + piece);
    from = index = next;
  };
  while (index < text.length && text[index] !== '}') {
    switch (text[index]) {
      case ',':
        passTo(index + 1);
        done.push(...open);
        open = [''];
        isList = true;
        break;
      case '{': {
        const inner = depth >= maxNested ? null : listAt(text, index + 1, bound, depth + 1);
        if (inner === null) return null;
        passTo(inner.end);
        const texts = inner.isList ? inner.texts : [UNKNOWN];
        if (done.length + open.length * texts.length > bound.most) return null;
        open = open.flatMap((each) => texts.map((other) => each + other));
        break;
      }
      case '\\':
        passTo(index + 2, text[index + 1] ?? '');
        break;
      case "'":
      case '"': {
        const end = text.indexOf(text[index] as string, index + 1);
        const stop = end < 0 ? text.length : end;
        const inside = text.slice(index + 1, stop);
        passTo(stop + 1, text[index] === '"' && /[$`\\]/.test(inside) ? UNKNOWN : inside);
        break;
      }
      case '$':
      case '`': {
        const end = /^(?:\$\w+|\$\{[^{}]*\}|\$\([^()]*\)|`[^`]*`)/.exec(text.slice(index, index + 200));
        passTo(index + (end?.[0].length ?? 1), UNKNOWN);
        break;
      }
      case '*':
        passTo(index + 1, STAR);
        break;
      case '?':
        passTo(index + 1, ANY);
        break;
      case '[': {
        const length = text.slice(index, index + 100).indexOf(']');
        passTo(index + 1 + Math.max(length, 0), length < 0 ? '[' : ANY);
        break;
      }
      default:
        index++;
    }
    if (done.length > bound.most || bound.left < 0) return null;
  }
  passTo(index + 1);
  return { texts: isList ? [...done, ...open] : [UNKNOWN], isList, end: index };
}
