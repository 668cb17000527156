/**
 * Owns: how a durable prefix and a pending suffix become one history (D-53). The suffix is taken before the prefix is
 * read, so an entry may be in both: each is shown once, in place.
 */
import type { Entry } from 'schema/projection';

/** Entries of both, ascending, each revision once; the durable copy wins (they are equal but for nothing). */
export function mergeHistory(prefix: readonly Entry[], suffix: readonly Entry[]): readonly Entry[] {
  const last = prefix.at(-1)?.revision ?? 0;
  const merged = [...prefix, ...suffix.filter((e) => e.revision > last)];
  return merged;
}
