/** Owns: how a change of what a workstream is set to is said to a person. Pure. */
import type { Configuration } from 'schema/projection';
import { modeWords } from '../../lib/words.ts';
import { tokensInFull, tuningWords } from '../models/model-words.ts';

/** What is other than it was, the mode last; empty when that is nothing to tell. */
export function changeWords(before: Configuration, now: Configuration): string {
  const said = [
    ...(before.title === now.title
      ? []
      : [`${now.titleSource === 'GENERATED' ? 'Named' : 'Renamed to'} “${now.title}”`]),
    ...modelChange(before, now),
    ...boundsChange(before, now),
    ...(before.approvalMode === now.approvalMode ? [] : [`Now “${modeWords[now.approvalMode].name}”`]),
  ];
  return said.join(' · ');
}

function modelChange(before: Configuration, now: Configuration): readonly string[] {
  const tuned = tuningWords(now);
  if (before.model !== now.model) return [`Now with the model ${now.model}${tuned && ` (${tuned})`}`];
  if (before.temperature === now.temperature && before.effort === now.effort) return [];
  return [`Now with ${tuned || 'the model as it is set up'}`];
}

function boundsChange(before: Configuration, now: Configuration): readonly string[] {
  const said: string[] = [];
  if (before.instructions !== now.instructions)
    said.push(`Instructions ${now.instructions === undefined ? 'removed' : 'set'}`);
  if (before.tokenBudget !== now.tokenBudget)
    said.push(
      now.tokenBudget === undefined
        ? 'Now without a budget'
        : `Now with a budget of ${tokensInFull(now.tokenBudget)} tokens`,
    );
  return said;
}
