/**
 * Owns: the state table (D-27) as data: for each situation of a workstream and each event, whether it is taken and
 * what the workstream then shows, why it is refused, or that nothing comes of it. Total: there is no `Partial`.
 *
 * Does not own: how it comes about (`step.ts` and the families). The table is not asked at run time; a test drives
 * `step` through every cell, and `docs/guide/states.md` is printed from here.
 *
 * Read it for one message, one call, an empty queue, and for the last question to the model as what is left behind; with messages waiting, a turn that ends is followed by the
 * next one (D-63), and with several calls each event named "last" is the one that closes the batch.
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
  readonly meaning: string;
}

export const shown: Readonly<Record<Situation, Shown>> = {
  CREATING: { state: 'CREATING', stopping: false, meaning: 'reserved, seen by nobody' },
  CLOSED: { state: 'CLOSED', stopping: false, meaning: 'readable, takes no commands' },
  IDLE: { state: 'IDLE', stopping: false, meaning: 'no live turn' },
  ERROR: { state: 'ERROR', stopping: false, meaning: 'no live turn, and the last one failed' },
  ORPHANED: {
    state: 'IDLE',
    stopping: false,
    meaning: 'no live turn; something of one that was forced to end is not seen to end',
  },
  ADMITTED: {
    state: 'THINKING',
    stopping: false,
    meaning: 'the model is asked as soon as what it will be told is durable',
  },
  ASKING: { state: 'THINKING', stopping: false, meaning: 'the model is asked' },
  BACKOFF: { state: 'THINKING', stopping: false, meaning: 'a failed attempt waits for the next one' },
  PREPARING: { state: 'RUNNING', stopping: false, meaning: 'declared calls are checked and previewed' },
  WAITING: { state: 'ATTENTION', stopping: false, meaning: 'a person is asked about a call' },
  STARTING: { state: 'RUNNING', stopping: false, meaning: 'a call runs as soon as its start is durable' },
  WORKING: { state: 'RUNNING', stopping: false, meaning: 'a call runs' },
  STOPPING_ANSWER: {
    state: 'THINKING',
    stopping: true,
    meaning: 'stopped; the model call is not seen to end',
  },
  STOPPING_CALLS: { state: 'RUNNING', stopping: true, meaning: 'stopped; a call is not seen to end' },
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
  | 'configure';

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
  | 'oldClaim'
  | 'recovered'
  | 'recoveredAgain';

export type TableEvent = CommandEvent | WorldEvent;

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
  oldClaim: 'an outcome of an earlier turn, claim or owner',
  recovered: 'another process takes over from the journal',
  recoveredAgain: 'another process takes over for the third time in a row',
};

export type Cell =
  | { readonly type: 'taken'; readonly to: Situation }
  | { readonly type: 'refused'; readonly code: CoreRefusal['code'] }
  /** FENCED: it dies at the door (D-5). IMPOSSIBLE: nothing is under way that it could be about. */
  | { readonly type: 'ignored'; readonly because: 'FENCED' | 'IMPOSSIBLE' };

const to = (situation: Situation): Cell => ({ type: 'taken', to: situation });
const refused = (code: CoreRefusal['code']): Cell => ({ type: 'refused', code });
const impossible: Cell = { type: 'ignored', because: 'IMPOSSIBLE' };
const fenced: Cell = { type: 'ignored', because: 'FENCED' };

type Commands = Readonly<Record<CommandEvent, Cell>>;
type WorldRow = Readonly<Record<WorldEvent, Cell>>;

const shut = (code: CoreRefusal['code']): Commands => ({
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
});

/** No live turn: Stop is calm, a message starts a turn, and there is a conversation to go back in. */
const resting = (here: Situation, rewound: Situation): Commands => ({
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
});

/** A live turn: a message is queued; a decision comes too early, or (after one was made) too late. */
const busy = (
  here: Situation,
  stopped: Situation,
  forced: Situation,
  decision: 'APPROVAL_GONE' | 'ALREADY_DECIDED' = 'APPROVAL_GONE',
): Commands => ({
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
  CREATING: { ...shut('WORKSTREAM_NOT_FOUND'), ...silent },
  CLOSED: { ...shut('WORKSTREAM_CLOSED'), ...silent },
  IDLE: { ...resting('IDLE', 'IDLE'), ...silent },
  // What failed is taken back with the rest.
  ERROR: { ...resting('ERROR', 'IDLE'), ...silent },
  ORPHANED: { ...resting('ORPHANED', 'ORPHANED'), ...silent, ...seenToEnd },
  ADMITTED: {
    ...busy('ADMITTED', 'IDLE', 'IDLE'),
    ...silent,
    acknowledged: to('ASKING'),
    ...recovering('ADMITTED', 'ERROR'),
  },
  ASKING: {
    ...busy('ASKING', 'STOPPING_ANSWER', 'ORPHANED'),
    ...silent,
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
    retryDue: to('ASKING'),
    ...recovering('ADMITTED', 'ERROR'),
  },
  PREPARING: {
    ...busy('PREPARING', 'IDLE', 'IDLE'),
    ...silent,
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
    // A question waits for a person however often the server restarts.
    ...recovering('WAITING', 'WAITING'),
  },
  STARTING: {
    ...busy('STARTING', 'IDLE', 'IDLE', 'ALREADY_DECIDED'),
    ...silent,
    acknowledged: to('WORKING'),
    // Its start is in the journal: whether it ran is unknown, and it is not run again (I37).
    ...recovering('ADMITTED', 'ERROR'),
  },
  WORKING: {
    ...busy('WORKING', 'STOPPING_CALLS', 'ORPHANED', 'ALREADY_DECIDED'),
    ...silent,
    callSpoke: to('WORKING'),
    lastCallSettled: to('ADMITTED'),
    ...recovering('ADMITTED', 'ERROR'),
  },
  STOPPING_ANSWER: {
    ...busy('STOPPING_ANSWER', 'STOPPING_ANSWER', 'ORPHANED'),
    ...silent,
    ...seenToEnd,
    stopOverdue: to('ORPHANED'),
    ...recovering('IDLE', 'IDLE'),
  },
  STOPPING_CALLS: {
    ...busy('STOPPING_CALLS', 'STOPPING_CALLS', 'ORPHANED', 'ALREADY_DECIDED'),
    ...silent,
    callSpoke: to('STOPPING_CALLS'),
    lastCallSettled: to('IDLE'),
    stopOverdue: to('ORPHANED'),
    ...recovering('IDLE', 'IDLE'),
  },
};
