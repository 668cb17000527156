/** Owns: what a caught error says, as one text: its message, or whatever else was thrown. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
