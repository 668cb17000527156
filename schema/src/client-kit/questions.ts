/** Owns: what a person is asked, and the answer to it. Does not own: who may be asked (the server). */
import { openCycles, type ApprovalCycle, type ApprovalItem, type Projection } from '../projection/index.ts';
import type { Known } from './followed.ts';

/**
 * A call, or more of the budget (`kind` BUDGET, D-33), that waits for a person, and the cycle it stands in: all that a
 * decision names (D-64).
 */
export interface Question extends ApprovalItem, Pick<ApprovalCycle, 'kind' | 'budget'> {
  readonly cycleId: string;
}

/** What waits for a person, oldest first. */
export const openQuestions = (projection: Projection): readonly Question[] =>
  openCycles(projection).flatMap(({ id: cycleId, kind, budget, items }) =>
    items
      .filter((item) => item.decision === null)
      .map((item) => ({ ...item, cycleId, kind, ...(budget && { budget }) })),
  );

/**
 * Gives each question once, in order, when it is durable and still open; undefined when there is no other. One that is
 * pending may vanish and come back under another id.
 */
export function questionTaker(): (known: Known | null) => Question | undefined {
  const given = new Set<string>();
  return (known) => {
    if (!known) return undefined;
    const durable = new Set(openQuestions(known.view.base).map((question) => question.callId));
    const next = openQuestions(known.view.projection).find(
      ({ callId }) => durable.has(callId) && !given.has(callId),
    );
    if (next) given.add(next.callId);
    return next;
  };
}
