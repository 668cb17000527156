/**
 * Owns: how a command ends, as values. A refusal changes nothing (D-11); each is one object type on the wire that
 * implements `Rejection { code message retryable }` and adds the current facts.
 */
import type { ApprovalDecision, Author } from './projection/index.ts';

interface Refusal<Code extends string> {
  readonly type: 'Rejected';
  readonly code: Code;
  /** One sentence for a person: what is wrong and what to do. */
  readonly message: string;
  /** True: nothing was recorded, the same key may be tried again. False: this stays the answer for that key. */
  readonly retryable: boolean;
}

export type WorkstreamNotFound = Refusal<'WORKSTREAM_NOT_FOUND'>;
/** The input can never be accepted as it is; `field` is its path, for example `text`. */
export type InvalidInput = Refusal<'INVALID_INPUT'> & { readonly field: string };
/** The key was used before with another input. */
export type KeyReused = Refusal<'KEY_REUSED'>;
export type WorkstreamClosed = Refusal<'WORKSTREAM_CLOSED'>;
export type QueueFull = Refusal<'QUEUE_FULL'> & { readonly capacity: number };
/** The turn named is not the live one. */
export type StaleTurn = Refusal<'STALE_TURN'> & { readonly currentTurnId: string | null };
/** A turn runs, or (null) messages of another author wait for theirs. */
export type Busy = Refusal<'BUSY'> & { readonly currentTurnId: string | null };
/** It would run on the credentials of `author`, who is not the one who asks (D-12). */
export type NotYours = Refusal<'NOT_YOURS'> & { readonly author: Author };
/** The message does not wait: it was taken, withdrawn, or never was. */
export type MessageNotQueued = Refusal<'MESSAGE_NOT_QUEUED'> & {
  readonly queuedMessageIds: readonly string[];
};
/**
 * No message of a person with this id is in the conversation. `watermark`: what lies up to that revision is summarised,
 * and nobody goes back below it; null: nothing is.
 */
export type MessageNotFound = Refusal<'MESSAGE_NOT_FOUND'> & { readonly watermark: number | null };
/** The conversation is too short, or nothing came since it was summarised. */
export type NothingToCompact = Refusal<'NOTHING_TO_COMPACT'>;
/** Nothing was refused by the database, so there is nothing to discard. */
export type NothingToDiscard = Refusal<'NOTHING_TO_DISCARD'>;
/** The database refused to store what the workstream accepted (D-51); `discardUnsaved` first. */
export type UnsavedConflict = Refusal<'UNSAVED_CONFLICT'>;
/** It was accepted and not yet stored when somebody discarded what could not be stored; retry. */
export type Discarded = Refusal<'DISCARDED'>;
/** The workstream has no such watch, or it has ended. */
export type WatchNotFound = Refusal<'WATCH_NOT_FOUND'> & { readonly watchIds: readonly string[] };
export type WatchLimit = Refusal<'WATCH_LIMIT'> & { readonly capacity: number };
/** Another watch of the workstream that has not ended has it. */
export type WatchNameTaken = Refusal<'WATCH_NAME_TAKEN'> & { readonly name: string };
/** It was edited since the caller saw it. */
export type StaleWatch = Refusal<'STALE_WATCH'> & { readonly currentVersion: number };
/** No such open cycle or item. */
export type ApprovalGone = Refusal<'APPROVAL_GONE'> & { readonly currentCycleIds: readonly string[] };
export type AlreadyDecided = Refusal<'ALREADY_DECIDED'> & { readonly decision: ApprovalDecision };
/** The arguments seen are not those that would run. */
export type ArgumentsChanged = Refusal<'ARGUMENTS_CHANGED'> & { readonly currentHash: string };
/** Another live process runs this workstream; retry. */
export type OwnerElsewhere = Refusal<'OWNER_ELSEWHERE'>;
/** The process stopped being the owner before the command was durable; retry with the same key. */
export type OwnerLost = Refusal<'OWNER_LOST'>;
/** As many workstreams are loaded as may be, and none of them can rest; retry. */
export type AtCapacity = Refusal<'AT_CAPACITY'> & { readonly capacity: number };
/** It is being closed or deleted. */
export type Closing = Refusal<'CLOSING'>;
/** Accepted entries could not be stored, so it was not closed (D-23). */
export type JournalUnsettled = Refusal<'JOURNAL_UNSETTLED'> & {
  /** True: its turn was stopped meanwhile. */
  readonly turnStopped: boolean;
};
/** Recovery failed three times in a row; readable, not writable (D-71). */
export type Quarantined = Refusal<'QUARANTINED'>;
/** The server is stopping; retry when it is back. */
export type ShuttingDown = Refusal<'SHUTTING_DOWN'>;
/** The database did not answer; nothing was done, or (by a creation or deletion) what `message` says; retry. */
export type StorageUnavailable = Refusal<'STORAGE_UNAVAILABLE'>;
export type TokenNotFound = Refusal<'TOKEN_NOT_FOUND'>;

/** Refusals any command on an existing workstream can meet before its own rules are asked. */
export type CommandRefusal =
  | WorkstreamNotFound
  | InvalidInput
  | KeyReused
  | WorkstreamClosed
  | OwnerElsewhere
  | OwnerLost
  | Quarantined
  | ShuttingDown
  | StorageUnavailable
  | UnsavedConflict
  | Discarded
  | AtCapacity
  | Closing;

/** Of those that what opens, closes or deletes a workstream can meet: being closed is none. */
export type LifecycleRefusal = Exclude<CommandRefusal, WorkstreamClosed>;

export type Rejection =
  | CommandRefusal
  | QueueFull
  | StaleTurn
  | Busy
  | NotYours
  | MessageNotQueued
  | MessageNotFound
  | NothingToCompact
  | NothingToDiscard
  | JournalUnsettled
  | WatchNotFound
  | WatchLimit
  | WatchNameTaken
  | StaleWatch
  | ApprovalGone
  | AlreadyDecided
  | ArgumentsChanged
  | TokenNotFound;

export type RejectionCode = Rejection['code'];

/** PENDING (after 5 s without the database) is not yet an acceptance: keep the input and repeat the key (D-61). */
export type Durability = 'DURABLE' | 'PENDING';

export const isRejected = (o: { readonly type: string }): o is Rejection => o.type === 'Rejected';
