/** Owns: what a word of a watch is: that what it waits for has happened, or that it ends without. */
import type { Fire } from './entries.ts';

/** What it waits for has happened; else it says that it ends without. */
export const isFired = ({ reason }: Pick<Fire, 'reason'>): boolean =>
  reason === 'CONDITION' || reason === 'CHANGE';
