/**
 * Owns: what each command does to a workstream, or why not. A refusal leaves the draft untouched (D-11).
 */
import { liveTurn, type Author, type Configuration, type Queue, type QueuedMessage } from 'schema/projection';
import { decideApproval } from '../approvals/decide.ts';
import { withChoice } from '../conversation/choice.ts';
import type { Command } from '../inputs.ts';
import { refuse } from '../refusals.ts';
import { admit, mint, patch, taken, takenAs, type CommandResult, type StepDraft } from '../step-draft.ts';
import { chosenAnew } from '../turn/model-call.ts';
import { enqueue, hasRoom, hasRoomForText, queueCapacity } from '../turn/queue.ts';
import { resend, retry, rewind } from '../turn/rewind.ts';
import { startCompacting, startFromQueue, startTurn } from '../turn/start.ts';
import { endOrphans, forceStop, stopTargets, stopTurn } from '../turn/stop.ts';
import { changeWatch, editWatch, makeWatch } from '../watches/watch.ts';
import { closeWorkstream, openWorkstream } from './lifecycle.ts';
import { isLatched } from './state.ts';

export function runCommand(draft: StepDraft, by: Author, command: Command): CommandResult {
  const { lifecycle } = draft.state.projection;
  if (lifecycle === 'CREATING') return refuse({ code: 'WORKSTREAM_NOT_FOUND' });
  if (lifecycle === 'CLOSED' && command.type !== 'open')
    return command.type === 'close'
      ? taken(draft, { type: 'Accepted', lifecycle })
      : refuse({ code: 'WORKSTREAM_CLOSED' });
  if (draft.state.closing && !passes[command.type]) return refuse({ code: 'CLOSING' });
  switch (command.type) {
    case 'send':
      return send(draft, by, command);
    case 'editQueued':
      return editQueued(draft, by, command);
    case 'withdrawQueued':
      return withdrawQueued(draft, command.messageId);
    case 'stop':
      return stop(draft, command);
    case 'resumeQueue':
      return resumeQueue(draft);
    case 'rewind':
      return rewind(draft, by, command);
    case 'resend':
      return resend(draft, by, command);
    case 'retry':
      return retry(draft, by, command);
    case 'configure':
      return configure(draft, by, command);
    case 'close':
      return closeWorkstream(draft, by);
    case 'open':
      return openWorkstream(draft, by);
    case 'compact':
      return compact(draft, by);
    case 'createWatch':
      return tookWatch(makeWatch(draft, command.definition, { author: by, depth: 1 }));
    case 'editWatch':
      return tookWatch(editWatch(draft, command.watchId, { ...command, author: by }));
    case 'changeWatch':
      return tookWatch(changeWatch(draft, command.watchId, command.change));
    case 'noteDiscarded':
      return noteDiscarded(draft, by, command.entries);
    case 'decide':
      return decideApproval(draft, by, command);
  }
}

/** What is taken while the workstream is being closed or deleted: what ends something, and the last word. */
const passes: Readonly<Record<Command['type'], boolean>> = {
  send: false,
  editQueued: false,
  withdrawQueued: true,
  stop: true,
  rewind: false,
  resend: false,
  retry: false,
  configure: false,
  close: true,
  open: false,
  decide: false,
  resumeQueue: false,
  compact: false,
  createWatch: false,
  editWatch: false,
  changeWatch: false,
  noteDiscarded: true,
};

type Of<T extends Command['type']> = Extract<Command, { readonly type: T }>;

function send(draft: StepDraft, author: Author, { text, delivery, turnId }: Of<'send'>): CommandResult {
  const { projection } = draft.state;
  const live = liveTurn(projection);
  const [d, messageId] = mint(draft);
  if (delivery === 'STEER') {
    if (!live || live.id !== turnId) return refuse({ code: 'STALE_TURN', currentTurnId: live?.id ?? null });
    if (live.principal.id !== author.id) return refuse({ code: 'NOT_YOURS', author: live.principal });
  }
  if (delivery === 'REJECT' && live) return refuse({ code: 'BUSY', currentTurnId: live.id });
  if (!live && projection.queue.items.length === 0) {
    const started = startTurn(d, author, text, messageId);
    return takenAs(started, 'STARTED', messageId);
  }
  // Without a live turn the queue is drained at once, this message included: a full one must not shut it for good.
  if (live && !hasRoom(projection.queue, text))
    return refuse({ code: 'QUEUE_FULL', capacity: queueCapacity });
  const afterStop = isLatched(live);
  // A turn that is stopping says nothing more to the model: what should have steered it starts the next one.
  const steers = delivery === 'STEER' && !afterStop;
  const message: QueuedMessage = {
    id: messageId,
    text,
    author,
    delivery: steers ? 'STEER' : 'QUEUE',
    turnId: steers ? turnId : null,
    afterStop,
    at: d.at,
  };
  const queued = admit(d, { kind: 'QUEUE', queue: enqueue(projection.queue, message) });
  if (live) return takenAs(queued, steers ? 'STEERING' : 'QUEUED', messageId);
  // What was held comes first; this message goes with it if it is of the same author (D-63).
  const { draft: started, drained } = startFromQueue(queued);
  if (drained?.ids.includes(messageId)) return takenAs(started, 'STARTED', drained.id);
  return delivery === 'REJECT'
    ? refuse({ code: 'BUSY', currentTurnId: null })
    : takenAs(started, 'QUEUED', messageId);
}

