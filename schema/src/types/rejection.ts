/**
 * Owns: the object type of each refusal and the unions of outcomes. Refusals are data, not errors (D-11).
 */
import type { ObjectRef, UnionRef } from '@pothos/core';
import { builder } from '../builder.ts';
import type {
  AlreadyDecided as AlreadyDecidedOutcome,
  ApprovalGone as ApprovalGoneOutcome,
  ArgumentsChanged as ArgumentsChangedOutcome,
  AtCapacity as AtCapacityOutcome,
  Busy as BusyOutcome,
  InvalidInput as InvalidInputOutcome,
  JournalUnsettled as JournalUnsettledOutcome,
  MessageNotFound as MessageNotFoundOutcome,
  MessageNotQueued as MessageNotQueuedOutcome,
  NotYours as NotYoursOutcome,
  QueueFull as QueueFullOutcome,
  Rejection as RejectionOutcome,
  RejectionCode as Code,
  StaleTurn as StaleTurnOutcome,
  StaleWatch as StaleWatchOutcome,
  WatchLimit as WatchLimitOutcome,
  WatchNameTaken as WatchNameTakenOutcome,
  WatchNotFound as WatchNotFoundOutcome,
} from '../outcome.ts';
import { ApprovalDecision } from './approval-decision.ts';
import { Author } from './author.ts';
import { enumOf } from './enum.ts';

export const RejectionCode = enumOf<Code>(
  'RejectionCode',
  'Why a mutation was refused; each code is an object type of its own. Codes may be added: treat one you do not know by `retryable`.',
  {
    WORKSTREAM_NOT_FOUND: 'No workstream has this id.',
    INVALID_INPUT: 'The input can never be accepted as it is.',
    KEY_REUSED: 'The key was used before with another input.',
    WORKSTREAM_CLOSED: 'The workstream is closed; it can be read, not commanded.',
    CLOSING: 'The workstream is being closed or deleted.',
    JOURNAL_UNSETTLED: 'What the workstream accepted could not be stored, so it was not closed.',
    QUEUE_FULL: 'As many messages wait as may wait.',
    STALE_TURN: 'The turn named is not the one it is about.',
    BUSY: 'It cannot be done while a turn runs, or while messages of another author wait.',
    NOT_YOURS: 'It would run on the credentials of somebody else.',
    MESSAGE_NOT_QUEUED: 'No message with this id waits in the queue.',
    MESSAGE_NOT_FOUND: 'No message of a person with this id is in the conversation, or it is summarised.',
    NOTHING_TO_COMPACT: 'There is nothing in the conversation to summarise.',
    WATCH_NOT_FOUND: 'No watch of the workstream that has not ended has this id.',
    WATCH_LIMIT: 'There are as many watches as there may be.',
    WATCH_NAME_TAKEN: 'Another watch that has not ended has this name.',
    STALE_WATCH: 'The watch was edited since the caller saw it.',
    APPROVAL_GONE: 'There is no such open cycle, or no such item in it.',
    ALREADY_DECIDED: 'Somebody decided this item first.',
    ARGUMENTS_CHANGED: 'The arguments seen are not the ones that would run.',
    OWNER_ELSEWHERE: 'Another live server runs this workstream.',
    OWNER_LOST: 'This server stopped running the workstream before the command was safe.',
    AT_CAPACITY: 'As many workstreams are loaded as may be, and none of them can rest.',
    QUARANTINED: 'The workstream could not be recovered three times in a row; it can be read, not commanded.',
    SHUTTING_DOWN: 'The server is stopping.',
    STORAGE_UNAVAILABLE: 'The database did not answer.',
    UNSAVED_CONFLICT: 'The database refuses what the workstream accepted; `discardUnsaved` comes first.',
    DISCARDED: 'It was discarded before it was stored.',
    NOTHING_TO_DISCARD: 'The database refused nothing.',
    TOKEN_NOT_FOUND: 'No token has this id.',
  },
);

