/**
 * Owns: ending what commands of an earlier server left running on this host (D-70). They are known by the marker in
 * their environment, so a pid used again by another program is never hit.
 */
import type { Clock } from '../../ports/clock.ts';
import { endAll } from './ending.ts';
import { findMarked } from './process-table.ts';

/** Answers the calls found running. Empty where markers cannot be seen (not Linux). */
export async function endLeftovers(
  deps: { readonly clock: Clock },
  callIds: readonly string[],
): Promise<readonly string[]> {
  const found = new Set((await findMarked(new Set(callIds))).map((process) => process.callId));
  // No grace: nobody is left to read what they would still say.
  if (found.size > 0) await endAll(deps, { group: null, callIds: found, graceMs: 0 });
  return [...found];
}
