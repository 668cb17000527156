/**
 * Owns: repeating in a sentence what a stranger gave: enough to know it again, never so much that it buries the sentence.
 */
import { cut } from './cut.ts';

/** Most of it that is repeated, UTF-16 units. */
const maxQuoted = 200;

/** The text, or its beginning and an ellipsis; never half a character. */
export const quote = (text: string): string => (text.length <= maxQuoted ? text : `${cut(text, maxQuoted)}…`);
