/**
 * Owns: showing text so that what a person reads is what is there, the same for server and client. Control characters,
 * bidirectional overrides and invisible ones could hide or reorder a part of a command; each is shown as its code point.
 */

/**
 * Line feeds and tabs stay; every other control, format or separator character, and what is drawn as nothing
 * (variation selectors, joiners, fillers), becomes ⟨U+XXXX⟩.
 */
export const visible = (text: string): string =>
  text.replace(/[^\P{C}\n\t]|[\p{Zl}\p{Zp}\p{DI}\u{2800}]/gu, codePoint);

/** As `visible`, and on one line. */
export const visibleLine = (text: string): string => visible(text).replace(/[\n\t]/gu, codePoint);

const codePoint = (character: string): string =>
  `⟨U+${(character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}⟩`;
