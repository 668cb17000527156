/**
 * Owns: the state table (D-27) as data: for each situation of a workstream and each event, whether it is taken and
 * what the workstream then shows, why it is refused, or that nothing comes of it. Total: there is no `Partial`.
 *
 * Does not own: how it comes about (`step.ts` and the families). The table is not asked at run time; a test drives
 * `step` through every cell, and `docs/guide/states.md` is printed from here.
 *
 * Read it for one message, one call, an empty queue, and for the last question to the model as what is left behind;
 * with messages waiting, a turn that ends is followed by the next one (D-63), and with several calls each event named
 * "last" is the one that closes the batch; the budget is not spent but where an event says so, and what does not fit is
 * summarised for the first time. The door is told apart: whatever is under way, while it is shut each command
 * is either refused with CLOSING or taken as the cell says.
 */
import type { CoreRefusal } from '../refusals.ts';
import {
  commands,
  worldEvents,
  type CommandEvent,
  type DoorEvent,
  type Situation,
  type TableEvent,
  type WorldEvent,
} from './situations.ts';

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

const forAll = <E extends string>(
  events: Readonly<Record<E, string>>,
  cell: Cell,
): Readonly<Record<E, Cell>> =>
  Object.fromEntries(Object.keys(events).map((event) => [event, cell])) as Record<E, Cell>;

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
  sendUnpaid: 'CLOSING',
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
  choose: 'CLOSING',
  rename: 'CLOSING',
  compact: 'CLOSING',
  close: 'AS_EVER',
  open: 'CLOSING',
};

/** Not open: it takes nothing but what is about that. */
const shut = (
  here: Situation,
  code: CoreRefusal['code'],
  lifecycle: Pick<Commands, 'close' | 'open'>,
): Commands & DoorRow => ({
  ...door(here, here),
  ...forAll(commands, refused(code)),
  ...lifecycle,
});

/** No live turn: Stop is calm, a message starts a turn, and there is a conversation to go back in. */
const resting = (here: Situation, rewound: Situation): Commands & DoorRow => ({
  ...door(here, here),
  close: to('CLOSED'),
  send: to('ADMITTED'),
  sendUnpaid: to('BUDGET'),
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
  choose: to(here),
  rename: to(here),
  compact: to('COMPACTING_BY_HAND'),
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
  sendUnpaid: to(here),
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
  choose: to(here),
  rename: to(here),
  compact: refused('BUSY'),
  open: to(here),
});

/** Nothing is under way that the world could report on. */
const silent: WorldRow = { ...forAll(worldEvents, impossible), oldClaim: fenced };

/** However it ends, it has ended, and that is all that counts. */
const seenToEnd = {
  modelAnswered: to('IDLE'),
  modelDeclared: to('IDLE'),
  modelCutOff: to('IDLE'),
  modelFailedForNow: to('IDLE'),
  modelFailedForGood: to('IDLE'),
  modelOverflows: to('IDLE'),
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
    modelOverflows: to('COMPACTING'),
    modelAborted: to('ERROR'),
    ...recovering('ADMITTED', 'ERROR'),
  },
  BACKOFF: {
    ...busy('BACKOFF', 'IDLE', 'IDLE'),
    ...silent,
    // What would be asked again is not what is wanted any more.
    choose: to('ADMITTED'),
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
  BUDGET: {
    ...busy('BUDGET', 'IDLE', 'IDLE'),
    approveLast: to('ADMITTED'),
    denyLast: to('IDLE'),
    decideChanged: refused('ARGUMENTS_CHANGED'),
    ...silent,
    named: to('BUDGET'),
    ...recovering('BUDGET', 'BUDGET'),
  },
  COMPACTING: {
    ...busy('COMPACTING', 'STOPPING_SUMMARY', 'ORPHANED'),
    ...silent,
    named: to('COMPACTING'),
    summarised: to('ADMITTED'),
    summaryFailed: to('ERROR'),
    ...recovering('COMPACTING', 'ERROR'),
  },
  COMPACTING_BY_HAND: {
    ...busy('COMPACTING_BY_HAND', 'STOPPING_SUMMARY', 'ORPHANED'),
    ...silent,
    named: to('COMPACTING_BY_HAND'),
    summarised: to('IDLE'),
    // It leaves what the model is told as it was.
    summaryFailed: to('IDLE'),
    ...recovering('COMPACTING_BY_HAND', 'IDLE'),
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
  STOPPING_SUMMARY: {
    ...busy('STOPPING_SUMMARY', 'STOPPING_SUMMARY', 'ORPHANED'),
    ...silent,
    named: to('STOPPING_SUMMARY'),
    summarised: to('IDLE'),
    summaryFailed: to('IDLE'),
    stopOverdue: to('ORPHANED'),
    ...recovering('IDLE', 'IDLE'),
  },
};
