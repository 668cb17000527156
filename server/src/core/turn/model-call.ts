/**
 * Owns: asking the model, and asking again. Each attempt is a new message id; what an earlier one showed stays until
 * the next one says something, is then voided by a StreamReset (D-8), and is kept when none does. How often, when and
 * whom is the ladder's to say (D-37).
 */
import { choiceOf } from '../conversation/choice.ts';
import type { ModelFault } from '../models/fault.ts';
import { bottom, climb, type Ladder } from '../models/ladder.ts';
import { mint, patch, perform, performAfter, show, stampOf, type StepDraft } from '../step-draft.ts';

/** Begins an attempt once everything accepted so far is durable. */
export function askModel(draft: StepDraft, ladder: Ladder = bottom): StepDraft {
  const [d, messageId] = mint(draft);
  const { configuration } = d.state.projection;
  return performAfter(patch(d, { attempt: { messageId, ladder, phase: 'calling' } }), {
    type: 'callModel',
    stamp: stampOf(d.state),
    messageId,
    model: choiceOf(configuration),
    lane: ladder.lane,
    givenUp: ladder.givenUp,
    workspace: configuration.workspace,
    conversation: d.state.conversation,
    conversationFrom: d.state.conversationFrom,
  });
}

/** Asks again, now or after a wait; or the fault to report when there is no use in that. */
export function askAgain(draft: StepDraft, ladder: Ladder, fault: ModelFault): StepDraft | ModelFault {
  const next = climb(ladder, fault);
  switch (next.type) {
    case 'giveUp':
      return next.fault;
    case 'goOn':
      return askModel(notice(draft, 'MODEL_FALLBACK', `${fault.message} Asking another model.`), next.ladder);
    case 'wait': {
      const again = `Trying again in ${Math.ceil(next.ms / 1_000)} s (${next.attempt}).`;
      const { messageId } = draft.state.attempt!;
      return perform(
        patch(notice(draft, 'MODEL_RETRY', `${fault.message} ${again}`), {
          attempt: { messageId, ladder: next.ladder, phase: 'backoff' },
        }),
        { type: 'backoff', stamp: stampOf(draft.state), messageId, ms: next.ms },
      );
    }
  }
}

/** The wait is over: the next attempt. */
export function backoffOver(draft: StepDraft, messageId: string): StepDraft {
  const { attempt } = draft.state;
  if (attempt?.messageId !== messageId || attempt.phase !== 'backoff') return draft;
  return askModel(draft, attempt.ladder);
}

/** What happens on the way to an answer, while it is waited for. */
export function modelNotice(draft: StepDraft, messageId: string, code: string, message: string): StepDraft {
  const { attempt } = draft.state;
  if (attempt?.messageId !== messageId || attempt.phase !== 'calling') return draft;
  return show(draft, { type: 'Notice', level: 'INFO', code, message });
}

/** Voids what an earlier attempt showed, now that `messageId` takes its place (D-8). */
export function voidEarlier(draft: StepDraft, messageId: string): StepDraft {
  const { overlay } = draft.state;
  if (!overlay.message || overlay.message.id === messageId) return draft;
  return show(patch(draft, { overlay: { ...overlay, message: null } }), {
    type: 'StreamReset',
    messageId: overlay.message.id,
    reason: draft.state.attempt?.ladder.fault?.message ?? '',
  });
}

const notice = (draft: StepDraft, code: string, message: string): StepDraft =>
  show(draft, { type: 'Notice', level: 'WARNING', code, message });
