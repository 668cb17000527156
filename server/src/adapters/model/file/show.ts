/**
 * Owns: which names of the model file are repeated in a sentence about it, and how.
 *
 * Invariant: a name that may be a key, which somebody wrote or pasted into the wrong place, is not repeated.
 */

/** Longest name that is repeated as a whole, UTF-16 units. */
const maxName = 100;

/** Names are made of words and numbers; what is both in one breath, or longer than any word, is drawn. */
const drawn = [
  /(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{16,}/i,
  /[a-z\d]{32,}/i,
  /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}/i,
  // What providers begin their keys with; a model's name goes on with less.
  /\b(?:sk|gsk|pk|xai|hf|nvapi|ghp)[-_][\w-]{16,}/i,
  /\b(?:bearer|basic)\s+\S{8,}/i,
  // Credentials within an address.
  /:\/\/[^/]*@|[?&][^=]*=/,
];

/** Whether it is more like a key than like a name that people give. */
const mayBeKey = (text: string): boolean => {
  // No more of it is repeated, and the patterns take their time.
  const begin = text.slice(0, 2 * maxName);
  return drawn.some((pattern) => pattern.test(begin));
};

const shortened = (name: string): string => (name.length > maxName ? `${name.slice(0, maxName)}…` : name);

/** A name, in quotes. */
export const show = (name: string): string =>
  mayBeKey(name) ? 'something that may be a key and is not repeated' : JSON.stringify(shortened(name));

/** A place in the file. */
export const placeOf = (path: readonly PropertyKey[]): string =>
  path.map((name) => (mayBeKey(String(name)) ? '[hidden]' : shortened(String(name)))).join('.') || 'The file';
