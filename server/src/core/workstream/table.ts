/**
 * Owns: the state table (D-27) as data: for each situation of a workstream and each event, whether it is taken and
 * what the workstream then shows, why it is refused, or that nothing comes of it. Total: there is no `Partial`.
 *
 * Does not own: how it comes about (`step.ts` and the families). The table is not asked at run time; a test drives
 * `step` through every cell, and `docs/guide/states.md` is printed from here.
 *
 * Read it for one message, one call, an empty queue, and for the last question to the model as what is left behind;
 * with messages waiting, a turn that ends is followed by the next one (D-63), and with several calls each event named
 * "last" is the one that closes the batch. The door is told apart: whatever is under way, while it is shut each command
 * is either refused with CLOSING or taken as the cell says.
 */
import type { WorkstreamState } from 'schema/projection';
import type { CoreRefusal } from '../refusals.ts';

/** What a workstream shows, told apart by what is under way. */
export type Situation =
  | 'CREATING'
  | 'CLOSED'
  | 'IDLE'
  | 'ERROR'
  | 'ORPHANED'
  | 'ADMITTED'
  | 'ASKING'
  | 'BACKOFF'
  | 'PREPARING'
  | 'WAITING'
  | 'STARTING'
  | 'WORKING'
  | 'STOPPING_ANSWER'
  | 'STOPPING_CALLS';

export interface Shown {
  readonly state: WorkstreamState;
  /** The flag beside the state: the stop latch is set. */
  readonly stopping: boolean;
  /** It can leave memory as soon as all is durable, and lose nothing by it (D-24). */
  readonly unloads: boolean;
  readonly meaning: string;
}

export const shown: Readonly<Record<Situation, Shown>> = {
  CREATING: { state: 'CREATING', stopping: false, unloads: true, meaning: 'reserved, seen by nobody' },
  CLOSED: {
    state: 'CLOSED',
    stopping: false,
    unloads: true,
    meaning: 'readable; is opened again, or deleted',
  },
  IDLE: { state: 'IDLE', stopping: false, unloads: true, meaning: 'no live turn' },
  ERROR: { state: 'ERROR', stopping: false, unloads: true, meaning: 'no live turn, and the last one failed' },
  ORPHANED: {
    state: 'IDLE',
    stopping: false,
    unloads: false,
    meaning: 'no live turn; something of one that was forced to end is not seen to end',
  },
  ADMITTED: {
    state: 'THINKING',
    stopping: false,
    unloads: false,
    meaning: 'the model is asked as soon as what it will be told is durable',
  },
  ASKING: { state: 'THINKING', stopping: false, unloads: false, meaning: 'the model is asked' },
  BACKOFF: {
    state: 'THINKING',
    stopping: false,
    unloads: false,
    meaning: 'a failed attempt waits for the next one',
  },
  PREPARING: {
    state: 'RUNNING',
    stopping: false,
    unloads: false,
    meaning: 'declared calls are checked and previewed',
  },
  WAITING: { state: 'ATTENTION', stopping: false, unloads: true, meaning: 'a person is asked about a call' },
  STARTING: {
    state: 'RUNNING',
    stopping: false,
    unloads: false,
    meaning: 'a call runs as soon as its start is durable',
  },
  WORKING: { state: 'RUNNING', stopping: false, unloads: false, meaning: 'a call runs' },
  STOPPING_ANSWER: {
    state: 'THINKING',
    stopping: true,
    unloads: false,
    meaning: 'stopped; the model call is not seen to end',
  },
  STOPPING_CALLS: {
    state: 'RUNNING',
    stopping: true,
    unloads: false,
    meaning: 'stopped; a call is not seen to end',
  },
};

/** The commands, by what they are about. The one who asks is the principal of the turn, and wrote the messages. */
export type CommandEvent =
  | 'send'
  | 'sendOrReject'
  | 'steer'
  | 'steerOther'
  | 'editQueued'
  | 'withdrawQueued'
  | 'stop'
  | 'stopOther'
  | 'force'
  | 'rewind'
  | 'rewindOther'
  | 'resend'
  | 'retry'
  | 'approveLast'
  | 'denyLast'
  | 'decideChanged'
  | 'decideOther'
  | 'resumeQueue'
  | 'configure'
  | 'rename'
  | 'close'
  | 'open';

/** What the server itself does on the way to closing or deleting (D-23, D-25). */
export type DoorEvent = 'doorShut' | 'doorOpened';

