/** Owns: when a text says nothing, for server and browser alike. */

/**
 * Something a person can see. Not seen are white space, controls, and what Unicode says to draw as nothing (joiners,
 * fillers, marks of direction, tags); it leaves out the marks of annotation and the empty Braille pattern.
 */
const seen = /[^\p{White_Space}\p{Cc}\p{Default_Ignorable_Code_Point}\u{FFF9}-\u{FFFB}\u{2800}]/u;

/** True when there is nothing in the text that a person could see. */
export const isBlank = (text: string): boolean => !seen.test(text);
