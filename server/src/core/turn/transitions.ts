/**
 * Owns: how a turn's phase changes (D-30). One guarded function; transitions carry the turn's id; the first terminal
 * wins and a settled turn never changes (I26, I27).
 *
 *   RUNNING ⇄ COMPACTING, either → INTERRUPTING, any of the three → COMPLETED | FAILED | CANCELED
 *
 * The stop latch is one-way: from INTERRUPTING only CANCELED is left.
 */
import type { Author, Compaction, Turn, TurnOutcome } from 'schema/projection';

export type TurnEvent =
  | { readonly type: 'stop' }
  | { readonly type: 'settle'; readonly outcome: TurnOutcome }
  /** Older history is summarised, and it goes on when that is over. */
  | { readonly type: 'compact'; readonly compaction: Compaction }
  | { readonly type: 'compacted' }
  /** A new claim to write, after the process that held the old one is gone. */
  | { readonly type: 'reclaim'; readonly generation: number; readonly recoveries: number };

export const newTurn = (
  id: string,
  kind: Turn['kind'],
  generation: number,
  principal: Author,
  at: string,
): Turn => ({
  id,
  kind,
  phase: 'RUNNING',
  generation,
  principal,
  outcome: null,
  recoveries: 0,
  startedAt: at,
  settledAt: null,
});

/** The turn after the event, or null when the event does not apply to it: another turn's, or one not possible now. */
export function transition(turn: Turn, turnId: string, event: TurnEvent, at: string): Turn | null {
  if (turn.id !== turnId || turn.outcome !== null) return null;
  const { compaction: _, ...rest } = turn;
  switch (event.type) {
    case 'stop':
      return turn.phase === 'INTERRUPTING' ? null : { ...rest, phase: 'INTERRUPTING' };
    case 'settle':
      if (turn.phase === 'INTERRUPTING' && event.outcome.type !== 'CANCELED') return null;
      return { ...rest, phase: event.outcome.type, outcome: event.outcome, settledAt: at };
    case 'compact':
      return turn.phase === 'RUNNING' ? { ...turn, phase: 'COMPACTING', compaction: event.compaction } : null;
    case 'compacted':
      return turn.phase === 'COMPACTING' ? { ...rest, phase: 'RUNNING' } : null;
    case 'reclaim':
      return event.generation > turn.generation
        ? { ...turn, generation: event.generation, recoveries: event.recoveries }
        : null;
  }
}
