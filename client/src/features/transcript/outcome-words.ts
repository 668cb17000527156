/** Owns: how the end of a turn that did not complete is headed for a person. Pure. */
import type { TurnOutcome } from 'schema/projection';

export function outcomeHead({ type, reason }: Pick<TurnOutcome, 'type' | 'reason'>): string {
  if (type === 'FAILED')
    return reason.startsWith('COMPACTION_') ? 'No summary was made.' : 'This turn failed.';
  if (reason === 'STOPPED') return 'Stopped';
  return reason === 'BUDGET_DENIED' ? 'Ended: no more tokens were granted' : 'Canceled';
}
