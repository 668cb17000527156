/**
 * Owns: showing text so that what a person reads is what is there. Control characters, bidirectional overrides and
 * invisible ones could hide or reorder a part of a command; each is shown as its code point.
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

/** At most `max` code units, never half a surrogate pair; `note` says how many lines are missing. */
export function shorten(text: string, max: number, note: (lines: number) => string): string {
  if (text.length <= max) return text;
  const lineEnd = text.lastIndexOf('\n', max);
  let end = lineEnd > max / 2 ? lineEnd : max;
  if (/[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end--;
  const missing = text
    .slice(end)
    .split('\n')
    .filter((line) => line !== '').length;
  return `${text.slice(0, end)}\n${note(missing)}\n`;
}