export type WorldEvent =
  | 'acknowledged'
  | 'modelSpoke'
  | 'modelAnswered'
  | 'modelDeclared'
  | 'modelCutOff'
  | 'modelFailedForNow'
  | 'modelFailedForGood'
  | 'modelAborted'
  | 'retryDue'
  | 'callsAllowed'
  | 'callsAsk'
  | 'callsInvalid'
  | 'callSpoke'
  | 'lastCallSettled'
  | 'stopOverdue'
  | 'named'
  | 'oldClaim'
  | 'recovered'
  | 'recoveredAgain';

export type TableEvent = CommandEvent | DoorEvent | WorldEvent;

export const told: Readonly<Record<TableEvent, string>> = {
  send: 'a message is sent',
  sendOrReject: 'a message is sent that does not want to wait',
  steer: 'a message is sent to steer the live turn',
  steerOther: 'a message is sent to steer another turn',
  editQueued: 'a message that does not wait is edited',
  withdrawQueued: 'a message that does not wait is withdrawn',
  stop: 'Stop, naming the live turn or none',
  stopOther: 'Stop, naming another turn',
  force: 'Stop, by force',
  rewind: 'the conversation is rewound to a message',
  rewindOther: 'the conversation is rewound by who saw another turn last',
  resend: 'a message is edited and sent again',
  retry: 'the last message is tried again',
  approveLast: 'the last open call is approved',
  denyLast: 'the last open call is denied',
  decideChanged: 'a decision about other arguments than those asked about',
  decideOther: 'a decision about a question that is not open',
  resumeQueue: 'the queue is resumed',
  configure: 'another approval mode is set',
  rename: 'a person names it',
  close: 'the last word of closing',
  open: 'it is opened',
  doorShut: 'it is about to be closed or deleted',
  doorOpened: 'it is not closed or deleted after all',
  acknowledged: 'what was accepted is durable',
  modelSpoke: 'the model says a piece',
  modelAnswered: 'the model answers without calls',
  modelDeclared: 'the model declares calls',
  modelCutOff: 'the answer is cut off at the length limit, calls and all',
  modelFailedForNow: 'the model fails and is tried again',
  modelFailedForGood: 'the model fails for good',
  modelAborted: 'the model call is ended from outside',
  retryDue: 'the wait for another attempt is over',
  callsAllowed: 'the calls are prepared and may run',
  callsAsk: 'the calls are prepared and a person must decide',
  callsInvalid: 'the calls are prepared and cannot be run',
  callSpoke: 'a call puts out a piece',
  lastCallSettled: 'the last call ends',
  stopOverdue: '10 s have passed since Stop',
  named: 'a name comes that was asked for',
  oldClaim: 'an outcome of an earlier turn, claim or owner',
  recovered: 'another process takes over from the journal',
  recoveredAgain: 'another process takes over for the third time in a row',
};

export type Cell =
  | { readonly type: 'taken'; readonly to: Situation }
  | { readonly type: 'refused'; readonly code: CoreRefusal['code'] }
  /** FENCED: it dies at the door (D-5). IMPOSSIBLE: nothing is under way that it could be about. LATE: it was once. */
  | { readonly type: 'ignored'; readonly because: 'FENCED' | 'IMPOSSIBLE' | 'LATE' };

const to = (situation: Situation): Cell => ({ type: 'taken', to: situation });
const refused = (code: CoreRefusal['code']): Cell => ({ type: 'refused', code });
const impossible: Cell = { type: 'ignored', because: 'IMPOSSIBLE' };
const fenced: Cell = { type: 'ignored', because: 'FENCED' };
const late: Cell = { type: 'ignored', because: 'LATE' };

type Commands = Readonly<Record<CommandEvent, Cell>>;
type DoorRow = Readonly<Record<DoorEvent, Cell>>;
type WorldRow = Readonly<Record<WorldEvent, Cell>>;

/** A shut door is Stop. */
const door = (here: Situation, stopped: Situation): DoorRow => ({
  doorShut: to(stopped),
  doorOpened: to(here),
});

/** What a command comes to while the door is shut: what begins is refused, what ends is taken as ever. */
export const behindTheDoor: Readonly<Record<CommandEvent, 'CLOSING' | 'AS_EVER'>> = {
  send: 'CLOSING',
  sendOrReject: 'CLOSING',
  steer: 'CLOSING',
  steerOther: 'CLOSING',
  editQueued: 'CLOSING',
  withdrawQueued: 'AS_EVER',
  stop: 'AS_EVER',
  stopOther: 'AS_EVER',
  force: 'AS_EVER',
  rewind: 'CLOSING',
  rewindOther: 'CLOSING',
  resend: 'CLOSING',
  retry: 'CLOSING',
  approveLast: 'CLOSING',
  denyLast: 'CLOSING',
  decideChanged: 'CLOSING',
  decideOther: 'CLOSING',
  resumeQueue: 'CLOSING',
  configure: 'CLOSING',
  rename: 'CLOSING',
  close: 'AS_EVER',
  open: 'CLOSING',
};

