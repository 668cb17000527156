/**
 * Owns: keeping this process's session alive (D-100). A session that cannot be renewed within its term owns nothing
 * any more: its actors act as deposed (D-50), and the process says so.
 */
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { sessionHeartbeatMs, sessionTermMs, type Session } from '../../ports/ownership.ts';

/** Something that runs beside the actors. */
export interface Round {
  run(): void;
  stop(): void;
}

export function createHeartbeat(deps: {
  readonly session: Session;
  readonly clock: Clock;
  readonly log: Log;
  onLost(): void;
}): Round {
  const { session, clock, log } = deps;
  let cancel = (): void => undefined;
  let lost = false;
  let renewedAt = clock.now();

  function lose(reason: string): void {
    if (lost) return;
    lost = true;
    cancel();
    log.error({ session: session.id, reason }, 'this process is not the owner of its workstreams any more');
    deps.onLost();
  }

  async function beat(): Promise<void> {
    const asked = clock.now();
    try {
      if (!(await session.renew())) return lose('the session was ended by another process or has expired');
      renewedAt = asked;
    } catch (error) {
      log.warn({ error: String(error) }, 'the heartbeat could not be written');
      if (clock.now() - renewedAt >= sessionTermMs)
        return lose('the heartbeat could not be written within its term');
    }
    if (!lost) cancel = clock.after(sessionHeartbeatMs, () => void beat());
  }

  return {
    run() {
      cancel = clock.after(sessionHeartbeatMs, () => void beat());
    },
    stop() {
      lost = true;
      cancel();
    },
  };
}
