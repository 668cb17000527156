/**
 * Owns: what the model says: pieces as they come, and how the call ended (D-34, D-38).
 */
import {
  liveTurn,
  type Call,
  type Context,
  type EntryBody,
  type FeedItem,
  type StreamChannel,
} from 'schema/projection';
import { markOfAnswer, mayFit, type Room, type Thoughts } from '../context/meter.ts';
import { hiddenThoughtsOf, thoughtsOf, tokensOf, weightOfAll } from '../context/tokens.ts';
import type { ModelAnswer, ModelOutcome } from '../conversation/message.ts';
import { cut } from '../kit/cut.ts';
import { remedies, type ModelFault } from '../models/fault.ts';
import { admit, mint, patch, show, type StepDraft } from '../step-draft.ts';
import { contextOf, isLatched, type Attempt, type Overflow, type State } from '../workstream/state.ts';
import { isSpent } from './budget.ts';
import { prepareCalls } from './calls.ts';
import { beginCompaction, isDueAtEnd } from './compaction.ts';
import { askAgain, askAsSetUp, askModel, mayBeOutdated, voidEarlier } from './model-call.ts';
import { endWithOverflow } from './overflow.ts';
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

export function modelEnded(
  before: StepDraft,
  messageId: string,
  outcome: ModelOutcome,
  room: Room | null,
): StepDraft {
  const { attempt } = before.state;
  if (attempt?.messageId !== messageId || attempt.phase !== 'calling') return before;
  const { projection } = before.state;
  // What was found of another model says nothing of the one that is chosen now.
  const isChosen = attempt.alias === projection.configuration.model;
  const draft = room && isChosen ? patch(before, { room }) : before;
  const turn = liveTurn(projection);
  if (isLatched(turn)) return finishStop(patch(draft, { attempt: null }));
  switch (outcome.type) {
    case 'answered': {
      const voided = voidEarlier(draft, messageId);
      return answered(patch(voided, { attempt: null, overflow: null }), messageId, outcome, isChosen);
    }
    case 'failed': {
      const isTooLong = remedies[outcome.kind] === 'COMPACT';
      if (isTooLong && isChosen && mayBeOutdated(attempt, outcome))
        return askAsSetUp(draft, attempt, outcome);
      const isPassedOver = isTooLong && isOfFallback(draft.state, attempt, outcome);
      const isOverflow = isTooLong && !isPassedOver;
      const made = isOverflow && isChosen ? makeRoom(draft, attempt, outcome) : null;
      if (made) return made;
      const { overflow } = draft.state;
      const first = overflow && !overflow.fault.local ? overflow.fault : null;
      const fault = isOverflow && first ? first : outcome;
      const next = askAgain(draft, attempt, fault, isPassedOver ? 'FALLBACK' : remedies[fault.kind]);
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

/**
 * What is too long for a fallback alone, as far as is known: it is passed over, and costs the chosen model no history. The
 * last one to stand in for a model that is gone is no such.
 */
const isOfFallback = (state: State, { alias }: Attempt, fault: ModelFault): boolean =>
  fault.alias !== alias &&
  (fault.local === true || (mayFit(contextOf(state)) && (fault.othersLeft || !fault.standsIn)));

/**
 * It does not fit: once between two answers room is made for that (D-39), also where a summary was made before for what we
 * took it to be: the endpoint knows how long it is. Null: that was tried, or nothing can be done.
 */
function makeRoom(draft: StepDraft, attempt: Attempt, fault: ModelFault): StepDraft | null {
  const { alias: chosen, ladder } = attempt;
  const overflow: Overflow = { fault, chosen, ladder };
  const idle = patch(draft, { attempt: null, overflow });
  if (draft.state.projection.context.tried === 'OVERFLOW') return null;
  if (isSpent(draft.state)) return askModel(idle);
  const compacting = beginCompaction(idle, 'OVERFLOW');
  if (compacting) return compacting;
  return fault.local && mayFit(contextOf(draft.state))
    ? askModel(idle, { ...ladder, lane: fault.alias }, false)
    : endWithOverflow(idle, overflow, null);
}

function answered(draft: StepDraft, messageId: string, answer: ModelAnswer, isChosen: boolean): StepDraft {
  // Calls of an answer that was cut off may be half a call, and those of one that was filtered not meant: never run (D-38).
  const kept = answer.finish === 'LENGTH' || answer.finish === 'CONTENT_FILTER' ? 0 : maxCallsPerAnswer;
  const [d, calls] = nameCalls(draft, answer.calls.slice(0, kept));
  const { text, reasoning, finish, alias, model, native, usage } = answer;
  const discarded = namesOf(answer.calls.slice(kept));
  const body: EntryBody = {
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
  };
  const before = weighed(d.state);
  const counted = isChosen ? usage : null;
  const context = markOfAnswer(before, d.state.room, counted, tokensOf(body), {
    ...thoughtsIn(d.state),
    own: thoughtsOf(body),
  });
  const said = admit(d, { ...body, context }, messageId);
  return calls.length > 0
    ? prepareCalls(
        said,
        calls.map((call) => call.callId),
      )
    : finish === 'OTHER'
      ? endedForUnknownReason(said)
      : endOrGoOn(said);
}

/** What was thought in this conversation, as far as it is in memory. */
function thoughtsIn({ projection, conversation }: State): Omit<Thoughts, 'own'> {
  const { context, checkpoint } = projection;
  const answers = conversation.filter((entry) => entry.kind === 'ASSISTANT');
  const countedTo = context.counted?.told ?? Number.POSITIVE_INFINITY;
  const since = answers.filter(
    (entry) => entry.revision > (checkpoint?.revision ?? 0) && (entry.context?.told ?? 0) >= countedTo,
  );
  // All of them are looked at for each answer: by their length, which is at hand.
  const again = answers.filter((entry) => entry.context?.replayed);
  return {
    since: since.reduce((sum, entry) => sum + thoughtsOf(entry), 0),
    told: again.reduce(
      (sum, entry) => sum + Math.max(Math.ceil(entry.reasoning.length / 4), hiddenThoughtsOf(entry)),
      0,
    ),
  };
}

/** What earlier builds wrote is not in the sum of what is told: it is weighed at the first answer since. */
function weighed({ projection, conversation, conversationFrom }: State): Context {
  const { context } = projection;
  const last = conversation.findLast((entry) => entry.kind === 'ASSISTANT');
  if (conversationFrom > 0 || !last || last.context) return context;
  return { ...context, told: weightOfAll(conversation) };
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

/** The answer is final: it is the time to make room, if that is due. */
const endOrGoOn = (draft: StepDraft): StepDraft =>
  (isDueAtEnd(draft.state) ? beginCompaction(draft, 'END_OF_TURN') : null) ?? drainOrSettle(draft);

/** What this principal has queued goes on in the same turn, else the turn is done. */
export function drainOrSettle(draft: StepDraft): StepDraft {
  const { queue, turn } = draft.state.projection;
  const drained = queue.held ? null : drain(queue);
  if (!drained || drained.author.id !== turn?.principal.id)
    return settleTurn(draft, { type: 'COMPLETED', reason: 'DONE', message: '', unconfirmed: [] });
  const { author, text, id } = drained;
  const emptied = admit(draft, { kind: 'QUEUE', queue: drained.rest });
  return askModel(admit(emptied, { kind: 'USER', text, author, source: 'MESSAGE' }, id));
}
