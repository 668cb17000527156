/**
 * Owns: keeping this process's session alive (D-100). A session that cannot be renewed within its term owns nothing
 * any more: its actors act as deposed (D-50), and the process says so.
 */
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { sessionHeartbeatMs, sessionTermMs, type Session } from '../../ports/ownership.ts';

/** After one that failed, milliseconds: a few short outages are not to use up the term. */
const againMs = 1_000;

/** Something that runs beside the actors. */
export interface Round {
  run(): void;
  stop(): void;
}

export function createHeartbeat(deps: {
  readonly session: Session;
  readonly clock: Clock;
  readonly log: Log;
  /** False when no other process can reach the database: then being cut off from it loses nothing to anybody. */
  readonly canBeTakenOver: boolean;
  onLost(): void;
}): Round {
  const { session, clock, log } = deps;
  let cancelBeat = (): void => undefined;
  let cancelDeadline = (): void => undefined;
  let over = false;

  function stop(): void {
    over = true;
    cancelBeat();
    cancelDeadline();
  }

  function lose(reason: string): void {
    if (over) return;
    stop();
    log.error({ session: session.id, reason }, 'this process is not the owner of its workstreams any more');
    deps.onLost();
  }

  /** The term runs from the moment a renewal was asked for; an answer that never comes does not prolong it. */
  function renewedAt(asked: number): void {
    cancelDeadline();
    if (!deps.canBeTakenOver) return;
    cancelDeadline = clock.after(asked + sessionTermMs - clock.now(), () =>
      lose('the heartbeat could not be written within its term'),
    );
  }

  async function beat(): Promise<void> {
    cancelBeat();
    const asked = clock.now();
    let next = sessionHeartbeatMs;
    try {
      const renewed = await session.renew();
      if (over) return;
      if (!renewed) return lose('the session was ended by another process or has expired');
      renewedAt(asked);
    } catch (error) {
      log.warn({ error: String(error) }, 'the heartbeat could not be written');
      next = againMs;
    }
    if (over) return;
    cancelBeat();
    cancelBeat = clock.after(next, () => void beat());
  }

  return {
    run() {
      renewedAt(clock.now());
      cancelBeat = clock.after(sessionHeartbeatMs, () => void beat());
      // A lost connection proves nothing yet: whether the session is, the next renewal says, so ask at once.
      session.onLost(() => {
        if (!over) void beat();
      });
    },
    stop,
  };
}
