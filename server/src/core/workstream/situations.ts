/**
 * Owns: the words of the state table: what is under way in a workstream, told apart as far as events tell it apart, what
 * it then shows, and what can happen to it.
 * Does not own: what comes of which event when (`table.ts`).
 */
import type { WorkstreamState } from 'schema/projection';

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
  | 'BUDGET'
  | 'COMPACTING'
  | 'COMPACTING_BY_HAND'
  | 'STOPPING_ANSWER'
  | 'STOPPING_CALLS'
  | 'STOPPING_SUMMARY';

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
  ERROR: {
    state: 'ERROR',
    stopping: false,
    unloads: true,
    meaning: 'no live turn, and the last one failed, other than at a summary by hand',
  },
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
  BUDGET: {
    state: 'ATTENTION',
    stopping: false,
    unloads: true,
    meaning: 'the budget is spent, and a person is asked for more before the model is',
  },
  COMPACTING: {
    state: 'THINKING',
    stopping: false,
    unloads: false,
    meaning: 'what the model is to be told did not fit; older history is summarised first',
  },
  COMPACTING_BY_HAND: {
    state: 'THINKING',
    stopping: false,
    unloads: false,
    meaning: 'older history is summarised because a person wanted it',
  },
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
  STOPPING_SUMMARY: {
    state: 'THINKING',
    stopping: true,
    unloads: false,
    meaning: 'stopped; the model call for a summary is not seen to end',
  },
};

/** The commands, by what they are about. The one who asks is the principal of the turn, and wrote the messages. */
export const commands = {
  send: 'a message is sent',
  sendUnpaid: 'a message is sent, and the budget is spent',
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
  approveLast: 'what is asked about last is approved: a call, or more budget',
  denyLast: 'what is asked about last is denied',
  decideChanged: 'a decision about other arguments than those asked about',
  decideOther: 'a decision about a question that is not open',
  resumeQueue: 'the queue is resumed',
  configure: 'another approval mode is set',
  choose: 'another model is chosen',
  rename: 'a person names it',
  compact: 'a person wants older history summarised',
  close: 'the last word of closing',
  open: 'it is opened',
} as const;

/** What the server itself does on the way to closing or deleting (D-23, D-25). */
const doorEvents = {
  doorShut: 'it is about to be closed or deleted',
  doorOpened: 'it is not closed or deleted after all',
} as const;

export const worldEvents = {
  acknowledged: 'what was accepted is durable',
  modelSpoke: 'the model says a piece',
  modelAnswered: 'the model answers without calls',
  modelDeclared: 'the model declares calls',
  modelCutOff: 'the answer is cut off at the length limit, calls and all',
  modelFailedForNow: 'the model fails and is tried again',
  modelFailedForGood: 'the model fails for good',
  modelOverflows: 'what the model is told does not fit',
  modelAborted: 'the model call is ended from outside',
  retryDue: 'the wait for another attempt is over',
  callsAllowed: 'the calls are prepared and may run',
  callsAsk: 'the calls are prepared and a person must decide',
  callsInvalid: 'the calls are prepared and cannot be run',
  callSpoke: 'a call puts out a piece',
  lastCallSettled: 'the last call ends',
  summarised: 'a summary comes',
  summaryFailed: 'there will be no summary',
  stopOverdue: '10 s have passed since Stop',
  named: 'a name comes that was asked for',
  oldClaim: 'an outcome of an earlier turn, claim or owner',
  recovered: 'another process takes over from the journal',
  recoveredAgain: 'another process takes over for the third time in a row',
} as const;

export type CommandEvent = keyof typeof commands;
export type DoorEvent = keyof typeof doorEvents;
export type WorldEvent = keyof typeof worldEvents;
export type TableEvent = CommandEvent | DoorEvent | WorldEvent;

/** Each event in words. */
export const told: Readonly<Record<TableEvent, string>> = { ...commands, ...doorEvents, ...worldEvents };
