/**
 * Owns: what is said in the end about what does not fit (D-39): what failed first, and what a person can do.
 */
import { isFilledBy } from '../context/meter.ts';
import { mustStay } from '../context/watermark.ts';
import { weightOfAll } from '../context/tokens.ts';
import type { ModelFault } from '../models/fault.ts';
import { climb } from '../models/ladder.ts';
import type { StepDraft } from '../step-draft.ts';
import { contextOf, type Overflow, type State } from '../workstream/state.ts';
import { settleTurn } from './settle.ts';

const number = new Intl.NumberFormat('en');

/** Nothing is left to try: the turn ends with the first error, and with why it could not be summarised, if that was tried. */
export function endWithOverflow(draft: StepDraft, overflow: Overflow, why: string | null): StepDraft {
  const { kind, message } = reported(overflow);
  const alone = tooLongAlone(draft.state, overflow.chosen);
  const isGuess = overflow.fault.local === true && kind === 'CONTEXT_OVERFLOW';
  const first = alone !== null && isGuess ? '' : message;
  const tried = alone ?? (why === null ? '' : `It could not be summarised either: ${why}`);
  return settleTurn(draft, {
    type: 'FAILED',
    reason: `MODEL_${kind}`,
    message: [first, tried].filter((said) => said !== '').join(' '),
    unconfirmed: [],
  });
}

function reported({ fault, ladder }: Overflow): ModelFault {
  const next = climb(ladder, fault);
  return next.type === 'giveUp' ? next.fault : fault;
}

/** Null: without all that was before, what was said last may fit. */
function tooLongAlone(state: State, alias: string): string | null {
  const context = contextOf(state);
  const { window, overhead, scale } = context;
  const said = weightOfAll(mustStay(state.conversation));
  if (window === null || !isFilledBy(context, said)) return null;
  const about = (tokens: number): string => number.format(Math.ceil((tokens * scale) / 100) * 100);
  const reads = `"${alias}" reads ${number.format(window)}, its answer included`;
  const larger = 'choose a model with a larger context window';
  // Who said little is not to say less.
  return overhead > said
    ? `Without the conversation the system prompt and the tools need about ${about(overhead)} tokens, and ${reads}; shorten the AGENTS.md of the workspace or the instructions of the workstream, or ${larger}.`
    : `What was said last needs about ${about(said + overhead)} tokens even without all that was before, and ${reads}; take it back and say less at a time, put it into a file of the workspace, or ${larger}.`;
}
