/**
 * Owns: the one way a turn ends (D-31). Whatever is open is closed first, in one batch with the end: partial text is
 * kept, every declared call gets its one TOOL entry (I38), open approvals are superseded (I42), then the turn settles,
 * then the queue goes on or is held (D-63).
 */
import {
  liveTurn,
  openCycles,
  type BatchCall,
  type EntryOf,
  type ToolResult,
  type TurnOutcome,
} from 'schema/projection';
import { sizeResults } from '../context/sizing.ts';
import { admit, type StepDraft } from '../step-draft.ts';
import { deliver, storeFires } from '../watches/fires.ts';
import { contextOf, type State } from '../workstream/state.ts';
import { askTitle } from '../workstream/title.ts';
import { afterTurn } from './queue.ts';
import { startFromQueue } from './start.ts';
import { transition } from './transitions.ts';

export function settleTurn(draft: StepDraft, outcome: TurnOutcome): StepDraft {
  const turn = liveTurn(draft.state.projection);
  const settled = turn && transition(turn, turn.id, { type: 'settle', outcome }, draft.at);
  if (!settled) return draft;
  const closed = supersedeCycles(answerOpenCalls(keepPartialText(draft, outcome), outcome));
  return afterwards(askTitle(admit(closed, { kind: 'TURN', turn: settled })));
}

/** Open approvals of the turn can no longer be answered. */
export function supersedeCycles(draft: StepDraft): StepDraft {
  return openCycles(draft.state.projection).reduce(
    (d, cycle) => admit(d, { kind: 'APPROVAL', cycle: { ...cycle, status: 'SUPERSEDED', closedAt: d.at } }),
    draft,
  );
}

function keepPartialText(draft: StepDraft, outcome: TurnOutcome): StepDraft {
  const { message } = draft.state.overlay;
  if (!message || (message.text === '' && message.reasoning === '')) return draft;
  const reason: EntryOf<'CANCELLATION'>['reason'] = outcome.type === 'CANCELED' ? 'STOPPED' : 'FAILED';
  const { text, reasoning } = message;
  return admit(draft, { kind: 'CANCELLATION', text, reasoning, reason }, message.id);
}

function answerOpenCalls(draft: StepDraft, outcome: TurnOutcome): StepDraft {
  const calls = draft.state.projection.batch?.calls ?? [];
  const results = sizeResults(
    calls.map((open) => open.result ?? unanswered(draft.state, open, outcome)),
    contextOf(draft.state),
  );
  return calls.reduce(
    (d, { call }, i) => admit(d, { kind: 'TOOL', callId: call.callId, name: call.name, ...results[i]! }),
    draft,
  );
}

/** UNKNOWN if it may have begun, NONE if it provably did not (D-9). */
function unanswered(state: State, open: BatchCall, outcome: TurnOutcome): ToolResult {
  const verb = outcome.type === 'CANCELED' ? 'was stopped' : 'failed';
  return mayHaveBegun(state, open)
    ? {
        outcome: 'CANCELED',
        effect: 'UNKNOWN',
        content: `The turn ${verb} before the end of this call was seen: what it did is unknown.`,
      }
    : { outcome: 'CANCELED', effect: 'NONE', content: `Not run: the turn ${verb} first.` };
}

/** True once its deed has left the core: a start that is still held back is dropped with the turn. */
export const mayHaveBegun = (state: State, open: BatchCall): boolean =>
  open.started &&
  open.result === null &&
  !state.held.some(({ deed }) => deed.type === 'runTool' && deed.call.callId === open.call.callId);

/** What waited for the end of the turn: messages first, and what watches said once nobody has to say anything. */
function afterwards(before: StepDraft): StepDraft {
  const { queue, turn } = before.state.projection;
  const completed = turn?.phase === 'COMPLETED';
  const draft = completed || before.state.closing ? before : storeFires(before);
  const goesOn = (completed && !queue.held) || queue.items.some((item) => item.afterStop);
  if (queue.items.length > 0 && goesOn && !draft.state.closing) return startFromQueue(draft).draft;
  const kept =
    queue.items.length === 0 || queue.held
      ? draft
      : admit(draft, { kind: 'QUEUE', queue: { ...afterTurn(queue), held: true } });
  return completed && !draft.state.closing ? deliver(kept) : kept;
}
