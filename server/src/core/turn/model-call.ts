/**
 * Owns: asking the model, and asking again. Each attempt is a new message id; what an earlier one showed is voided by
 * a StreamReset before the next (D-8). Retries are ours and visible (D-37).
 */
import type { ModelFault } from '../conversation/message.ts';
import { mint, patch, perform, performAfter, show, stampOf, type StepDraft } from '../step-draft.ts';

/** Attempts at one answer, the first included (D-37). */
const maxAttempts = 4;
/** Milliseconds before the second, third and fourth attempt (D-37). */
const backoffMs: readonly number[] = [1_000, 2_000, 4_000];
/** The longest wait a provider may ask for, milliseconds (D-37). */
const maxRetryAfterMs = 60_000;

/** Begins attempt `number` once everything accepted so far is durable. */
export function askModel(draft: StepDraft, number = 1): StepDraft {
  const [d, messageId] = mint(draft);
  const { configuration } = d.state.projection;
  return performAfter(patch(d, { attempt: { messageId, number, phase: 'calling' } }), {
    type: 'callModel',
    stamp: stampOf(d.state),
    messageId,
    alias: configuration.model,
    workspace: configuration.workspace,
    conversation: d.state.conversation,
    conversationFrom: d.state.conversationFrom,
  });
}

/** Waits and asks again, or null when the fault is final. */
export function askAgain(draft: StepDraft, fault: ModelFault): StepDraft | null {
  const { attempt } = draft.state;
  if (!attempt || !fault.retryable || attempt.number >= maxAttempts) return null;
  const ms = Math.min(fault.retryAfterMs ?? backoffMs[attempt.number - 1] ?? 4_000, maxRetryAfterMs);
  const seconds = Math.ceil(ms / 1_000);
  const voided = dropOpenMessage(draft, fault.message);
  const noticed = show(voided, {
    type: 'Notice',
    level: 'WARNING',
    code: 'MODEL_RETRY',
    message: `${fault.message} Trying again in ${seconds} s (attempt ${attempt.number + 1} of ${maxAttempts}).`,
  });
  return perform(patch(noticed, { attempt: { ...attempt, phase: 'backoff' } }), {
    type: 'backoff',
    stamp: stampOf(draft.state),
    messageId: attempt.messageId,
    ms,
  });
}

/** The wait is over: the next attempt. */
export function backoffOver(draft: StepDraft, messageId: string): StepDraft {
  const { attempt } = draft.state;
  if (attempt?.messageId !== messageId || attempt.phase !== 'backoff') return draft;
  return askModel(draft, attempt.number + 1);
}

function dropOpenMessage(draft: StepDraft, reason: string): StepDraft {
  const { overlay } = draft.state;
  if (!overlay.message) return draft;
  return show(patch(draft, { overlay: { ...overlay, message: null } }), {
    type: 'StreamReset',
    messageId: overlay.message.id,
    reason,
  });
}
