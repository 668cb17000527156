/**
 * Owns: what the model says: pieces as they come, and how the call ended (D-34, D-38).
 */
import { liveTurn, type Call, type FeedItem, type StreamChannel } from 'schema/projection';
import type { ModelAnswer, ModelOutcome } from '../conversation/message.ts';
import { cut } from '../kit/cut.ts';
import { admit, mint, patch, show, type StepDraft } from '../step-draft.ts';
import { isLatched } from '../workstream/state.ts';
import { prepareCalls } from './calls.ts';
import { askAgain, askModel, voidEarlier } from './model-call.ts';
import { drain } from './queue.ts';
import { settleTurn } from './settle.ts';
import { finishStop } from './stop.ts';

/** Calls of one answer that are taken; more is no plan but a model in a loop. */
const maxCallsPerAnswer = 128;
/** Names told of those that are not, and the longest of them, UTF-16 units. */
const maxNamesTold = 20;
const maxNameTold = 100;

/** Pieces of the open answer: shown at their offset, never an entry (I13). */
export function modelDelta(
  draft: StepDraft,
  messageId: string,
  piece: { readonly text: string; readonly reasoning: string },
): StepDraft {
  const { attempt, projection } = draft.state;
  const turn = liveTurn(projection);
  if (attempt?.messageId !== messageId || attempt.phase !== 'calling' || !turn || isLatched(turn))
    return draft;
  if (piece.text === '' && piece.reasoning === '') return draft;
  const voided = voidEarlier(draft, messageId);
  const open = voided.state.overlay.message ?? { id: messageId, turnId: turn.id, text: '', reasoning: '' };
  const message = { ...open, text: open.text + piece.text, reasoning: open.reasoning + piece.reasoning };
  const chunk = (channel: StreamChannel, offset: number, text: string): readonly FeedItem[] =>
    text === '' ? [] : [{ type: 'StreamChunk', messageId, turnId: turn.id, channel, offset, text }];
  return show(
    patch(voided, { overlay: { ...voided.state.overlay, message } }),
    ...chunk('REASONING', open.reasoning.length, piece.reasoning),
    ...chunk('TEXT', open.text.length, piece.text),
  );
}

export function modelEnded(draft: StepDraft, messageId: string, outcome: ModelOutcome): StepDraft {
  const { attempt } = draft.state;
  if (attempt?.messageId !== messageId || attempt.phase !== 'calling') return draft;
  const turn = liveTurn(draft.state.projection);
  if (isLatched(turn)) return finishStop(patch(draft, { attempt: null }));
  switch (outcome.type) {
    case 'answered': {
      const voided = voidEarlier(draft, messageId);
      return answered(patch(voided, { attempt: null }), messageId, outcome);
    }
    case 'failed': {
      const next = askAgain(draft, attempt, outcome);
      if ('state' in next) return next;
      const { kind, message } = next;
      return settleTurn(draft, { type: 'FAILED', reason: `MODEL_${kind}`, message, unconfirmed: [] });
    }
    case 'aborted':
      // It only waited, and another model was chosen.
      if (attempt.recalled) return askModel(draft);
      return settleTurn(draft, {
        type: 'FAILED',
        reason: 'MODEL_ABORTED',
        message: 'The model call was ended from outside; send a message to go on.',
        unconfirmed: [],
      });
  }
}

function answered(draft: StepDraft, messageId: string, answer: ModelAnswer): StepDraft {
  // Calls of an answer that was cut off may be half a call, and those of one that was filtered not meant: never run (D-38).
  const kept = answer.finish === 'LENGTH' || answer.finish === 'CONTENT_FILTER' ? 0 : maxCallsPerAnswer;
  const [d, calls] = nameCalls(draft, answer.calls.slice(0, kept));
  const { text, reasoning, finish, alias, model, native, usage } = answer;
  const discarded = namesOf(answer.calls.slice(kept));
  const said = admit(
    d,
    {
      kind: 'ASSISTANT',
      text,
      reasoning,
      calls,
      finish,
      model,
      alias,
      ...(native && { native }),
      usage,
      discarded,
    },
    messageId,
  );
  return calls.length > 0
    ? prepareCalls(
        said,
        calls.map((call) => call.callId),
      )
    : finish === 'OTHER'
      ? endedForUnknownReason(said)
      : endOrGoOn(said);
}

/** Names of calls that are not run, shortened to what a reader and a model can use. */
function namesOf(calls: ModelAnswer['calls']): readonly string[] {
  const names = calls.slice(0, maxNamesTold).map((call) => cut(call.name, maxNameTold));
  return calls.length > maxNamesTold ? [...names, `and ${calls.length - maxNamesTold} more`] : names;
}

/** Calls run because they are there, whatever the finish reason says; each gets an id of our own (D-35, D-38). */
function nameCalls(draft: StepDraft, declared: ModelAnswer['calls']): readonly [StepDraft, readonly Call[]] {
  return declared.reduce<readonly [StepDraft, readonly Call[]]>(
    ([d, calls], call) => {
      const [next, callId] = mint(d);
      return [next, [...calls, { callId, ...call }]];
    },
    [draft, []],
  );
}

/** What nobody knows the meaning of is not called complete; the text is kept (D-30, I27). */
const endedForUnknownReason = (draft: StepDraft): StepDraft =>
  settleTurn(draft, {
    type: 'FAILED',
    reason: 'MODEL_FINISH_UNKNOWN',
    message:
      'The model ended its answer for a reason Weir does not know, so it may be incomplete; send a message to go on.',
    unconfirmed: [],
  });

/** The answer is final: what this principal has queued goes on in the same turn, else the turn is done. */
function endOrGoOn(draft: StepDraft): StepDraft {
  const { queue, turn } = draft.state.projection;
  const drained = queue.held ? null : drain(queue);
  if (!drained || drained.author.id !== turn?.principal.id)
    return settleTurn(draft, { type: 'COMPLETED', reason: 'DONE', message: '', unconfirmed: [] });
  const { author, text, id } = drained;
  const emptied = admit(draft, { kind: 'QUEUE', queue: drained.rest });
  return askModel(admit(emptied, { kind: 'USER', text, author, source: 'MESSAGE' }, id));
}
