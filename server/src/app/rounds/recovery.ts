/**
 * Owns: ending what dead servers left running on this host, and carrying on the turns they left live (D-70): at boot,
 * and again every 30 s for those that could not be loaded then or whose owner died since (D-102). Loading a workstream
 * is all a turn takes. One that cannot be loaded does not keep the others, or the boot, from going on (D-71).
 */
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Ownership } from '../../ports/ownership.ts';
import type { Processes } from '../../ports/processes.ts';
import type { Registry } from '../actor/registry.ts';
import type { Round } from './heartbeat.ts';

/** Milliseconds between two looks (D-102). */
const sweepMs = 30_000;

interface RecoveryDeps {
  readonly ownership: Ownership;
  readonly registry: Registry;
  readonly processes: Processes;
  readonly sessionId: string;
  readonly log: Log;
}

/**
 * Ends every process on this host that was started in a session which is over: no turn may know of it any more, as after
 * a forced Stop (D-66). What another installation started, or a server that lives, is not touched.
 */
export async function endLeftoversOfTheDead({
  ownership,
  processes,
  sessionId,
  log,
}: Omit<RecoveryDeps, 'registry'>): Promise<void> {
  const others = (await processes.sessions()).filter((session) => session !== sessionId);
  const sessions = await ownership.over(others);
  if (sessions.length === 0) return;
  const calls = await processes.endLeftovers({ sessions });
  log.info({ calls }, 'killed what was found running of a dead server');
}

/** Loads every workstream whose live turn nobody runs; answers how many there were. Rejects when the database is away. */
export async function recoverLiveTurns({
  ownership,
  registry,
  sessionId,
  log,
}: Omit<RecoveryDeps, 'processes'>): Promise<number> {
  const lost = (await ownership.liveTurns(sessionId)).filter((id) => registry.peek(id) === null);
  for (const id of lost) await registry.recover(id);
  if (lost.length > 0) log.info({ workstreams: lost.length }, 'live turns carry on');
  return lost.length;
}

export function createRecovery(deps: RecoveryDeps & { readonly clock: Clock }): Round {
  let cancel = (): void => undefined;
  let stopped = false;

  async function sweep(): Promise<void> {
    try {
      await endLeftoversOfTheDead(deps);
    } catch (error) {
      deps.log.warn({ error: String(error) }, 'what a dead server left could not be ended; trying again');
    }
    try {
      await recoverLiveTurns(deps);
    } catch (error) {
      deps.log.warn({ error: String(error) }, 'live turns could not be looked for; trying again');
    }
    if (!stopped) cancel = deps.clock.after(sweepMs, () => void sweep());
  }

  return {
    run: () => void sweep(),
    stop() {
      stopped = true;
      cancel();
    },
  };
}