const typenameByCode: Readonly<Record<Code, string>> = {
  WORKSTREAM_NOT_FOUND: 'WorkstreamNotFound',
  INVALID_INPUT: 'InvalidInput',
  KEY_REUSED: 'KeyReused',
  WORKSTREAM_CLOSED: 'WorkstreamClosed',
  CLOSING: 'Closing',
  JOURNAL_UNSETTLED: 'JournalUnsettled',
  QUEUE_FULL: 'QueueFull',
  STALE_TURN: 'StaleTurn',
  BUSY: 'Busy',
  NOT_YOURS: 'NotYours',
  MESSAGE_NOT_QUEUED: 'MessageNotQueued',
  MESSAGE_NOT_FOUND: 'MessageNotFound',
  NOTHING_TO_COMPACT: 'NothingToCompact',
  WATCH_NOT_FOUND: 'WatchNotFound',
  WATCH_LIMIT: 'WatchLimit',
  WATCH_NAME_TAKEN: 'WatchNameTaken',
  STALE_WATCH: 'StaleWatch',
  APPROVAL_GONE: 'ApprovalGone',
  ALREADY_DECIDED: 'AlreadyDecided',
  ARGUMENTS_CHANGED: 'ArgumentsChanged',
  OWNER_ELSEWHERE: 'OwnerElsewhere',
  OWNER_LOST: 'OwnerLost',
  AT_CAPACITY: 'AtCapacity',
  QUARANTINED: 'Quarantined',
  SHUTTING_DOWN: 'ShuttingDown',
  STORAGE_UNAVAILABLE: 'StorageUnavailable',
  UNSAVED_CONFLICT: 'UnsavedConflict',
  DISCARDED: 'Discarded',
  NOTHING_TO_DISCARD: 'NothingToDiscard',
  TOKEN_NOT_FOUND: 'TokenNotFound',
};

export const Rejection = builder.interfaceRef<RejectionOutcome>('Rejection').implement({
  description:
    'Why a mutation did nothing. A rejection changed nothing, anywhere; the two exceptions say so: ' +
    '`JournalUnsettled.turnStopped`, and `message` of a `StorageUnavailable` that `deleteWorkstream` answers. Some carry the current facts, so that a client can show them without another query.',
  resolveType: (r) => typenameByCode[r.code],
  fields: (t) => ({
    code: t.field({ type: RejectionCode, description: 'For programs.', resolve: (r) => r.code }),
    message: t.exposeString('message', {
      description: 'One sentence for a person: what is wrong and what to do.',
    }),
    retryable: t.exposeBoolean('retryable', {
      description:
        'True: nothing was recorded, and the same key may be tried again, after a pause. False: this stays the answer for this key.',
    }),
  }),
});

const rejection = <R extends RejectionOutcome>(code: R['code']) => builder.objectRef<R>(typenameByCode[code]);

const plain = (code: Code, description: string) =>
  rejection<RejectionOutcome>(code).implement({ description, interfaces: [Rejection] });