const shut = (
  here: Situation,
  code: CoreRefusal['code'],
  lifecycle: Pick<Commands, 'close' | 'open'>,
): Commands & DoorRow => ({
  ...door(here, here),
  ...lifecycle,
  send: refused(code),
  sendOrReject: refused(code),
  steer: refused(code),
  steerOther: refused(code),
  editQueued: refused(code),
  withdrawQueued: refused(code),
  stop: refused(code),
  stopOther: refused(code),
  force: refused(code),
  rewind: refused(code),
  rewindOther: refused(code),
  resend: refused(code),
  retry: refused(code),
  approveLast: refused(code),
  denyLast: refused(code),
  decideChanged: refused(code),
  decideOther: refused(code),
  resumeQueue: refused(code),
  configure: refused(code),
  rename: refused(code),
});

/** No live turn: Stop is calm, a message starts a turn, and there is a conversation to go back in. */
const resting = (here: Situation, rewound: Situation): Commands & DoorRow => ({
  ...door(here, here),
  close: to('CLOSED'),
  send: to('ADMITTED'),
  sendOrReject: to('ADMITTED'),
  steer: refused('STALE_TURN'),
  steerOther: refused('STALE_TURN'),
  editQueued: refused('MESSAGE_NOT_QUEUED'),
  withdrawQueued: refused('MESSAGE_NOT_QUEUED'),
  stop: to(here),
  stopOther: to(here),
  force: to(here),
  rewind: to(rewound),
  rewindOther: refused('STALE_TURN'),
  resend: to('ADMITTED'),
  retry: to('ADMITTED'),
  approveLast: refused('APPROVAL_GONE'),
  denyLast: refused('APPROVAL_GONE'),
  decideChanged: refused('APPROVAL_GONE'),
  decideOther: refused('APPROVAL_GONE'),
  resumeQueue: to(here),
  configure: to(here),
  rename: to(here),
  open: to(here),
});

/** A live turn: a message is queued; a decision comes too early, or (after one was made) too late. */
const busy = (
  here: Situation,
  stopped: Situation,
  forced: Situation,
  decision: 'APPROVAL_GONE' | 'ALREADY_DECIDED' = 'APPROVAL_GONE',
): Commands & DoorRow => ({
  ...door(here, stopped),
  close: refused('BUSY'),
  send: to(here),
  sendOrReject: refused('BUSY'),
  steer: to(here),
  steerOther: refused('STALE_TURN'),
  editQueued: refused('MESSAGE_NOT_QUEUED'),
  withdrawQueued: refused('MESSAGE_NOT_QUEUED'),
  stop: to(stopped),
  stopOther: refused('STALE_TURN'),
  force: to(forced),
  rewind: refused('BUSY'),
  rewindOther: refused('BUSY'),
  resend: refused('BUSY'),
  retry: refused('BUSY'),
  approveLast: refused(decision),
  denyLast: refused(decision),
  decideChanged: refused(decision),
  decideOther: refused('APPROVAL_GONE'),
  resumeQueue: to(here),
  configure: to(here),
  rename: to(here),
  open: to(here),
});

/** Nothing is under way that the world could report on. */
const silent: WorldRow = {
  acknowledged: impossible,
  modelSpoke: impossible,
  modelAnswered: impossible,
  modelDeclared: impossible,
  modelCutOff: impossible,
  modelFailedForNow: impossible,
  modelFailedForGood: impossible,
  modelAborted: impossible,
  retryDue: impossible,
  callsAllowed: impossible,
  callsAsk: impossible,
  callsInvalid: impossible,
  callSpoke: impossible,
  lastCallSettled: impossible,
  stopOverdue: impossible,
  named: impossible,
  oldClaim: fenced,
  recovered: impossible,
  recoveredAgain: impossible,
};

/** However it ends, it has ended, and that is all that counts. */
const seenToEnd = {
  modelAnswered: to('IDLE'),
  modelDeclared: to('IDLE'),
  modelCutOff: to('IDLE'),
  modelFailedForNow: to('IDLE'),
  modelFailedForGood: to('IDLE'),
  modelAborted: to('IDLE'),
};

