/** Owns: making a text shorter without breaking a character: half a surrogate pair is none. */

/** At most `units` UTF-16 units of the text. */
export const cut = (text: string, units: number): string =>
  text.length <= units ? text : text.slice(0, units).replace(/[\uD800-\uDBFF]$/, '');

/** Its last `units` UTF-16 units at most. */
export const cutHead = (text: string, units: number): string =>
  text.length <= units ? text : text.slice(text.length - units).replace(/^[\uDC00-\uDFFF]/, '');

/**
 * Beginning and end of a text of which at most about `units` UTF-16 units are wanted, and how much is left out between;
 * never longer than the text.
 */
export function cutMiddle(
  text: string,
  units: number,
  mark = (gone: number): string => `[… ${gone} characters are left out here …]`,
): string {
  if (text.length <= units) return text;
  const half = Math.floor(units / 2);
  const head = cut(text, half);
  const tail = cutHead(text, half);
  const shorter = `${head}\n${mark(text.length - head.length - tail.length)}\n${tail}`;
  // To say that a little is left out may take more than that.
  return shorter.length < text.length ? shorter : text;
}
