/**
 * Owns: the object type of each refusal and the unions of outcomes. Refusals are data, not errors (D-11).
 */
import type { ObjectRef, UnionRef } from '@pothos/core';
import { builder } from '../builder.ts';
import type {
  AlreadyDecided as AlreadyDecidedOutcome,
  ApprovalGone as ApprovalGoneOutcome,
  ArgumentsChanged as ArgumentsChangedOutcome,
  InvalidInput as InvalidInputOutcome,
  QueueFull as QueueFullOutcome,
  Rejection as RejectionOutcome,
  RejectionCode as Code,
  StaleTurn as StaleTurnOutcome,
} from '../outcome.ts';
import { ApprovalDecision } from './approval-decision.ts';
import { enumOf } from './enum.ts';

export const RejectionCode = enumOf<Code>(
  'RejectionCode',
  'Why a mutation was refused; each code is an object type of its own. Codes may be added: treat one you do not know by `retryable`.',
  {
    WORKSTREAM_NOT_FOUND: 'No workstream has this id.',
    INVALID_INPUT: 'The input can never be accepted as it is.',
    KEY_REUSED: 'The key was used before with another input.',
    WORKSTREAM_CLOSED: 'The workstream is closed; it can be read, not commanded.',
    QUEUE_FULL: 'As many messages wait as may wait.',
    STALE_TURN: 'The turn named is not the live one.',
    APPROVAL_GONE: 'There is no such open cycle, or no such item in it.',
    ALREADY_DECIDED: 'Somebody decided this item first.',
    ARGUMENTS_CHANGED: 'The arguments seen are not the ones that would run.',
    OWNER_ELSEWHERE: 'Another live server runs this workstream.',
    OWNER_LOST: 'This server stopped running the workstream before the command was safe.',
    QUARANTINED: 'The workstream could not be recovered three times in a row; it can be read, not commanded.',
    SHUTTING_DOWN: 'The server is stopping.',
    STORAGE_UNAVAILABLE: 'The database did not answer.',
    TOKEN_NOT_FOUND: 'No token has this id.',
  },
);

const typenameByCode: Readonly<Record<Code, string>> = {
  WORKSTREAM_NOT_FOUND: 'WorkstreamNotFound',
  INVALID_INPUT: 'InvalidInput',
  KEY_REUSED: 'KeyReused',
  WORKSTREAM_CLOSED: 'WorkstreamClosed',
  QUEUE_FULL: 'QueueFull',
  STALE_TURN: 'StaleTurn',
  APPROVAL_GONE: 'ApprovalGone',
  ALREADY_DECIDED: 'AlreadyDecided',
  ARGUMENTS_CHANGED: 'ArgumentsChanged',
  OWNER_ELSEWHERE: 'OwnerElsewhere',
  OWNER_LOST: 'OwnerLost',
  QUARANTINED: 'Quarantined',
  SHUTTING_DOWN: 'ShuttingDown',
  STORAGE_UNAVAILABLE: 'StorageUnavailable',
  TOKEN_NOT_FOUND: 'TokenNotFound',
};

export const Rejection = builder.interfaceRef<RejectionOutcome>('Rejection').implement({
  description:
    'Why a mutation did nothing. A rejection changed nothing, anywhere. Some carry the current facts, so that a client ' +
    'can show them without another query.',
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
  'The workstream is closed. It can be read and followed, and takes no commands.',
);
export const QueueFull = rejection<QueueFullOutcome>('QUEUE_FULL').implement({
  description: 'As many messages wait for the live turn as may wait. Send again when it has ended.',
  interfaces: [Rejection],
  fields: (t) => ({ capacity: t.exposeInt('capacity', { description: 'How many messages may wait.' }) }),
});
export const StaleTurn = rejection<StaleTurnOutcome>('STALE_TURN').implement({
  description: 'The turn named has ended. Nothing was stopped, so that a late Stop never ends a newer turn.',
  interfaces: [Rejection],
  fields: (t) => ({
    currentTurnId: t.exposeID('currentTurnId', {
      nullable: true,
      description: 'The turn that runs now; null when none does.',
    }),
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
  'The database did not answer and nothing was done. Repeat the same key after a pause.',
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
} as const;

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
