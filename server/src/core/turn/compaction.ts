/**
 * Owns: beginning to summarise a conversation (D-40): when that is due, and asking for it. What follows is in
 * `compacted.ts`.
 *
 * Invariants: one compaction at a time, and one between two answers; what came to nothing twice in a turn is not tried
 * again in it, unless the conversation does not fit at all.
 */
import { liveTurn, type Compaction, type CompactionTrigger, type Context } from 'schema/projection';
import { carefulScale, isFilledBy, isOverHard, isOverSoft, markOfOverflow } from '../context/meter.ts';
import { weightOfAll } from '../context/tokens.ts';
import { cutOf, mustStay, type Cut } from '../context/watermark.ts';
import { choiceOf } from '../conversation/choice.ts';
import { admit, mint, patch, perform, performAfter, show, stampOf, type StepDraft } from '../step-draft.ts';
import { contextOf, type State } from '../workstream/state.ts';
import { isSpent } from './budget.ts';
import { transition } from './transitions.ts';

/** Compactions in a row that may come to nothing before a turn goes on without. */
const maxFailures = 2;
/** Summaries of a turn that may stand for results which the model has not read. */
const maxUnread = 2;

/** True when results of so many tokens are to wait for a summary, or for the budget to make one (D-33, D-34). */
export function isOwed(state: State, tokens: number): boolean {
  const context = contextOf(state);
  const over = isOverHard(context, tokens) || (context.advised && isOverSoft(context, tokens));
  return over && mayTry(state);
}

/** True when the end of a turn is the time for a summary. */
export const isDueAtEnd = (state: State): boolean =>
  isOverSoft(contextOf(state)) && mayTry(state) && !isSpent(state);

const mayTry = (state: State): boolean => state.projection.context.tried === null && !isHopeless(state);

/** True when it came to nothing too often in this turn. */
export const isHopeless = ({ projection }: State): boolean => projection.context.failures >= maxFailures;

/** Null: there is nothing in it to summarise. */
export function beginCompaction(draft: StepDraft, trigger: CompactionTrigger): StepDraft | null {
  const { context } = draft.state.projection;
  const turn = liveTurn(draft.state.projection);
  const resume = trigger === 'END_OF_TURN' && context.advised;
  if (!turn || (isRead(draft.state) && !cutFor(draft.state, { trigger, resume }))) return null;
  const [d, id] = mint(draft);
  const compacting = transition(
    turn,
    turn.id,
    { type: 'compact', compaction: { id, trigger, resume } },
    d.at,
  );
  return compacting && goOnCompacting(admit(d, { kind: 'TURN', turn: compacting }));
}

/** Asks for the summary, or for the conversation that it is made of; null: there turned out to be nothing to summarise. */
export function goOnCompacting(draft: StepDraft): StepDraft | null {
  const { state } = draft;
  const compaction = liveTurn(state.projection)?.compaction;
  if (!compaction) return null;
  const { id } = compaction;
  if (!isRead(state))
    return perform(patch(draft, { summary: { id, cut: null } }), {
      type: 'readConversation',
      stamp: stampOf(state),
      compactionId: id,
    });
  const cut = cutFor(state, compaction);
  if (!cut) return null;
  const { configuration } = state.projection;
  const told = show(patch(draft, { summary: { id, cut } }), {
    type: 'Notice',
    level: 'INFO',
    code: 'COMPACTING',
    message: 'Older history is being summarised to make room.',
  });
  return performAfter(told, {
    type: 'summarise',
    stamp: stampOf(state),
    compactionId: id,
    model: choiceOf(configuration),
    entries: cut.summarised,
    window: contextOf(state).window,
  });
}

/**
 * Null also when what must stay does not fit even alone: all else would be lost in vain. And when results that nobody has
 * read were summarised away too often in this turn: it would go on for ever.
 */
function cutFor(state: State, { trigger, resume }: Pick<Compaction, 'trigger' | 'resume'>): Cut | null {
  const measured = measuredOf(state, trigger);
  const { window, overhead } = measured;
  if (trigger === 'OVERFLOW' && isFilledBy(measured, weightOfAll(mustStay(state.conversation)))) return null;
  const cut = cutOf(state.conversation, {
    trigger,
    resume,
    window,
    scale: carefulScale(measured),
    overhead,
  });
  return cut?.unread && state.unread >= maxUnread ? null : cut;
}

/**
 * How full the context is, as the reason to summarise it says. An overflow is the word of an endpoint that was asked, for
 * the chosen model or in its place; unless it is known to be ours (after a crash it is not), or another model was chosen.
 */
export function measuredOf(state: State, trigger: CompactionTrigger): Context {
  const { overflow, projection } = state;
  const context = contextOf(state);
  if (trigger !== 'OVERFLOW') return context;
  const isOfChosen = !overflow || overflow.chosen === projection.configuration.model;
  return isOfChosen && !overflow?.fault.local ? markOfOverflow(context) : context;
}

const isRead = (state: State): boolean => state.conversationFrom === 0;
