/**
 * Owns: where a text stops being JSON, and what should stand there.
 *
 * Invariants: what stands there is never repeated: it may be a key (V8 quotes it); every text that is no JSON has a place;
 * what it costs is what the text is long, however deep it is.
 */
import { createCounter, inWords } from './places.ts';

/** What may come, in words. */
const words = {
  VALUE: 'a value: a text in quotes, a number, true, false, null, { or [',
  VALUE_OR_END: 'a value (a text in quotes, a number, true, false, null, { or [) or ]',
  NAME: 'a name in quotes',
  NAME_OR_END: 'a name in quotes or }',
  COLON: 'a colon',
  NEXT_IN_OBJECT: 'a comma or }',
  NEXT_IN_LIST: 'a comma or ]',
  NOTHING: 'nothing more',
} as const;

type Awaited = keyof typeof words;

const space = /[ \t\n\r]*/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const word = /true|false|null/y;
const escape = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y;

/** Where each ends that is found there; null when none is. */
const endOf = (pattern: RegExp, text: string, at: number): number | null => {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : null;
};

interface Flaw {
  readonly at: number;
  readonly what: string;
}

/** Where the text that begins there ends, after its quotes, or what is wrong within it. */
function endOfText(text: string, begin: number): number | Flaw {
  for (let at = begin + 1; at < text.length;) {
    const sign = text[at]!;
    if (sign === '"') return at + 1;
    if (sign === '\n' || sign === '\r') break;
    if (sign < ' ') return { at, what: 'a character in a text must be written as an escape, a tab as \\t' };
    const next = sign === '\\' ? endOf(escape, text, at) : at + 1;
    if (next === null)
      return { at, what: 'a \\ in a text begins no escape: for the character itself write it twice' };
    at = next;
  }
  return { at: begin, what: 'a text begins whose closing quotes are not in its line' };
}

/** The first place at which the text is no JSON, in one clause; null when it is. */
export function flawOfJson(text: string): string | null {
  const flaw = find(text);
  if (flaw === null) return null;
  return `${inWords(createCounter(text)(flaw.at))}, ${flaw.what}`;
}

/** What people write who know other languages. `closes`: it would close what is around. */
function hint(sign: string, awaited: Awaited, closes: boolean): string {
  // These two are awaited after a comma alone, but for the value of a name, which no ] closes.
  if (closes && (awaited === 'NAME' || (awaited === 'VALUE' && sign === ']')))
    return ', or the comma before is one too many';
  if (sign === '/' || sign === '#') return '; JSON has no comments';
  return sign === "'" ? ', and quotes are double ones' : '';
}

function find(text: string): Flaw | null {
  /** What closes each object and list around. */
  const around: ('}' | ']')[] = [];
  let awaited: Awaited = 'VALUE';
  const after = (): Awaited => {
    const closing = around.at(-1);
    if (closing === undefined) return 'NOTHING';
    return closing === '}' ? 'NEXT_IN_OBJECT' : 'NEXT_IN_LIST';
  };
  for (let at = endOf(space, text, 0)!; ; at = endOf(space, text, at)!) {
    const sign = text[at];
    if (sign === undefined && awaited === 'NOTHING') return null;
    if (sign === undefined) return { at, what: `where it ends, there should be ${words[awaited]}` };
    const isName: boolean = awaited === 'NAME' || awaited === 'NAME_OR_END';
    const isValue: boolean = awaited === 'VALUE' || awaited === 'VALUE_OR_END';
    const isNext: boolean = awaited === 'NEXT_IN_OBJECT' || awaited === 'NEXT_IN_LIST';
    const mayClose: boolean = isNext || awaited === 'NAME_OR_END' || awaited === 'VALUE_OR_END';
    if (sign === around.at(-1) && mayClose) {
      around.pop();
      awaited = after();
      at += 1;
    } else if (sign === ',' && isNext) {
      awaited = awaited === 'NEXT_IN_OBJECT' ? 'NAME' : 'VALUE';
      at += 1;
    } else if (sign === ':' && awaited === 'COLON') {
      awaited = 'VALUE';
      at += 1;
    } else if ((sign === '{' || sign === '[') && isValue) {
      around.push(sign === '{' ? '}' : ']');
      awaited = sign === '{' ? 'NAME_OR_END' : 'VALUE_OR_END';
      at += 1;
    } else if (sign === '"' && (isName || isValue)) {
      const end = endOfText(text, at);
      if (typeof end === 'object') return end;
      awaited = isName ? 'COLON' : after();
      at = end;
    } else {
      const end = isValue ? (endOf(word, text, at) ?? endOf(number, text, at)) : null;
      if (end === null) {
        const more = hint(sign, awaited, sign === around.at(-1));
        return { at, what: `there should be ${words[awaited]}${more}` };
      }
      awaited = after();
      at = end;
    }
  }
}
