/**
 * Owns: asking the model, and asking again. Each attempt is a new message id; what an earlier one showed stays until
 * the next one says something, is then voided by a StreamReset (D-8), and is kept when none does. How often, when and
 * whom is the ladder's to say (D-37).
 *
 * Invariant: no attempt waits on, for a slot or to ask again, for a model that is not the chosen one any more; an
 * endpoint that is asked is not left for that.
 */
import { choiceOf } from '../conversation/choice.ts';
import type { ModelFault, Remedy } from '../models/fault.ts';
import { bottom, climb, withoutAdvice, type Ladder } from '../models/ladder.ts';
import { mint, patch, perform, performAfter, show, stampOf, type StepDraft } from '../step-draft.ts';
import type { Attempt } from '../workstream/state.ts';
import { askForBudget, isSpent } from './budget.ts';

/**
 * Begins an attempt once everything accepted so far is durable; a person is asked first when the budget is spent.
 * `guarded`: it is not sent when it does not seem to fit.
 */
export function askModel(
  draft: StepDraft,
  ladder: Ladder = bottom,
  // Room was made, or could not be: the endpoint has the last word.
  guarded = draft.state.projection.context.tried === null,
): StepDraft {
  if (isSpent(draft.state)) return askForBudget(patch(draft, { attempt: null }));
  const [d, messageId] = mint(draft);
  const { configuration, context } = d.state.projection;
  const attempt: Attempt = {
    messageId,
    alias: configuration.model,
    ladder,
    phase: 'calling',
    waits: false,
    recalled: false,
  };
  return performAfter(patch(d, { attempt }), {
    type: 'callModel',
    stamp: stampOf(d.state),
    messageId,
    model: choiceOf(configuration),
    lane: ladder.lane,
    givenUp: ladder.givenUp,
    workspace: configuration.workspace,
    conversation: d.state.conversation,
    conversationFrom: d.state.conversationFrom,
    instructions: configuration.instructions ?? null,
    context,
    guarded,
  });
}

/** Asks again, now or after a wait, as `remedy` says; or the fault to report when there is no use in that. */
export function askAgain(
  draft: StepDraft,
  attempt: Attempt,
  fault: ModelFault,
  remedy: Remedy,
): StepDraft | ModelFault {
  const chosen = draft.state.projection.configuration.model;
  // Where it began the ladder is of no use any more; what another model is not asked for, the chosen one is not either.
  if (chosen !== attempt.alias && remedy !== 'STOP')
    return askModel(
      notice(draft, 'MODEL_CHOSEN', `${withoutAdvice(fault.message)} Asking "${chosen}", chosen meanwhile.`),
    );
  const next = climb(attempt.ladder, fault, remedy);
  switch (next.type) {
    case 'giveUp':
      return next.fault;
    case 'goOn':
      return askModel(
        notice(draft, 'MODEL_FALLBACK', `${withoutAdvice(fault.message)} Asking another model.`),
        next.ladder,
      );
    case 'wait': {
      const again = `Trying again in ${Math.ceil(next.ms / 1_000)} s (${next.attempt}).`;
      return perform(
        patch(notice(draft, 'MODEL_RETRY', `${withoutAdvice(fault.message)} ${again}`), {
          attempt: { ...attempt, ladder: next.ladder, phase: 'backoff' },
        }),
        { type: 'backoff', stamp: stampOf(draft.state), messageId: attempt.messageId, ms: next.ms },
      );
    }
  }
}

/** It was refused by what was set up before. Once: settings that change with every answer are no reason to go on asking. */
export const mayBeOutdated = ({ ladder }: Attempt, fault: ModelFault): boolean =>
  fault.outdated === true && ladder.number === 1;

/** Asks as it is set up now. */
export function askAsSetUp(draft: StepDraft, { ladder }: Attempt, fault: ModelFault): StepDraft {
  const told = `${withoutAdvice(fault.message)} It has been set up otherwise since, so it is asked again.`;
  return askModel(notice(draft, 'MODEL_RETRY', told), { ...ladder, number: ladder.number + 1 });
}

/** The wait is over: the next attempt. */
export function backoffOver(draft: StepDraft, messageId: string): StepDraft {
  const { attempt } = draft.state;
  if (attempt?.messageId !== messageId || attempt.phase !== 'backoff') return draft;
  return askModel(draft, attempt.ladder);
}

/**
 * Another model was chosen. A wait to ask the one before again is over; a call that waits for a slot is ended, and the
 * chosen one is asked when that is seen to have ended. A call that an endpoint has goes on.
 */
export function chosenAnew(draft: StepDraft): StepDraft {
  const { attempt, projection } = draft.state;
  const { model } = projection.configuration;
  if (!attempt || attempt.alias === model || (attempt.phase === 'calling' && !attempt.waits)) return draft;
  const told = notice(draft, 'MODEL_CHOSEN', `Asking "${model}" instead, as chosen.`, 'INFO');
  if (attempt.phase === 'backoff') return askModel(told);
  return perform(patch(told, { attempt: { ...attempt, waits: false, recalled: true } }), {
    type: 'abortModel',
    messageId: attempt.messageId,
  });
}

/** What happens on the way to an answer, while it is waited for. */
export function modelNotice(draft: StepDraft, messageId: string, code: string, message: string): StepDraft {
  const { attempt } = draft.state;
  if (attempt?.messageId !== messageId || attempt.phase !== 'calling' || attempt.recalled) return draft;
  return show(patch(draft, { attempt: { ...attempt, waits: code === 'MODEL_WAITING' } }), {
    type: 'Notice',
    level: 'INFO',
    code,
    message,
  });
}

/** Voids what an earlier attempt showed, now that `messageId` takes its place (D-8). */
export function voidEarlier(draft: StepDraft, messageId: string): StepDraft {
  const { overlay } = draft.state;
  if (!overlay.message || overlay.message.id === messageId) return draft;
  return show(patch(draft, { overlay: { ...overlay, message: null } }), {
    type: 'StreamReset',
    messageId: overlay.message.id,
    reason: draft.state.attempt?.ladder.fault?.message ?? 'Another model was chosen.',
  });
}

const notice = (
  draft: StepDraft,
  code: string,
  message: string,
  level: 'INFO' | 'WARNING' = 'WARNING',
): StepDraft => show(draft, { type: 'Notice', level, code, message });
