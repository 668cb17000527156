/**
 * Owns: the signs that stand in a word for what is not a text: characters that no text has, so that a quoted star and a
 * pattern stay two things.
 */

/** What is not known. */
export const UNKNOWN = '\uFFFF';
/** A variable that the line does not set: it may be empty. */
export const UNSET = '\uFDD2';
/** In a pattern, any text and any character. */
export const STAR = '\uFDD0';
export const ANY = '\uFDD1';

/** As a shell would be given it: patterns are stars again. */
export const plain = (text: string): string => text.replaceAll(STAR, '*').replaceAll(ANY, '?');

/** As a shell reads it where it splits a value: stars are patterns. */
export const patterned = (text: string): string => text.replaceAll('*', STAR).replaceAll('?', ANY);

/** A word for a person: what is not known is an ellipsis. */
export const shown = (text: string): string => plain(text.replaceAll(UNKNOWN, '…').replaceAll(UNSET, '…'));
