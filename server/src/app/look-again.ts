/** Owns: looking again at what the database could not say: sooner at first, then rarely. */
import type { Clock } from '../ports/clock.ts';

/** When to look again, milliseconds: the first time, doubling, and at most. */
const firstMs = 1_000;
const lastMs = 60_000;

/** Calls `look` once it is time, and on until one does not reject, or `isOver`. */
export function lookAgain(
  clock: Clock,
  look: () => Promise<void>,
  isOver: () => boolean,
  onFailure: (error: unknown) => void,
  ms = firstMs,
): void {
  clock.after(ms, () => {
    if (isOver()) return;
    look().catch((error: unknown) => {
      onFailure(error);
      lookAgain(clock, look, isOver, onFailure, Math.min(ms * 2, lastMs));
    });
  });
}
