/**
 * Owns: losing a process at an exact place: just before or just after a commit, a claim, or an effect.
 */
import type { Process } from './scheduler.ts';

export type TrapPlace = 'commit' | 'claim' | 'model' | 'tool' | 'prepare';
export type TrapSide = 'before' | 'after';

export interface Trap {
  /** The next process that comes to this place dies there. */
  set(place: TrapPlace, side: TrapSide): void;
  clear(): void;
  /** True when the process has just died here. */
  springs(process: Process, place: TrapPlace, side: TrapSide): boolean;
}

export function createTrap(crash: (process: Process, why: string) => void): Trap {
  let armed: { readonly place: TrapPlace; readonly side: TrapSide } | null = null;
  return {
    set: (place, side) => void (armed = { place, side }),
    clear: () => void (armed = null),
    springs(process, place, side) {
      if (!process.alive || armed?.place !== place || armed.side !== side) return false;
      armed = null;
      crash(process, `${side} ${place}`);
      return true;
    },
  };
}
