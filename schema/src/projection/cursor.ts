/**
 * Owns: the feed cursor {incarnation, epoch, revision}, opaque to clients, who only hand it back (D-54).
 */
export interface Cursor {
  readonly incarnation: string;
  readonly epoch: number;
  readonly revision: number;
}

export const encodeCursor = (c: Cursor): string => `${c.incarnation}.${c.epoch}.${c.revision}`;

/** The cursor, or null when the text is not one. */
export function decodeCursor(text: string): Cursor | null {
  const match = /^([\w-]{1,64})\.(\d{1,15})\.(\d{1,15})$/.exec(text);
  return match ? { incarnation: match[1]!, epoch: Number(match[2]), revision: Number(match[3]) } : null;
}
