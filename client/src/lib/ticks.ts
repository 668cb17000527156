/** Owns: what stands between backticks in the words of the server, which are written for models and people alike. Pure. */

export interface Piece {
  readonly text: string;
  /** To be shown as code, without its backticks. */
  readonly code: boolean;
}

/** All of it, in order; what has no second backtick in its line stays as it is. */
export function ticked(text: string): readonly Piece[] {
  return text
    .split(/`([^`\n]+)`/)
    .flatMap((part, i) => (part === '' ? [] : [{ text: part, code: i % 2 === 1 }]));
}
