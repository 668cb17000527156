/**
 * Owns: what a refusal says to a person: what is wrong and what to do. Exhaustive by type: a new refusal without a
 * sentence does not compile.
 */
import type { Rejection, StorageUnavailable } from 'schema/outcome';
import { isRetryable, type CoreRefusal } from '../../core/refusals.ts';
import type { Refusal } from '../refusals.ts';

type Code = Refusal['code'];
type SourceOf<C extends Code> = Extract<Refusal, { readonly code: C }>;
type Rejections = Extract<Rejection, { readonly code: Code }>;

const reached = {
  NOWHERE: 'and nothing was done',
  STOPPED: 'so the workstream was not deleted; its turn was stopped',
  UNKNOWN: 'so it is not known whether the workstream was deleted',
} as const;
const perhapsMade = 'so it is not known whether the workstream was made';

const sentences: { readonly [C in Code]: (refusal: SourceOf<C>) => string } = {
  INVALID_INPUT: ({ problem }) => problem,
  KEY_REUSED: () => 'This key was used before with another input. Make a new key for each intent.',
  WORKSTREAM_NOT_FOUND: () => 'There is no such workstream. It may have been deleted; reload the list.',
  WORKSTREAM_CLOSED: () => 'This workstream is closed. Open it first.',
  CLOSING: () => 'This workstream is being closed or deleted. Look at it again in a moment.',
  QUEUE_FULL: ({ capacity }) =>
    `There is no room in the queue: at most ${capacity} messages can wait, with 200,000 characters together; a longer one can only wait alone. Wait for the turn to take what waits, or withdraw some of it, and try again.`,
  STALE_TURN: ({ currentTurnId }) =>
    currentTurnId === null
      ? 'The turn you saw is over or was taken back. Look at the conversation as it is now, and try again from there.'
      : 'Another turn came after the one you saw. Look at the conversation as it is now, and try again from there.',
  BUSY: ({ currentTurnId }) =>
    currentTurnId === null
      ? 'Messages of somebody else are waiting and go first. Try again when they are answered, or queue yours.'
      : 'A turn is running. Wait until it ends, or stop it, and try again.',
  NOT_YOURS: ({ author }) =>
    `This would run on the credentials of ${author.name}, and only ${author.name} may do that. Ask ${author.name}, or send a message of your own.`,
  MESSAGE_NOT_QUEUED: () =>
    'This message does not wait any more: a turn took it, or it was withdrawn. Look at the conversation, and send another one if it is still needed.',
  MESSAGE_NOT_FOUND: ({ watermark }) =>
    watermark === null
      ? 'There is no such message in the conversation any more. Reload it, and choose a message that is still there.'
      : 'There is no such message after the last summary, and nothing before it can be taken back. Choose a message that came after it, or fork the workstream at that place instead.',
  NOTHING_TO_COMPACT: () =>
    'There is too little in the conversation to summarise, or nothing new since it was. Try again when there is more.',
  WATCH_NOT_FOUND: () =>
    'There is no such watch: it has ended, was cancelled, or never was. Look at the watches as they are now.',
  WATCH_LIMIT: ({ capacity }) =>
    `A workstream may have ${capacity} watches at once, and has them. Cancel one, and try again.`,
  WATCH_NAME_TAKEN: ({ name }) =>
    `There is a watch "${name}" already. Choose another name, or cancel that one and try again.`,
  STALE_WATCH: () => 'Somebody edited this watch after you saw it. Look at it as it is now, and edit that.',
  APPROVAL_GONE: () => 'This question is not open any more: its turn was stopped or has moved on.',
  ALREADY_DECIDED: ({ decision }) =>
    `This call was already ${decision.verdict === 'APPROVED' ? 'approved' : 'denied'} by ${decision.by.name}.`,
  ARGUMENTS_CHANGED: () => 'What would run is not what you saw. Look at the call again before deciding.',
  OWNER_ELSEWHERE: () => 'Another server runs this workstream. Try again there, or here when it has stopped.',
  OWNER_LOST: () => 'The workstream was interrupted before this was accepted. Try again with the same key.',
  QUARANTINED: ({ reason }) =>
    `This workstream failed three times in a row and takes no more commands; it can still be read. The reason: ${reason}`,
  SHUTTING_DOWN: () => 'The server is stopping. Try again with the same key when it is back.',
  STORAGE_UNAVAILABLE: ({ deletion, creation }) =>
    `The database does not answer, ${creation ? perhapsMade : reached[deletion ?? 'NOWHERE']}. Try again with the same key.`,
  UNSAVED_CONFLICT: () =>
    'The database refused to store what this workstream did last, so it takes no more commands. Discard what could not be stored, then try again.',
  DISCARDED: () =>
    'Somebody discarded what could not be stored, and this with it. Send it again if it is still wanted.',
  AT_CAPACITY: ({ capacity }) =>
    `As many workstreams are at work as this server may have at once (${capacity}). Try again when one has come to rest, or stop one.`,
  JOURNAL_UNSETTLED: ({ turnStopped }) =>
    turnStopped
      ? 'The database did not store the end of this workstream in time, so it stays open; its turn was stopped. Try again when the database answers.'
      : 'The database has not stored everything this workstream did, so it was not closed and goes on. Try again when the database answers.',
  NOTHING_TO_DISCARD: () => 'Nothing was refused by the database, so there is nothing to discard. Go on.',
};

/** None of these is recorded: they say how things stand, not what the command is worth (D-60). */
const isRetryableHere: Readonly<Record<Exclude<Code, CoreRefusal['code']>, boolean>> = {
  OWNER_ELSEWHERE: true,
  OWNER_LOST: true,
  QUARANTINED: true,
  SHUTTING_DOWN: true,
  STORAGE_UNAVAILABLE: true,
  UNSAVED_CONFLICT: true,
  DISCARDED: true,
  AT_CAPACITY: true,
  JOURNAL_UNSETTLED: true,
  NOTHING_TO_DISCARD: true,
};
const retryable: Readonly<Record<Code, boolean>> = { ...isRetryableHere, ...isRetryable };

/** Facts that have another name there. */
const factsOf = (refusal: Refusal) =>
  refusal.code === 'STALE_WATCH' ? { currentVersion: refusal.version } : {};

/** The refusal as the GraphQL surface shows it: its facts, with a sentence. */
export function refusalView<C extends Code>(refusal: SourceOf<C>): Extract<Rejections, { code: C }> {
  const { code } = refusal;
  const sentence = { message: sentences[code](refusal), retryable: retryable[code] };
  return { ...refusal, ...factsOf(refusal), ...sentence } as unknown as Extract<Rejections, { code: C }>;
}

export const storageUnavailable: StorageUnavailable = refusalView<'STORAGE_UNAVAILABLE'>({
  type: 'Rejected',
  code: 'STORAGE_UNAVAILABLE',
});

/** What is wrong with one field of an input; `problem`: one sentence that says what to do. */
export const invalid = (field: string, problem: string) =>
  refusalView<'INVALID_INPUT'>({ type: 'Rejected', code: 'INVALID_INPUT', field, problem } as const);
