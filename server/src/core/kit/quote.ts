/**
 * Owns: repeating in a sentence what a stranger gave: enough to know it again, never so much that it buries the sentence.
 */

/** Most of it that is repeated, UTF-16 units. */
const maxQuoted = 200;

/** The text, or its beginning and an ellipsis; never half a character. */
export const quote = (text: string): string =>
  text.length <= maxQuoted ? text : `${text.slice(0, maxQuoted).replace(/[\uD800-\uDBFF]$/, '')}…`;
