/**
 * Owns: the one place where stale work dies (D-5, I28). Work of a turn is stamped {epoch, generation}; it counts only
 * while that turn lives under that very claim.
 */
import type { Stamp } from './inputs.ts';
import { liveTurnOf, type State } from './workstream/state.ts';

export function isCurrent(state: State, stamp: Stamp): boolean {
  if (stamp.epoch !== state.epoch) return false;
  return stamp.generation === null || liveTurnOf(state)?.generation === stamp.generation;
}
