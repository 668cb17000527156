/** Owns: a number with its noun, in the sentences of the tools: `1 byte`, `2 bytes`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
