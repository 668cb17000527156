/**
 * Owns: what a workstream is said to be doing. All are pure functions of the one projection (D-6, I29).
 * First match wins: lifecycle · ATTENTION · RUNNING · THINKING · ERROR · IDLE.
 */
import type { ApprovalCycle, ApprovalItem } from './entries.ts';
import { liveTurn, type Projection } from './fold.ts';

export type WorkstreamState = 'CREATING' | 'CLOSED' | 'ATTENTION' | 'RUNNING' | 'THINKING' | 'ERROR' | 'IDLE';

/** What the live turn is busy with. */
export type Activity = 'MODEL' | 'TOOLS' | 'COMPACTING' | 'APPROVAL' | 'BUDGET';

/** Cycles that wait for a person. */
export const openCycles = (p: Projection): readonly ApprovalCycle[] =>
  p.cycles.filter((c) => c.status === 'OPEN');

/** Items that wait for a person, over all open cycles. */
export const openItems = (p: Projection): readonly ApprovalItem[] =>
  openCycles(p).flatMap((c) => c.items.filter((i) => i.decision === null));

export function activityOf(p: Projection): Activity | null {
  if (!liveTurn(p)) return null;
  const [open] = openCycles(p);
  if (open) return open.kind === 'BUDGET' ? 'BUDGET' : 'APPROVAL';
  if (isCompacting(p)) return 'COMPACTING';
  return p.batch ? 'TOOLS' : 'MODEL';
}

const stateByActivity: Readonly<Record<Exclude<Activity, 'COMPACTING'>, WorkstreamState>> = {
  APPROVAL: 'ATTENTION',
  BUDGET: 'ATTENTION',
  TOOLS: 'RUNNING',
  MODEL: 'THINKING',
};

export function stateOf(p: Projection): WorkstreamState {
  if (p.lifecycle !== 'OPEN') return p.lifecycle;
  const activity = activityOf(p);
  // A summary is written by a model, between the calls of a batch and their results or without one.
  if (activity === 'COMPACTING') return p.batch ? 'RUNNING' : 'THINKING';
  if (activity) return stateByActivity[activity];
  return hasFailed(p) ? 'ERROR' : 'IDLE';
}

/** True when the last turn failed. A summary by hand that came to nothing has left all as it was (D-40): it tells, and marks nothing. */
export const hasFailed = ({ turn }: Projection): boolean =>
  turn?.phase === 'FAILED' && turn.kind !== 'COMPACT';

/** True while older history is being summarised. */
export const isCompacting = (p: Projection): boolean => liveTurn(p)?.phase === 'COMPACTING';

/** True between the stop latch and the end of the turn. */
export const isStopping = (p: Projection): boolean => liveTurn(p)?.phase === 'INTERRUPTING';