/** Only its author: the turn it starts runs on his credentials, and says what he wrote (D-12). */
function editQueued(draft: StepDraft, by: Author, { messageId, text }: Of<'editQueued'>): CommandResult {
  const { queue } = draft.state.projection;
  const message = queue.items.find((item) => item.id === messageId);
  if (!message) return notQueued(queue);
  if (message.author.id !== by.id) return refuse({ code: 'NOT_YOURS', author: message.author });
  const others = queue.items.filter((item) => item !== message);
  if (!hasRoomForText({ ...queue, items: others }, text))
    return refuse({ code: 'QUEUE_FULL', capacity: queueCapacity });
  const items = queue.items.map((item) => (item === message ? { ...item, text } : item));
  return changedQueue(draft, { ...queue, items });
}

/** Anybody may: what is withdrawn runs on nobody's credentials. */
function withdrawQueued(draft: StepDraft, messageId: string): CommandResult {
  const { queue } = draft.state.projection;
  const items = queue.items.filter((item) => item.id !== messageId);
  if (items.length === queue.items.length) return notQueued(queue);
  return changedQueue(draft, { items, held: queue.held && items.length > 0 });
}

const changedQueue = (draft: StepDraft, queue: Queue): CommandResult =>
  taken(admit(draft, { kind: 'QUEUE', queue }), { type: 'Accepted', queue });

const notQueued = (queue: Queue): CommandResult =>
  refuse({ code: 'MESSAGE_NOT_QUEUED', queuedMessageIds: queue.items.map(idOf) });

const idOf = (message: QueuedMessage): string => message.id;

function stop(draft: StepDraft, { turnId, force }: Of<'stop'>): CommandResult {
  const live = liveTurn(draft.state.projection);
  if (live && turnId !== null && turnId !== live.id)
    return refuse({ code: 'STALE_TURN', currentTurnId: live.id });
  const stopped = stopTargets(draft.state);
  const stopping = endOrphans(draft);
  return taken(force ? forceStop(stopping) : stopTurn(stopping), {
    type: 'Accepted',
    stopped,
    nothingToStop: stopped.length === 0,
  });
}

/** Counts for calls that are prepared from here on: no mode answers a question that a person was asked (I41). */
function configure(
  draft: StepDraft,
  by: Author,
  { title, approvalMode, model, instructions, tokenBudget }: Of<'configure'>,
): CommandResult {
  const { configuration } = draft.state.projection;
  const changed: Configuration = {
    ...withBounds(model === null ? configuration : withChoice(configuration, model), {
      instructions,
      tokenBudget,
    }),
    // Who gives it the name it has wants to keep that.
    ...(title !== null && { title, titleSource: 'PERSON' as const }),
    ...(approvalMode !== null &&
      approvalMode !== configuration.approvalMode && { approvalMode, approvalModeBy: by }),
  };
  const same =
    changed.title === configuration.title &&
    changed.titleSource === configuration.titleSource &&
    changed.approvalMode === configuration.approvalMode &&
    changed.model === configuration.model &&
    changed.temperature === configuration.temperature &&
    changed.effort === configuration.effort &&
    changed.instructions === configuration.instructions &&
    changed.tokenBudget === configuration.tokenBudget;
  if (same) return taken(draft, { type: 'Accepted', configuration });
  const other = changed.model === configuration.model ? draft : patch(draft, { room: null });
  return taken(chosenAnew(admit(other, { kind: 'CONFIGURATION', configuration: changed })), {
    type: 'Accepted',
    configuration: changed,
  });
}

/** What it is told beside what all are told, and how much it may spend; what is empty is none. */
function withBounds(
  configuration: Configuration,
  {
    instructions,
    tokenBudget,
  }: { readonly instructions: string | undefined; readonly tokenBudget: number | undefined },
): Configuration {
  const { instructions: told, tokenBudget: budget, ...others } = configuration;
  const now = instructions ?? told ?? '';
  const most = tokenBudget ?? budget ?? 0;
  return { ...others, ...(now !== '' && { instructions: now }), ...(most > 0 && { tokenBudget: most }) };
}

/** A turn of its own, whose principal is who asks (D-40). */
function compact(draft: StepDraft, by: Author): CommandResult {
  const live = liveTurn(draft.state.projection);
  if (live) return refuse({ code: 'BUSY', currentTurnId: live.id });
  if (draft.state.conversationFrom > 0) return refuse({ code: 'BUSY', currentTurnId: null });
  const compacting = startCompacting(draft, by);
  return compacting
    ? taken(compacting, { type: 'Accepted', turnId: liveTurn(compacting.state.projection)?.id ?? null })
    : refuse({ code: 'NOTHING_TO_COMPACT' });
}

const tookWatch = (made: ReturnType<typeof makeWatch>): CommandResult =>
  made.type === 'made' ? taken(made.draft, { type: 'Accepted', watch: made.watch }) : made;

function noteDiscarded(draft: StepDraft, by: Author, entries: number): CommandResult {
  const what = entries === 1 ? 'One entry' : `${entries} entries`;
  const message = `${what} that the database refused to store ${entries === 1 ? 'was' : 'were'} discarded by ${by.name}; what had been stored is kept.`;
  return taken(admit(draft, { kind: 'RECOVERY', reason: 'DISCARDED', message }), {
    type: 'Accepted',
    discarded: entries,
  });
}

function resumeQueue(draft: StepDraft): CommandResult {
  const { projection } = draft.state;
  const live = liveTurn(projection);
  if (live) {
    const resumed = projection.queue.held
      ? admit(draft, { kind: 'QUEUE', queue: { ...projection.queue, held: false } })
      : draft;
    return taken(resumed, { type: 'Accepted', turnId: live.id });
  }
  const { draft: started } = startFromQueue(draft);
  return taken(started, { type: 'Accepted', turnId: liveTurn(started.state.projection)?.id ?? null });
}
