/**
 * Owns: the output of a poll as data.
 *
 * Invariant: an object becomes a Map, so a key that somebody else chose ("constructor", "__proto__") is a key like any
 * other and never reaches a prototype. Whole numbers are read digit by digit: none loses its end beyond 2^53.
 */
const whole = /^-?\d+$/;
const mostInt = 2n ** 63n - 1n;

/** Null: it is no JSON. Throws where it is nested too deeply to be read. */
export function dataOf(output: string): unknown {
  // A number, text, list, map, true, false or null: looked at first, for an error of the parser quotes the whole.
  if (!/^\s*[-\d"[{tfn]/.test(output)) return null;
  try {
    return JSON.parse(output, asCel);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw new Error('The output is JSON that is nested too deeply.', { cause: error });
  }
}

/** The third argument is there since V8 11.4; the types do not know it yet. */
function asCel(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value === 'number') {
    const source = context?.source ?? String(value);
    if (!whole.test(source)) return value;
    const int = BigInt(source);
    return int <= mostInt && int >= -mostInt - 1n ? int : value;
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? new Map(Object.entries(value))
    : value;
}
