/**
 * Owns: what follows when a conversation was summarised, or could not be (D-40): the turn goes on where it was.
 *
 * Invariants: a summary is taken only by the turn and the compaction that asked for it; one that came to nothing leaves
 * the conversation as it was, and says so once; no summary makes a conversation longer (G3).
 */
import { liveTurn, type CompactionTrigger, type EntryBody } from 'schema/projection';
import { markOfSummary, mayFit, usedOf } from '../context/meter.ts';
import { resumeAfterSummary, roomAgain } from '../context/texts.ts';
import { isAdvice } from '../context/watermark.ts';
import { nobody, withSender } from '../conversation/lower.ts';
import { tokensOf, weightOfAll } from '../context/tokens.ts';
import type { SummaryOutcome } from '../inputs.ts';
import { admit, patch, show, type StepDraft } from '../step-draft.ts';
import { contextOf, isLatched } from '../workstream/state.ts';
import { drainOrSettle } from './answer.ts';
import { askForBudget, isSpent } from './budget.ts';
import { finishBatch } from './calls.ts';
import { beginCompaction, goOnCompacting, isHopeless, measuredOf } from './compaction.ts';
import { askModel } from './model-call.ts';
import { endWithOverflow } from './overflow.ts';
import { settleTurn } from './settle.ts';
import { finishStop } from './stop.ts';
import { transition } from './transitions.ts';

/** What came of it, for who goes on: null, that it did; or why not. */
type Failure = Extract<SummaryOutcome, { readonly type: 'failed' }>;

/** How far a summary has come. */
export function summaryNotice(draft: StepDraft, compactionId: string, message: string): StepDraft {
  if (draft.state.summary?.id !== compactionId || isLatched(liveTurn(draft.state.projection))) return draft;
  return show(draft, { type: 'Notice', level: 'INFO', code: 'COMPACTING', message });
}

export function summaryEnded(draft: StepDraft, compactionId: string, outcome: SummaryOutcome): StepDraft {
  const { summary, projection } = draft.state;
  if (summary?.id !== compactionId) return draft;
  const over = patch(draft, { summary: null });
  if (isLatched(liveTurn(projection))) return finishStop(over);
  switch (outcome.type) {
    case 'aborted':
      return failed(over, {
        type: 'failed',
        reason: 'ABORTED',
        message: 'The summary was ended from outside.',
      });
    case 'failed':
      return failed(over, outcome);
    case 'summarised':
      return summarised(draft, outcome);
  }
}

/** What was needed for it has been read. */
export function conversationReadToCompact(draft: StepDraft): StepDraft {
  return draft.state.summary && !draft.state.summary.cut ? resumeCompaction(draft) : draft;
}

/** In another process, or with more of the conversation read: it is begun again, for its own reason. */
export function resumeCompaction(draft: StepDraft): StepDraft {
  const compacting = isSpent(draft.state) ? null : goOnCompacting(draft);
  if (compacting) return compacting;
  return failed(patch(draft, { summary: null }), isSpent(draft.state) ? budgetSpent : nothingLeft);
}

/** The summary of a turn that has no other matter is begun. */
export const compactInTurn = (draft: StepDraft): StepDraft =>
  beginCompaction(draft, 'MANUAL') ?? endOfCompactTurn(draft, nothingLeft);

const nothingLeft: Failure = {
  type: 'failed',
  reason: 'NOT_ENOUGH',
  message: 'There is nothing left to summarise.',
};

const budgetSpent: Failure = {
  type: 'failed',
  reason: 'BUDGET_SPENT',
  message: 'The token budget is spent.',
};

