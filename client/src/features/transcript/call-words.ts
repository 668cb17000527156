/** Owns: how a call of a tool is said to a person. Pure. */
import { effectWords, outcomeWords } from '../../lib/words.ts';
import type { CallBlock, CallState } from './blocks.ts';

const stateWords: Readonly<Record<CallState, string>> = {
  DECLARED: 'About to start',
  ASKING: 'Waits for your decision',
  APPROVED: 'Approved, about to start',
  RUNNING: 'Running …',
  SETTLED: 'Finished',
  DROPPED: 'Never started: the turn ended first',
};

export function callWords({ state, result, item }: CallBlock): string {
  if (state === 'SETTLED' && result) {
    // What a person said no to is told by who denied it; that it changed nothing goes without saying.
    if (result.outcome === 'DENIED') return outcomeWords.DENIED;
    // What changed something did run; that it "failed" would be read as that nothing was done.
    if (result.outcome === 'ERROR' && result.effect === 'COMMITTED') return 'Ran, and ended with an error';
    return `${outcomeWords[result.outcome]}, ${effectWords[result.effect]}`;
  }
  if (state === 'DECLARED' && item?.decision?.verdict === 'DENIED') return outcomeWords.DENIED;
  return stateWords[state];
}

/** What the server tells the model of a call that was stopped, in place of what it gave. */
const toldModel = /^Stopped while running\. Effect on the world: [A-Z_]+\.$/;

/** What a call gave; empty when that is nothing beyond what `callWords` says. */
export const resultText = ({ result }: CallBlock): string =>
  result === null || (result.outcome === 'CANCELED' && toldModel.test(result.content)) ? '' : result.content;

export type Tone = 'calm' | 'asking' | 'busy' | 'good' | 'bad' | 'warning';

export function callTone({ state, result, item }: CallBlock): Tone {
  if (state === 'ASKING') return 'asking';
  if (state === 'RUNNING') return 'busy';
  if (!result) return item?.decision?.verdict === 'DENIED' ? 'bad' : 'calm';
  if (result.effect === 'UNKNOWN' || result.effect === 'PARTIAL') return 'warning';
  if (result.outcome === 'OK') return 'good';
  return result.outcome === 'CANCELED' ? 'calm' : 'bad';
}