export const WorkstreamNotFound = plain(
  'WORKSTREAM_NOT_FOUND',
  'No workstream has this id: it was never made, or is gone, or the text is not a workstream id.',
);
export const InvalidInput = rejection<InvalidInputOutcome>('INVALID_INPUT').implement({
  description: 'The input breaks a bound that its description states. Change it and send it under a new key.',
  interfaces: [Rejection],
  fields: (t) => ({
    field: t.exposeString('field', {
      description: 'Path of the input field that is wrong, for example `text`.',
    }),
  }),
});
export const KeyReused = plain(
  'KEY_REUSED',
  'The key names an earlier command with another input. Make a new key for a new intent.',
);
export const WorkstreamClosed = plain(
  'WORKSTREAM_CLOSED',
  'The workstream is closed. It can be read and followed; `openWorkstream` opens it, `deleteWorkstream` deletes it, and it ' +
    'takes no other command.',
);
export const Closing = plain(
  'CLOSING',
  'The workstream is being closed or deleted: some 15 s at most while the database answers. What ends something is still taken (`stopTurn`, ' +
    '`withdrawQueuedMessage`). Repeat the same key afterwards: it then answers WORKSTREAM_CLOSED or WORKSTREAM_NOT_FOUND, ' +
    'or, if it could not be closed, what it would have answered now.',
);
export const JournalUnsettled = rejection<JournalUnsettledOutcome>('JOURNAL_UNSETTLED').implement({
  description:
    'What the workstream accepted could not be stored within 2 s, so it was not closed: it is OPEN and takes commands. ' +
    '`Workstream.persistence` says what is wrong. Close again when that is HEALTHY.',
  interfaces: [Rejection],
  fields: (t) => ({
    turnStopped: t.exposeBoolean('turnStopped', {
      description:
        'True: a turn ran, and was stopped before that showed. False: no turn was stopped; one that runs goes on.',
    }),
  }),
});
export const QueueFull = rejection<QueueFullOutcome>('QUEUE_FULL').implement({
  description:
    'As many messages wait as may wait, or others wait and, together with this one, they are more than 200,000 UTF-16 ' +
    'code units of text; alone any message may wait. Send again when the live turn has ended, or withdraw one.',
  interfaces: [Rejection],
  fields: (t) => ({ capacity: t.exposeInt('capacity', { description: 'How many messages may wait.' }) }),
});
export const StaleTurn = rejection<StaleTurnOutcome>('STALE_TURN').implement({
  description:
    'The turn named is not the one you would act on: there is more than you saw, or it has ended. Nothing happened. Look ' +
    'at the workstream again, and decide again, under a new key.',
  interfaces: [Rejection],
  fields: (t) => ({
    currentTurnId: t.exposeID('currentTurnId', {
      nullable: true,
      description:
        'What to name now. To `stopTurn` and `sendMessage`: the turn that runs, null when none does. To `rewindWorkstream`, ' +
        '`resendMessage` and `retryTurn`: the last turn, null when there is none after a rewind.',
    }),
  }),
});
export const Busy = rejection<BusyOutcome>('BUSY').implement({
  description:
    'It cannot be done now, because a turn runs or because messages of another author wait for theirs. Try again when ' +
    'the turn has ended, or stop it first.',
  interfaces: [Rejection],
  fields: (t) => ({
    currentTurnId: t.exposeID('currentTurnId', {
      nullable: true,
      description: 'The turn that runs; null: none ran, and messages of another author come first.',
    }),
  }),
});
export const NotYours = rejection<NotYoursOutcome>('NOT_YOURS').implement({
  description:
    'What one author wrote never runs on the credentials of another one, so only `author` may do this. Others can send a ' +
    'message of their own, which gets a turn of its own.',
  interfaces: [Rejection],
  fields: (t) => ({
    author: t.field({
      type: Author,
      description: 'On whose credentials it would run.',
      resolve: (r) => r.author,
    }),
  }),
});
export const MessageNotQueued = rejection<MessageNotQueuedOutcome>('MESSAGE_NOT_QUEUED').implement({
  description:
    'The message does not wait: it was said to the model already, was withdrawn, or never was. Nothing was changed.',
  interfaces: [Rejection],
  fields: (t) => ({
    queuedMessageIds: t.exposeIDList('queuedMessageIds', {
      description: 'Ids of the messages that wait now, oldest first, at most 20.',
    }),
  }),
});
export const MessageNotFound = rejection<MessageNotFoundOutcome>('MESSAGE_NOT_FOUND').implement({
  description:
    'There is no such message of a person in the conversation: the id is not the `entryId` of a USER entry, the entry is ' +
    'superseded already or summarised (its revision is not above `watermark`), or it is none of a person (source FEEDBACK ' +
    'or COMPACTION_RESUME). To `retryTurn`: no message was said yet, or none since the summary.',
  interfaces: [Rejection],
  fields: (t) => ({
    watermark: t.field({
      type: 'Revision',
      nullable: true,
      description:
        'What lies up to this revision is summarised, and nothing of it can be taken back: fork at that place instead. Null: nothing is summarised.',
      resolve: (r) => r.watermark,
    }),
  }),
});
export const NothingToCompact = plain(
  'NOTHING_TO_COMPACT',
  'The conversation is too short to be summarised, or nothing that could be was said since it was. Try again when there ' +
    'is more.',
);
export const WatchNotFound = rejection<WatchNotFoundOutcome>('WATCH_NOT_FOUND').implement({
  description: 'The workstream has no such watch, or it has ended. Nothing was changed.',
  interfaces: [Rejection],
  fields: (t) => ({
    watchIds: t.exposeIDList('watchIds', {
      description: '`WatchFacts.watchId` of its watches that have not ended, oldest first, at most 5.',
    }),
  }),
});
export const WatchLimit = rejection<WatchLimitOutcome>('WATCH_LIMIT').implement({
  description:
    'The workstream has as many watches as it may have, PAUSED ones included. Cancel one, or wait until one ends, and repeat the key.',
  interfaces: [Rejection],
  fields: (t) => ({
    capacity: t.exposeInt('capacity', { description: 'How many watches may be there that have not ended.' }),
  }),
});
export const WatchNameTaken = rejection<WatchNameTakenOutcome>('WATCH_NAME_TAKEN').implement({
  description:
    'Another watch of the workstream that has not ended has this name. Choose another one under a new key, or end that watch and ' +
    'repeat the key.',
  interfaces: [Rejection],
  fields: (t) => ({ name: t.exposeString('name', { description: 'The name that is taken.' }) }),
});
export const StaleWatch = rejection<StaleWatchOutcome>('STALE_WATCH').implement({
  description:
    'Somebody edited the watch since you saw it. Nothing was changed. Look at it again, and edit it under a new key.',
  interfaces: [Rejection],
  fields: (t) => ({
    currentVersion: t.exposeInt('currentVersion', { description: 'Version it has now.' }),
  }),
});
export const ApprovalGone = rejection<ApprovalGoneOutcome>('APPROVAL_GONE').implement({
  description: 'The cycle was superseded or never was, or has no item for this call. Nothing was approved.',
  interfaces: [Rejection],
  fields: (t) => ({
    currentCycleIds: t.exposeIDList('currentCycleIds', {
      description: 'Ids of the cycles of this workstream that are open now.',
    }),
  }),
});
export const AlreadyDecided = rejection<AlreadyDecidedOutcome>('ALREADY_DECIDED').implement({
  description: 'This item was decided before; the first decision stands.',
  interfaces: [Rejection],
  fields: (t) => ({
    decision: t.field({
      type: ApprovalDecision,
      description: 'The decision that stands.',
      resolve: (r) => r.decision,
    }),
  }),
});
export const ArgumentsChanged = rejection<ArgumentsChangedOutcome>('ARGUMENTS_CHANGED').implement({
  description: 'What would run is not what you saw. Look at the item again before deciding.',
  interfaces: [Rejection],
  fields: (t) => ({
    currentHash: t.exposeString('currentHash', { description: '`argumentsHash` of the item as it is now.' }),
  }),
});
export const OwnerElsewhere = plain(
  'OWNER_ELSEWHERE',
  'Another live server runs this workstream. Send the same key to that server, or here again after a pause.',
);
export const OwnerLost = plain(
  'OWNER_LOST',
  'This server stopped running the workstream before the command was safe. Repeat the same key.',
);
export const AtCapacity = rejection<AtCapacityOutcome>('AT_CAPACITY').implement({
  description:
    'The command would load the workstream, but as many are loaded as the server allows, and each of them works. Nothing ' +
    'was done. Repeat the same key after a pause, or stop a turn elsewhere.',
  interfaces: [Rejection],
  fields: (t) => ({
    capacity: t.exposeInt('capacity', { description: 'How many workstreams may be loaded.' }),
  }),
});
export const Quarantined = plain(
  'QUARANTINED',
  'Recovery failed three times in a row. The workstream can be read; `Workstream.lastError` says why.',
);
export const ShuttingDown = plain(
  'SHUTTING_DOWN',
  'The server is stopping. Repeat the same key when it is back.',
);
export const StorageUnavailable = plain(
  'STORAGE_UNAVAILABLE',
  'The database did not answer and nothing was done. Repeat the same key after a pause. (`deleteWorkstream` answers it ' +
    'also when the turn was stopped already, or when it cannot be known whether the workstream is gone; `message` says so.)',
);
export const UnsavedConflict = plain(
  'UNSAVED_CONFLICT',
  'The database refuses to store what the workstream accepted before, so nothing more can be accepted. `discardUnsaved` ' +
    'gives up what could not be stored; then send again.',
);
export const Discarded = plain(
  'DISCARDED',
  'The command was accepted and not stored yet when somebody discarded what could not be stored: it is gone with the ' +
    'rest. Repeat it if it is still wanted.',
);
export const NothingToDiscard = plain(
  'NOTHING_TO_DISCARD',
  'The database has refused nothing of this workstream, so nothing was given up. Entries that only wait for the database ' +
    '(PENDING, RETRYING) are never discarded.',
);
export const TokenNotFound = plain('TOKEN_NOT_FOUND', 'No token has this id.');