function summarised(
  draft: StepDraft,
  { summary, alias, model }: Extract<SummaryOutcome, { readonly type: 'summarised' }>,
): StepDraft {
  const { projection, summary: asked } = draft.state;
  const over = patch(draft, { summary: null });
  const cut = asked?.cut;
  const compaction = liveTurn(projection)?.compaction;
  if (!cut || !compaction) return draft;
  const context = measuredOf(draft.state, compaction.trigger);
  const body: EntryBody = {
    kind: 'CHECKPOINT',
    summary,
    watermark: cut.watermark,
    request: cut.request,
    senders: cut.summarised.reduce(withSender, nobody),
    trigger: compaction.trigger,
    before: usedOf(context),
    after: 0,
    model,
    alias,
    context,
  };
  const told = tokensOf(body) + weightOfAll(cut.kept);
  const mark = markOfSummary(context, told);
  if (told >= weightOfAll(draft.state.conversation) || usedOf(mark) >= usedOf(context))
    return failed(over, {
      type: 'failed',
      reason: 'NOT_SHORTER',
      message: 'The summary was no shorter than what it was to stand for.',
    });
  const checked = admit(over, { ...body, after: usedOf(mark), context: mark });
  const noted = patch(checked, { unread: draft.state.unread + (cut.unread ? 1 : 0) });
  return goOn(noted, compaction.trigger, compaction.resume, null);
}

function failed(draft: StepDraft, failure: Failure): StepDraft {
  const compaction = liveTurn(draft.state.projection)?.compaction;
  if (!compaction) return draft;
  const said = show(draft, {
    type: 'Notice',
    level: 'WARNING',
    code: 'COMPACTION_FAILED',
    message: `${failure.message} The conversation is as it was.`,
  });
  return goOn(said, compaction.trigger, false, failure);
}

function goOn(
  draft: StepDraft,
  trigger: CompactionTrigger,
  resume: boolean,
  failure: Failure | null,
): StepDraft {
  const turn = liveTurn(draft.state.projection)!;
  const running = transition(turn, turn.id, { type: 'compacted' }, draft.at)!;
  if (trigger === 'MANUAL') return endOfCompactTurn(draft, failure);
  const d = admit(draft, { kind: 'TURN', turn: running });
  switch (trigger) {
    case 'TOOLS':
      return finishBatch(d);
    case 'END_OF_TURN':
      return resume ? askModel(admit(d, resumeEntry(d))) : drainOrSettle(d);
    case 'OVERFLOW':
      return failure ? overflowed(d, failure) : askModel(takeAdviceBack(d));
  }
}

/** Where the model would still read that it should wind down. */
const takeAdviceBack = (draft: StepDraft): StepDraft =>
  draft.state.conversation.some(isAdvice)
    ? admit(draft, { kind: 'SYSTEM', text: roomAgain, source: 'COMPACTION_DONE' })
    : draft;

const resumeEntry = (draft: StepDraft): EntryBody => ({
  kind: 'USER',
  text: resumeAfterSummary,
  author: liveTurn(draft.state.projection)!.principal,
  source: 'COMPACTION_RESUME',
});

/**
 * The first error is the one reported (D-39). One of our own making, or one that was lost with the process that had it,
 * is tried at the endpoint, which has the last word.
 */
function overflowed(draft: StepDraft, failure: Failure): StepDraft {
  const { overflow, projection } = draft.state;
  // Of one that is chosen meanwhile nobody said that it does not fit.
  if (overflow && overflow.chosen !== projection.configuration.model) return askModel(draft);
  const isUnpaid = isSpent(draft.state);
  // Granted, it is tried again, though not for ever: it was only for want of budget that it came to nothing.
  if (isUnpaid && !isHopeless(draft.state)) return askForBudget(draft);
  if (!overflow || (overflow.fault.local && !isUnpaid && mayFit(contextOf(draft.state))))
    return askModel(draft);
  return endWithOverflow(draft, overflow, failure.message);
}

function endOfCompactTurn(draft: StepDraft, failure: Failure | null): StepDraft {
  return settleTurn(
    draft,
    failure
      ? {
          type: 'FAILED',
          reason: `COMPACTION_${failure.reason}`,
          message: `${failure.message} The conversation is as it was.`,
          unconfirmed: [],
        }
      : { type: 'COMPLETED', reason: 'COMPACTED', message: '', unconfirmed: [] },
  );
}
