/** Owns: looking into bodies and JSON nobody vouches for. */

export type Json = Readonly<Record<string, unknown>>;

export const isRecord = (x: unknown): x is Json => typeof x === 'object' && x !== null && !Array.isArray(x);

/** The value as text when it is text, else ''. */
export const textOf = (x: unknown): string => (typeof x === 'string' ? x : '');

export const listOf = (x: unknown): readonly unknown[] => (Array.isArray(x) ? x : []);

/** The largest integer that GraphQL's Int holds: a count beyond it could be kept and never be shown. */
export const maxCount = 2 ** 31 - 1;

/** The value as a count when it is one. */
export const countOf = (x: unknown): number | undefined =>
  typeof x === 'number' && Number.isInteger(x) && x >= 0 && x <= maxCount ? x : undefined;

/**
 * More than any model reads or writes in one call (10 million are the most that is sold), with room for providers that count
 * several requests of theirs as one. What is beyond is a mistake of the endpoint, which would spend a budget at once and
 * stand in every sum for ever. It says nothing of how many there were, so it is no count: what was asked and said is estimated.
 */
const maxTokens = 2 ** 24;

/** The value as a count of tokens when it is one that can be. */
export const tokensOf = (x: unknown): number | undefined => {
  const count = countOf(x);
  return count !== undefined && count <= maxTokens ? count : undefined;
};

/**
 * Whether no more than `depth` objects and lists stand within each other, and there are no more than `units` of values and
 * of their text: no more of them are looked at.
 */
export function isWithin(x: unknown, depth: number, units: number): boolean {
  let left = units;
  function walk(value: unknown, depth: number): boolean {
    left -= typeof value === 'string' ? value.length : 1;
    if (left < 0) return false;
    if (typeof value !== 'object' || value === null) return true;
    if (depth === 0) return false;
    if (!Array.isArray(value)) return walk(Object.keys(value), 1) && walk(Object.values(value), depth);
    return value.every((inner) => walk(inner, depth - 1));
  }
  return walk(x, depth);
}

/** The parsed value, or undefined when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A body as text, read no further than about `maxBytes`. */
export async function readText(body: ReadableStream<Uint8Array>, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = '';
  for (let bytes = 0; bytes <= maxBytes;) {
    const { done, value } = await reader.read();
    if (done) return text;
    bytes += value.byteLength;
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  return text;
}
