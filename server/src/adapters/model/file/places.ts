/**
 * Owns: where in the text of a JSON value its parts are, and which names are there twice.
 *
 * Invariant: what it costs is what the text is long, however deep it is.
 */

/** As editors count, from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface Places {
  /** Of the part at this path, its name, or the value where it has none; of one that is not there, of what it would be in. */
  of(path: readonly PropertyKey[]): Place;
  /** Of each name that its object has already: JSON keeps the last and says nothing. */
  readonly twice: readonly { readonly first: Place; readonly again: Place }[];
}

/** Deepest part that is found; what is below has the place of the part it is in. No setting is as deep. */
const deepest = 8;

interface Around {
  /** Where each name of the object is; null: it is a list. */
  readonly names: Map<string, number> | null;
  /** The last name, or how many values of the list there were. */
  name: string | number;
  at: number;
}

/** The text must be JSON. */
export function placesIn(text: string): Places {
  const found = new Map<string, number>();
  const twice: { first: number; again: number }[] = [];
  const around: Around[] = [];
  const begin = (at: number): void => {
    if (around.length > deepest) return;
    const here = around.at(-1);
    found.set(keyOf(around.map(({ name }) => name)), here?.names ? here.at : at);
  };
  for (const { 0: token, 1: quoted, 2: colon, index } of text.matchAll(
    /("(?:[^"\\]|\\.)*")[ \t\n\r]*(:?)|[{}[\],]|[^\s{}[\],:"]+/g,
  )) {
    const here = around.at(-1);
    if (colon === ':' && here?.names) {
      const said = JSON.parse(quoted!) as string;
      const first = here.names.get(said);
      if (first === undefined) here.names.set(said, index);
      else twice.push({ first, again: index });
      here.name = said;
      here.at = index;
    } else if (token === '}' || token === ']') around.pop();
    else if (token === ',') {
      if (here && !here.names) here.name = Number(here.name) + 1;
    } else {
      begin(index);
      if (token === '{') around.push({ names: new Map(), name: '', at: index });
      else if (token === '[') around.push({ names: null, name: 0, at: index });
    }
  }
  const placeAt = createCounter(text);
  return {
    of(path) {
      for (let length = Math.min(path.length, deepest); length >= 0; length--) {
        const at = found.get(keyOf(path.slice(0, length)));
        if (at !== undefined) return placeAt(at);
      }
      return placeAt(0);
    },
    twice: twice.map(({ first, again }) => ({ first: placeAt(first), again: placeAt(again) })),
  };
}

const keyOf = (path: readonly PropertyKey[]): string => JSON.stringify(path.map(String));

/** From where something is in a text to its line and column. */
export function createCounter(text: string): (at: number) => Place {
  const begins = [0, ...Array.from(text.matchAll(/\r\n|\r|\n/g), ({ 0: end, index }) => index + end.length)];
  return (at) => {
    let low = 0;
    for (let high = begins.length; high - low > 1;) {
      const middle = (low + high) >>> 1;
      if (begins[middle]! <= at) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: at - begins[low]! + 1 };
  };
}

/** A place, in words. */
export const inWords = ({ line, column }: Place): string => `in line ${line}, column ${column}`;
