/**
 * Owns: running a command in a process group of its own, and ending all of it.
 * Does not own: what may be run (the tools and the approval gate), or what the result means.
 *
 * Invariants: a command sees none of the server's environment but a short allow-list; a finished call leaves no
 * process of its group behind; what is killed is known by its group or its marker, never by a remembered pid (D-70).
 */
import type { Clock } from '../../ports/clock.ts';
import type { Processes } from '../../ports/processes.ts';
import { endLeftovers } from './leftovers.ts';
import { findSessions } from './process-table.ts';
import { runCommand } from './run.ts';

/** `sessionId` marks what is run. Times are taken from `clock`; the machine's own when none is given. */
export function createProcesses({
  sessionId,
  clock = systemClock,
}: {
  readonly sessionId: string;
  readonly clock?: Clock;
}): Processes {
  return {
    run: (command, signal, onOutput) => runCommand({ clock, sessionId }, command, signal, onOutput),
    sessions: findSessions,
    endLeftovers: (left) => endLeftovers({ clock }, left),
  };
}

const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, f) {
    const timer = setTimeout(f, ms);
    return () => clearTimeout(timer);
  },
};
