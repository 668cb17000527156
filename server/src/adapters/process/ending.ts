/**
 * Owns: ending what a call has started: politely, then not, then seeing that it is gone.
 */
import type { Clock } from '../../ports/clock.ts';
import { findMarked, isGroupAlive, signalGroup, signalMarked } from './process-table.ts';

/** Between SIGTERM and SIGKILL, milliseconds. */
export const graceMs = 2_000;
/** From SIGKILL until the end counts as not confirmed, milliseconds. */
const confirmMs = 5_000;

export interface Ending {
  /** Null when only the markers are known: the server that started them is gone. */
  readonly group: number | null;
  readonly callIds: ReadonlySet<string>;
  /** When the first of their processes began (`startOf`); null: nobody knows. */
  readonly since: number | null;
  readonly graceMs: number;
}

/** Ends the group and every process marked with one of the calls. False when some could not be confirmed gone. */
export async function endAll({ clock }: { readonly clock: Clock }, ending: Ending): Promise<boolean> {
  const { group, callIds, since } = ending;
  const killAt = clock.now() + ending.graceMs;
  // At once, before anything is looked up: Stop means now.
  if (group !== null) signalGroup(group, 'SIGTERM');
  // SIGTERM goes to each only once: what handles it may take the second one for impatience, and lose its work.
  const asked = new Set<string>();
  for (let round = 0; ; round++) {
    const strays = (await findMarked(callIds, since)).filter((process) => process.group !== group);
    const groupAlive = group !== null && (await isGroupAlive(group));
    if (strays.length === 0 && !groupAlive) return true;

    const now = clock.now();
    if (now >= killAt + confirmMs) return false;
    if (now >= killAt) {
      // Repeated: a process may have forked in between.
      if (groupAlive) signalGroup(group, 'SIGKILL');
      for (const process of strays) signalMarked(process, 'SIGKILL');
    } else {
      for (const process of strays) {
        const identity = `${process.pid}/${process.startedAt}`;
        if (!asked.has(identity)) signalMarked(process, 'SIGTERM');
        asked.add(identity);
      }
    }
    await pause(clock, Math.min(10 * 2 ** round, 100));
  }
}

const pause = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve));
