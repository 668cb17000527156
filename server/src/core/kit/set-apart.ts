/**
 * Owns: setting a text apart from what stands around it, whatever is in it: it cannot end its fence, so nothing in it is
 * taken for what the server says.
 */

/** The text between two lines of more `~` than it has in a row. */
export function setApart(text: string): string {
  const longest = text.match(/~+/g)?.reduce((most, { length }) => Math.max(most, length), 0) ?? 0;
  const fence = '~'.repeat(Math.max(3, longest + 1));
  return `${fence}\n${text}\n${fence}`;
}
