/**
 * Owns: how long it is news that a summary came to nothing. The feed says it once, right before the turn goes on.
 * Pure.
 */
import type { Followed } from 'schema/client-kit';

/** What was said, and in which state of things. */
export interface SummaryNews {
  readonly message: string;
  readonly turnId: string | null;
  readonly checkpointId: string | null;
}

/** After another turn has begun, or a summary was made, it is none any more. */
export function newsAfter(news: SummaryNews | null, { known }: Followed): SummaryNews | null {
  if (!known) return news;
  const { turn, checkpoint } = known.view.projection;
  // The end of a turn that was about nothing else says it itself.
  if (turn?.kind === 'COMPACT') return null;
  const turnId = turn?.id ?? null;
  const checkpointId = checkpoint?.id ?? null;
  const said = known.notices.find(({ code }) => code === 'COMPACTION_FAILED');
  if (said) return { message: said.message, turnId, checkpointId };
  return news?.turnId === turnId && news.checkpointId === checkpointId ? news : null;
}