/** What every command on a workstream can meet before its own rules are asked. */
export const commandRefusals = {
  WORKSTREAM_NOT_FOUND: WorkstreamNotFound,
  INVALID_INPUT: InvalidInput,
  KEY_REUSED: KeyReused,
  WORKSTREAM_CLOSED: WorkstreamClosed,
  OWNER_ELSEWHERE: OwnerElsewhere,
  OWNER_LOST: OwnerLost,
  QUARANTINED: Quarantined,
  SHUTTING_DOWN: ShuttingDown,
  STORAGE_UNAVAILABLE: StorageUnavailable,
  UNSAVED_CONFLICT: UnsavedConflict,
  DISCARDED: Discarded,
  AT_CAPACITY: AtCapacity,
  CLOSING: Closing,
} as const;

/** Of those that what opens, closes or deletes a workstream can meet: being closed is none. */
const { WORKSTREAM_CLOSED: _, ...notForBeingClosed } = commandRefusals;
export const lifecycleRefusals = notForBeingClosed;

type Types = (typeof builder)['$inferSchemaTypes'];
type Outcome = { readonly type: 'Accepted' } | RejectionOutcome;
type AnyRef = ObjectRef<Types, never>;
type CodeOf<O extends Outcome> = Extract<O, RejectionOutcome>['code'];

/**
 * The union of a verb's payload and exactly the rejections its outcome type names; one too few or too many does not
 * compile. `mutation` is the verb's name in the API.
 */
export function resultOf<O extends Outcome>(
  mutation: string,
  payload: ObjectRef<Types, Extract<O, { readonly type: 'Accepted' }>>,
  rejections: Readonly<Record<CodeOf<O>, { readonly name: string }>>,
): UnionRef<Types, O> {
  const name = `${mutation[0]!.toUpperCase()}${mutation.slice(1)}Result`;
  return builder.unionType(name, {
    description: `How \`${mutation}\` ends: accepted, or one of the rejections it can give.`,
    types: [payload, ...Object.values(rejections)] as unknown as AnyRef[],
    resolveType: (outcome) => {
      const o = outcome as Outcome;
      return o.type === 'Accepted' ? payload.name : typenameByCode[o.code];
    },
  });
}
