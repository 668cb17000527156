/**
 * Owns: how a long command or argument text is laid out, so that nothing can hide below or between: many empty lines
 * are told as a number, and how long the whole is stands above it.
 */

export type PlainPart =
  | { readonly kind: 'text'; readonly text: string }
  /** A run of empty lines, too long to be shown as such. */
  | { readonly kind: 'empty'; readonly count: number };

/** Empty lines in a row that are still shown as they are. */
const SHOWN_EMPTY = 2;
/** What fits without scrolling. */
const FIT_LINES = 16;
const FIT_CHARACTERS = 2_000;

export function plainParts(body: string): readonly PlainPart[] {
  const parts: PlainPart[] = [];
  let lines: string[] = [];
  let empty = 0;
  const closeRun = (): void => {
    if (empty > SHOWN_EMPTY) {
      if (lines.length > 0) parts.push({ kind: 'text', text: lines.join('\n') });
      parts.push({ kind: 'empty', count: empty });
      lines = [];
    } else for (let i = 0; i < empty; i += 1) lines.push('');
    empty = 0;
  };
  for (const line of body.split('\n')) {
    if (line.trim() === '') empty += 1;
    else {
      closeRun();
      lines.push(line);
    }
  }
  closeRun();
  if (lines.length > 0) parts.push({ kind: 'text', text: lines.join('\n') });
  return parts;
}

/** "5,001 lines, 5,010 characters: read to the end before you decide."; null when all of it is in sight. */
export function lengthWarning(body: string): string | null {
  const count = body.split('\n').length;
  return count > FIT_LINES || body.length > FIT_CHARACTERS
    ? `${count.toLocaleString('en')} ${count === 1 ? 'line' : 'lines'}, ${body.length.toLocaleString('en')} characters: read to the end before you decide.`
    : null;
}
