/**
 * Owns: what becomes of a workstream as a whole: closing and opening (D-23), resting unloaded (D-24). Its name is in
 * `title.ts`.
 *
 * Invariant: CLOSED has no live turn, and nothing but opening or deleting follows it.
 */
import { liveTurn, openItems, type Author, type Projection } from 'schema/projection';
import { refuse } from '../refusals.ts';
import { admit, patch, taken, type CommandResult, type StepDraft } from '../step-draft.ts';
import { endOrphans, stopTurn } from '../turn/stop.ts';
import { deliver } from '../watches/fires.ts';
import { pauseAll, resumeAll } from '../watches/watch.ts';
import type { State } from './state.ts';

/** Shuts the door and ends what runs, also what outlived its turn; or opens it again, with nothing else undone. */
export const setClosing = (draft: StepDraft, on: boolean): StepDraft => {
  const shut = patch(draft, { closing: on });
  if (on) return stopTurn(endOrphans(shut));
  // What watches said meanwhile is not said again.
  return liveTurn(shut.state.projection) ? shut : deliver(shut);
};

/** Nothing is under way any more; what waits in the queue stays there, held (D-63). CLOSED is door enough. */
export function closeWorkstream(draft: StepDraft, by: Author): CommandResult {
  const { queue } = draft.state.projection;
  const live = liveTurn(draft.state.projection);
  if (live) return refuse({ code: 'BUSY', currentTurnId: live.id });
  const held =
    queue.items.length > 0 && !queue.held
      ? admit(draft, { kind: 'QUEUE', queue: { ...queue, held: true } })
      : draft;
  const closed = patch(admit(pauseAll(held), { kind: 'LIFECYCLE', lifecycle: 'CLOSED', by }), {
    closing: false,
    fires: [],
  });
  return taken(closed, { type: 'Accepted', lifecycle: 'CLOSED' });
}

/** An open one stays as it is. */
export function openWorkstream(draft: StepDraft, by: Author): CommandResult {
  const isOpen = draft.state.projection.lifecycle === 'OPEN';
  return taken(isOpen ? draft : resumeAll(admit(draft, { kind: 'LIFECYCLE', lifecycle: 'OPEN', by })), {
    type: 'Accepted',
    lifecycle: 'OPEN',
  });
}

/**
 * True when a workstream can leave memory, and lose nothing by it: no turn works, all is durable, nothing it began is
 * still out, but for a name, which is asked for again. A turn that waits for a person may go: the decision loads it
 * (D-24).
 */
export function canUnload(state: State): boolean {
  const { projection, pending, batches, durableBatches, held, attempt, summary, orphans, fires, closing } =
    state;
  if (pending.length > 0 || durableBatches < batches || held.length > 0 || closing) return false;
  if (attempt !== null || summary !== null || orphans.length > 0) return false;
  if (fires.length > 0) return false;
  return liveTurn(projection) === null || onlyWaits(projection);
}

/** True when the live turn waits for a person and for nothing else. */
export function onlyWaits(projection: Projection): boolean {
  const turn = liveTurn(projection);
  const asked = new Set(openItems(projection).map((item) => item.callId));
  const calls = projection.batch?.calls ?? [];
  return (
    turn !== null &&
    turn.phase !== 'INTERRUPTING' &&
    asked.size > 0 &&
    calls.every((open) => open.result !== null || asked.has(open.call.callId))
  );
}
