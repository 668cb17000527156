/** Owns: how summaries of older history are said to a person (D-40). Pure. */
import type { CompactionTrigger } from 'schema/projection';
import { tokensInFull } from '../models/model-words.ts';
import { cannotGoBack, type Standing } from '../transcript/back.ts';

/** Why there is one, to follow "Older history was summarised". */
export const triggerWords: Readonly<Record<CompactionTrigger, string>> = {
  TOOLS: 'to make room for what calls gave',
  END_OF_TURN: 'because the context was nearly full',
  OVERFLOW: 'because the conversation did not fit any more',
  MANUAL: 'because a person wanted it',
};

/** How much room it made. */
export const roomWords = ({ before, after }: { readonly before: number; readonly after: number }): string =>
  `${tokensInFull(before)} → ${tokensInFull(after)} tokens`;

/** The same to be read aloud. */
export const roomAloud = ({ before, after }: { readonly before: number; readonly after: number }): string =>
  `from ${tokensInFull(before)} to ${tokensInFull(after)} tokens`;

/** While nothing is said of how far it is. */
export const summarising = 'Summarising older history …';

/** Why nothing can be summarised now, in words; null when it can be asked for. */
export function cannotSummarise(
  standing: Standing & { readonly summarising: boolean; readonly demo: boolean },
): string | null {
  if (standing.summarising) return 'It is being summarised. Stop ends that.';
  return (
    cannotGoBack(standing) ??
    (standing.demo ? 'The demo is no language model and cannot summarise. Choose another model first.' : null)
  );
}
