/**
 * Owns: losing a process at an exact place: just before or just after a commit, a claim, or an effect.
 */
import type { Process } from './scheduler.ts';

export type TrapPlace = 'commit' | 'claim' | 'model' | 'summary' | 'read' | 'count' | 'tool' | 'prepare';
export type TrapSide = 'before' | 'after';

export interface Trap {
  /** The next process that comes to this place dies there. */
  set(place: TrapPlace, side: TrapSide): void;
  clear(): void;
  /** How many times a process came to such a place. */
  readonly visits: number;
  /** True when the process has just died here. */
  springs(process: Process, place: TrapPlace, side: TrapSide): boolean;
}

/** `dieAt`, `standAt`: the visit at which the process dies, or stands still, whatever place it is. */
export function createTrap(
  crash: (process: Process, why: string) => void,
  dieAt: number | null,
  standAt: number | null = null,
): Trap {
  let visits = 0;
  let armed: { readonly place: TrapPlace; readonly side: TrapSide } | null = null;
  return {
    set: (place, side) => void (armed = { place, side }),
    clear: () => void (armed = null),
    get visits() {
      return visits;
    },
    springs(process, place, side) {
      if (!process.alive) return false;
      visits += 1;
      // What it was about to do it still does; what came of that it learns when it wakes.
      if (visits === standAt) process.suspended = true;
      const isArmed = armed?.place === place && armed.side === side;
      if (!isArmed && visits !== dieAt) return false;
      if (isArmed) armed = null;
      crash(process, `${side} ${place}`);
      return true;
    },
  };
}
