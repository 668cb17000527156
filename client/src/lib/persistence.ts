/** Owns: how far something is from being saved, said to a person. Pure. */
import type { Persistence } from 'schema/projection';

export interface Said {
  readonly tone: 'quiet' | 'wait' | 'bad';
  /** The fact in two or three words. */
  readonly head: string;
  /** Why, as the server says it; empty when it did not. */
  readonly why: string;
}

/** Null when all is saved. */
export function persistenceSaid(persistence: Persistence): Said | null {
  switch (persistence.status) {
    case 'HEALTHY':
      return null;
    case 'PENDING':
      return { tone: 'quiet', head: savedWords.PENDING, why: 'The database takes longer than usual.' };
    case 'RETRYING':
      return { tone: 'wait', head: savedWords.RETRYING, why: persistence.message };
    case 'CONFLICT':
      return { tone: 'bad', head: savedWords.CONFLICT, why: persistence.message };
  }
}

export const savedWords: Readonly<Record<Persistence['status'], string>> = {
  HEALTHY: 'All is saved',
  PENDING: 'Not saved yet',
  RETRYING: 'Not saved yet',
  CONFLICT: 'Cannot be saved',
};

/** No pause of the server is longer; a later time is that of a clock which differs from ours. */
const LONGEST_PAUSE_S = 90;

/** When the server tries again, by the clock of this browser (ms since 1970). */
export function nextTry(nextAttemptAt: string, now: number): string {
  const seconds = Math.ceil((Date.parse(nextAttemptAt) - now) / 1_000);
  if (!(seconds <= LONGEST_PAUSE_S)) return 'It tries again soon.';
  return seconds > 0 ? `Next try in ${seconds} s.` : 'Trying again …';
}
