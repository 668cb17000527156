/**
 * Owns: ending what commands of an earlier server left running on this host (D-70). They are known by the marker in
 * their environment, so a pid used again by another program is never hit.
 */
import type { Clock } from '../../ports/clock.ts';
import type { Leftovers } from '../../ports/processes.ts';
import { endAll } from './ending.ts';
import { findMarkedBy } from './process-table.ts';

/** Answers the calls found running. Empty where markers cannot be seen (not Linux). */
export async function endLeftovers(
  deps: { readonly clock: Clock },
  { callIds = [], sessions = [] }: Leftovers,
): Promise<readonly string[]> {
  if (callIds.length + sessions.length === 0) return [];
  const [calls, owners] = [new Set(callIds), new Set(sessions)];
  const left = await findMarkedBy(
    ({ callId, sessionId }) => calls.has(callId) || (sessionId !== null && owners.has(sessionId)),
  );
  const found = new Set(left.map((process) => process.callId));
  // No grace: nobody is left to read what they would still say.
  if (found.size > 0) await endAll(deps, { group: null, callIds: found, since: null, graceMs: 0 });
  return [...found];
}
