/**
 * Owns: noticing that another process on this database revoked a token whose holder sits on an open socket or stream and
 * asks nothing. Who asks something is checked then (`remembered-tokens.ts`).
 *
 * Invariant: one question for all of them, and none while nobody listens.
 */
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Tokens } from '../services/tokens.ts';
import type { Round } from './heartbeat.ts';

/** Milliseconds between two looks: as long as a token is remembered without being asked about. */
const checkMs = 5_000;

/** Needed only where another process can revoke. */
export function createHeldTokens({
  tokens,
  clock,
  log,
}: {
  readonly tokens: Pick<Tokens, 'checkHeld'>;
  readonly clock: Clock;
  readonly log: Log;
}): Round {
  let stopped = false;
  let cancel = (): void => undefined;

  async function check(): Promise<void> {
    try {
      await tokens.checkHeld();
    } catch (error) {
      log.warn({ error: String(error) }, 'the tokens of open sockets could not be checked; trying again');
    }
    if (!stopped) wait();
  }

  function wait(): void {
    cancel = clock.after(checkMs, () => void check());
  }

  return {
    run: wait,
    stop() {
      stopped = true;
      cancel();
    },
  };
}
