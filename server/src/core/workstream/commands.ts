/**
 * Owns: what each command does to a workstream, or why not. A refusal leaves the draft untouched (D-11).
 */
import { liveTurn, type Author, type QueuedMessage } from 'schema/projection';
import { decideApproval } from '../approvals/decide.ts';
import type { Command } from '../inputs.ts';
import { refuse, type Acceptance, type CoreRefusal } from '../refusals.ts';
import { admit, mint, type StepDraft } from '../step-draft.ts';
import { enqueue, hasRoom, queueCapacity } from '../turn/queue.ts';
import { startFromQueue, startTurn } from '../turn/start.ts';
import { stopTargets, stopTurn } from '../turn/stop.ts';
import { isLatched } from './state.ts';

export type CommandResult =
  | { readonly type: 'accepted'; readonly draft: StepDraft; readonly acceptance: Acceptance }
  | { readonly type: 'refused'; readonly refusal: CoreRefusal };

const accepted = (draft: StepDraft, acceptance: Acceptance): CommandResult => ({
  type: 'accepted',
  draft,
  acceptance,
});
const refused = (refusal: CoreRefusal): CommandResult => ({ type: 'refused', refusal });

export function runCommand(draft: StepDraft, by: Author, command: Command): CommandResult {
  const { lifecycle } = draft.state.projection;
  if (lifecycle === 'CREATING') return refused(refuse({ code: 'WORKSTREAM_NOT_FOUND' }));
  if (lifecycle === 'CLOSED') return refused(refuse({ code: 'WORKSTREAM_CLOSED' }));
  switch (command.type) {
    case 'send':
      return send(draft, by, command.text);
    case 'stop':
      return stop(draft, command.turnId);
    case 'resumeQueue':
      return resumeQueue(draft);
    case 'decide': {
      const result = decideApproval(draft, by, command);
      return 'draft' in result
        ? accepted(result.draft, { type: 'Accepted', cycle: result.cycle })
        : refused(result);
    }
  }
}

function send(draft: StepDraft, author: Author, text: string): CommandResult {
  const { projection } = draft.state;
  const live = liveTurn(projection);
  const [d, messageId] = mint(draft);
  if (!live && projection.queue.items.length === 0) {
    const started = startTurn(d, author, text, messageId);
    return accepted(started, sent(started, 'STARTED', messageId));
  }
  // Without a live turn the queue is drained at once, this message included: a full one must not shut it for good.
  if (live && !hasRoom(projection.queue, text))
    return refused(refuse({ code: 'QUEUE_FULL', capacity: queueCapacity }));
  const message: QueuedMessage = { id: messageId, text, author, afterStop: isLatched(live), at: d.at };
  const queued = admit(d, { kind: 'QUEUE', queue: enqueue(projection.queue, message) });
  if (live) return accepted(queued, sent(queued, 'QUEUED', messageId));
  // What was held comes first; this message goes with it if it is of the same author (D-63).
  const { draft: started, drained } = startFromQueue(queued);
  return drained?.ids.includes(messageId)
    ? accepted(started, sent(started, 'STARTED', drained.id))
    : accepted(started, sent(started, 'QUEUED', messageId));
}

function stop(draft: StepDraft, turnId: string | null): CommandResult {
  const live = liveTurn(draft.state.projection);
  if (live && turnId !== null && turnId !== live.id)
    return refused(refuse({ code: 'STALE_TURN', currentTurnId: live.id }));
  const stopped = stopTargets(draft.state);
  return accepted(stopTurn(draft), { type: 'Accepted', stopped, nothingToStop: stopped.length === 0 });
}

function resumeQueue(draft: StepDraft): CommandResult {
  const { projection } = draft.state;
  const live = liveTurn(projection);
  if (live) {
    const resumed = projection.queue.held
      ? admit(draft, { kind: 'QUEUE', queue: { ...projection.queue, held: false } })
      : draft;
    return accepted(resumed, { type: 'Accepted', turnId: live.id });
  }
  const { draft: started } = startFromQueue(draft);
  return accepted(started, { type: 'Accepted', turnId: liveTurn(started.state.projection)?.id ?? null });
}

const sent = (draft: StepDraft, disposition: 'STARTED' | 'QUEUED', messageId: string): Acceptance => ({
  type: 'Accepted',
  disposition,
  messageId,
  turnId: liveTurn(draft.state.projection)?.id ?? null,
  revision: draft.state.projection.revision,
});
