/**
 * Owns: Stop (D-65) and its force (D-66). In one step: latch, supersede the turn's approvals, drop what has not begun,
 * end what has. The turn settles CANCELED once everything it began is seen to have ended, or by force: when a person
 * asks for that, or 10 s later. What was not seen to end is then named, called UNKNOWN, and kept as an orphan that a
 * later Stop ends again.
 */
import { liveTurn, type ToolResult } from 'schema/projection';
import { admit, isOfTurn, patch, perform, stampOf, type StepDraft } from '../step-draft.ts';
import type { Stamp, World } from '../inputs.ts';
import { isLatched, type Orphan, type State } from '../workstream/state.ts';
import { settleCall } from './batch.ts';
import { mayHaveBegun, settleTurn, supersedeCycles } from './settle.ts';
import { transition } from './transitions.ts';

/** How long a stopped turn waits for its work to be confirmed ended, milliseconds (D-65). */
const stopTermMs = 10_000;

/** Sets the latch; a turn that is stopping already goes on stopping. */
export function stopTurn(draft: StepDraft): StepDraft {
  const turn = liveTurn(draft.state.projection);
  const stopping = turn && transition(turn, turn.id, { type: 'stop' }, draft.at);
  if (!stopping) return draft;
  const latched = supersedeCycles(admit(draft, { kind: 'TURN', turn: stopping }));
  const asked = askedOf(latched.state);
  const aborts = [
    ...(asked === null ? [] : [{ type: 'abortModel' as const, messageId: asked }]),
    ...runningCalls(latched.state).map((callId) => ({ type: 'abortTool' as const, callId })),
  ];
  const dropped = dropHeld(latched);
  return finishStop(
    perform(dropped, ...aborts, {
      type: 'watchStop',
      stamp: stampOf(dropped.state),
      turnId: stopping.id,
      ms: stopTermMs,
    }),
    'Stopped.',
  );
}

/** What has not begun never will: a held call provably did nothing, a held question to the model was never asked. */
function dropHeld(draft: StepDraft): StepDraft {
  const neverBegan = draft.state.held.flatMap(({ deed }) =>
    deed.type === 'runTool' ? [deed.call.callId] : [],
  );
  const asking = askedOf(draft.state) !== null;
  const settled = neverBegan.reduce((d, callId) => settleCall(d, callId, notRun), draft);
  const held = draft.state.held.filter(({ deed }) => !isOfTurn(deed));
  return patch(settled, { held, ...(asking ? {} : { attempt: null, summary: null }) });
}

const notRun: ToolResult = {
  outcome: 'CANCELED',
  effect: 'NONE',
  content: 'Not run: the turn was stopped first.',
};

/** Settles a latched turn once nothing it began is still under way. */
export function finishStop(draft: StepDraft, message = 'Stopped.'): StepDraft {
  if (!isLatched(liveTurn(draft.state.projection))) return draft;
  if (askedOf(draft.state) !== null || runningCalls(draft.state).length > 0) return draft;
  return settleTurn(draft, { type: 'CANCELED', reason: 'STOPPED', message, unconfirmed: [] });
}

/** The 10 s are over: what was not seen to end is named and called UNKNOWN. */
export function stopOverdue(draft: StepDraft, turnId: string): StepDraft {
  const turn = liveTurn(draft.state.projection);
  return turn?.id === turnId && isLatched(turn) ? forceSettle(draft) : draft;
}

/** Stops and does not wait: whatever still runs is an orphan from here on. */
export const forceStop = (draft: StepDraft): StepDraft => forceSettle(stopTurn(draft));

/** Under a new claim, so that nothing the old one began can write any more (D-66, I28). */
function forceSettle(draft: StepDraft): StepDraft {
  const turn = liveTurn(draft.state.projection);
  if (!turn || !isLatched(turn)) return draft;
  const unconfirmed = runningCalls(draft.state);
  const asked = askedOf(draft.state);
  const orphans: readonly Orphan[] = [
    ...(asked === null ? [] : [{ type: 'answer' as const, id: asked, generation: turn.generation }]),
    ...unconfirmed.map((id) => ({ type: 'call' as const, id, generation: turn.generation })),
  ];
  const { recoveries } = turn;
  const generation = draft.state.projection.generation + 1;
  const reclaimed = transition(turn, turn.id, { type: 'reclaim', generation, recoveries }, draft.at);
  if (!reclaimed) return draft;
  const claimed = admit(draft, { kind: 'TURN', turn: reclaimed });
  return settleTurn(patch(claimed, { orphans: [...draft.state.orphans, ...orphans] }), {
    type: 'CANCELED',
    reason: 'STOPPED',
    message:
      unconfirmed.length > 0
        ? 'Stopped, but not every call was seen to end; what those marked UNKNOWN did is not known.'
        : 'Stopped, without waiting for the model to end its answer.',
    unconfirmed,
  });
}

/** Ends once more what an earlier turn left behind. */
export const endOrphans = (draft: StepDraft): StepDraft =>
  perform(
    draft,
    ...draft.state.orphans.map(({ type, id }) =>
      type === 'answer'
        ? { type: 'abortModel' as const, messageId: id }
        : { type: 'abortTool' as const, callId: id },
    ),
  );

/** A stale outcome changes nothing, but what it is of has ended. */
export function orphanEnded(draft: StepDraft, stamp: Stamp, event: World): StepDraft {
  if (stamp.epoch !== draft.state.epoch) return draft;
  const id = endOf(event);
  const orphans = draft.state.orphans.filter(
    (orphan) => orphan.id !== id || orphan.generation !== stamp.generation,
  );
  return orphans.length < draft.state.orphans.length ? patch(draft, { orphans }) : draft;
}

/** What ended with it: a call, an answer, a summary. */
function endOf(event: World): string | null {
  switch (event.type) {
    case 'toolEnded':
      return event.callId;
    case 'modelEnded':
      return event.messageId;
    case 'summaryEnded':
      return event.compactionId;
    default:
      return null;
  }
}

/** What Stop ends, as ids: the turn, the calls that run, and what outlived an earlier turn. */
export const stopTargets = (state: State): readonly string[] => {
  const turn = liveTurn(state.projection);
  const orphans = state.orphans.map(({ id }) => id);
  return turn ? [turn.id, ...runningCalls(state), ...orphans] : orphans;
};

/** Calls of the open batch whose deed has begun and whose end was not seen. */
const runningCalls = (state: State): readonly string[] =>
  (state.projection.batch?.calls ?? [])
    .filter((open) => mayHaveBegun(state, open) && state.progress[open.call.callId]?.type === 'running')
    .map((open) => open.call.callId);

/** Id of the model call that has left the core and has not ended: of an answer, or of a summary. */
function askedOf({ attempt, summary, held }: State): string | null {
  if (attempt?.phase === 'calling') {
    const { messageId } = attempt;
    return held.some(({ deed }) => deed.type === 'callModel' && deed.messageId === messageId)
      ? null
      : messageId;
  }
  // While the conversation is read for it, nobody was asked for a summary yet.
  return summary?.cut && !held.some(({ deed }) => deed.type === 'summarise') ? summary.id : null;
}
