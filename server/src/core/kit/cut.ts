/** Owns: making a text shorter without breaking a character: half a surrogate pair is none. */

/** At most `units` UTF-16 units of the text. */
export const cut = (text: string, units: number): string =>
  text.length <= units ? text : text.slice(0, units).replace(/[\uD800-\uDBFF]$/, '');