/** How a live turn goes on in another process (D-70, D-71). */
const recovering = (once: Situation, again: Situation): Pick<WorldRow, 'recovered' | 'recoveredAgain'> => ({
  recovered: to(once),
  recoveredAgain: to(again),
});

export const table: Readonly<Record<Situation, Readonly<Record<TableEvent, Cell>>>> = {
  CREATING: {
    ...shut('CREATING', 'WORKSTREAM_NOT_FOUND', {
      close: refused('WORKSTREAM_NOT_FOUND'),
      open: refused('WORKSTREAM_NOT_FOUND'),
    }),
    ...silent,
  },
  CLOSED: {
    ...shut('CLOSED', 'WORKSTREAM_CLOSED', { close: to('CLOSED'), open: to('IDLE') }),
    ...silent,
    // Nothing overwrites CLOSED (I56).
    named: late,
  },
  IDLE: { ...resting('IDLE', 'IDLE'), ...silent, named: to('IDLE') },
  // What failed is taken back with the rest.
  ERROR: { ...resting('ERROR', 'IDLE'), ...silent, named: to('ERROR') },
  ORPHANED: { ...resting('ORPHANED', 'ORPHANED'), ...silent, named: to('ORPHANED'), ...seenToEnd },
  ADMITTED: {
    ...busy('ADMITTED', 'IDLE', 'IDLE'),
    ...silent,
    named: to('ADMITTED'),
    acknowledged: to('ASKING'),
    ...recovering('ADMITTED', 'ERROR'),
  },
  ASKING: {
    ...busy('ASKING', 'STOPPING_ANSWER', 'ORPHANED'),
    ...silent,
    named: to('ASKING'),
    modelSpoke: to('ASKING'),
    modelAnswered: to('IDLE'),
    modelDeclared: to('PREPARING'),
    modelCutOff: to('IDLE'),
    modelFailedForNow: to('BACKOFF'),
    modelFailedForGood: to('ERROR'),
    modelAborted: to('ERROR'),
    ...recovering('ADMITTED', 'ERROR'),
  },
  BACKOFF: {
    ...busy('BACKOFF', 'IDLE', 'IDLE'),
    ...silent,
    named: to('BACKOFF'),
    retryDue: to('ASKING'),
    ...recovering('ADMITTED', 'ERROR'),
  },
  PREPARING: {
    ...busy('PREPARING', 'IDLE', 'IDLE'),
    ...silent,
    named: to('PREPARING'),
    callsAllowed: to('STARTING'),
    callsAsk: to('WAITING'),
    callsInvalid: to('ADMITTED'),
    ...recovering('PREPARING', 'ERROR'),
  },
  WAITING: {
    ...busy('WAITING', 'IDLE', 'IDLE'),
    approveLast: to('STARTING'),
    denyLast: to('ADMITTED'),
    decideChanged: refused('ARGUMENTS_CHANGED'),
    ...silent,
    named: to('WAITING'),
    // A question waits for a person however often the server restarts.
    ...recovering('WAITING', 'WAITING'),
  },
  STARTING: {
    ...busy('STARTING', 'IDLE', 'IDLE', 'ALREADY_DECIDED'),
    ...silent,
    named: to('STARTING'),
    acknowledged: to('WORKING'),
    // Its start is in the journal: whether it ran is unknown, and it is not run again (I37).
    ...recovering('ADMITTED', 'ERROR'),
  },
  WORKING: {
    ...busy('WORKING', 'STOPPING_CALLS', 'ORPHANED', 'ALREADY_DECIDED'),
    ...silent,
    named: to('WORKING'),
    callSpoke: to('WORKING'),
    lastCallSettled: to('ADMITTED'),
    ...recovering('ADMITTED', 'ERROR'),
  },
  STOPPING_ANSWER: {
    ...busy('STOPPING_ANSWER', 'STOPPING_ANSWER', 'ORPHANED'),
    ...silent,
    named: to('STOPPING_ANSWER'),
    ...seenToEnd,
    stopOverdue: to('ORPHANED'),
    ...recovering('IDLE', 'IDLE'),
  },
  STOPPING_CALLS: {
    ...busy('STOPPING_CALLS', 'STOPPING_CALLS', 'ORPHANED', 'ALREADY_DECIDED'),
    ...silent,
    named: to('STOPPING_CALLS'),
    callSpoke: to('STOPPING_CALLS'),
    lastCallSettled: to('IDLE'),
    stopOverdue: to('ORPHANED'),
    ...recovering('IDLE', 'IDLE'),
  },
};
