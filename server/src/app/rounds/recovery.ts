/**
 * Owns: carrying on, at boot, the turns that a dead process left live (D-70): loading a workstream is all it takes.
 * One that cannot be loaded does not keep the others, or the boot, from going on (D-71).
 */
import type { Log } from '../../ports/log.ts';
import type { Ownership } from '../../ports/ownership.ts';
import type { Registry } from '../actor/registry.ts';

export async function recoverLiveTurns(deps: {
  readonly ownership: Ownership;
  readonly registry: Registry;
  readonly sessionId: string;
  readonly log: Log;
}): Promise<number> {
  const ids = await deps.ownership.liveTurns(deps.sessionId);
  for (const id of ids) await deps.registry.recover(id);
  if (ids.length > 0) deps.log.info({ workstreams: ids.length }, 'live turns carry on');
  return ids.length;
}
