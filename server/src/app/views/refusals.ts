/**
 * Owns: what a refusal says to a person: what is wrong and what to do. Exhaustive by type: a new refusal without a
 * sentence does not compile.
 */
import type { Rejection, StorageUnavailable } from 'schema/outcome';
import type { CoreRefusal } from '../../core/refusals.ts';
import type { LoadRefusal } from '../actor/registry.ts';

type Source = CoreRefusal | LoadRefusal;
type SourceOf<C extends Source['code']> = Extract<Source, { readonly code: C }>;
type Rejections = Extract<Rejection, { readonly code: Source['code'] }>;

const sentences: {
  readonly [C in Source['code']]: (refusal: SourceOf<C>) => {
    readonly message: string;
    readonly retryable: boolean;
  };
} = {
  INVALID_INPUT: ({ problem }) => ({ message: problem, retryable: false }),
  KEY_REUSED: () => ({
    message: 'This key was used before with another input. Make a new key for each intent.',
    retryable: false,
  }),
  WORKSTREAM_NOT_FOUND: () => ({
    message: 'There is no such workstream. It may have been deleted; reload the list.',
    retryable: false,
  }),
  WORKSTREAM_CLOSED: () => ({
    message: 'This workstream is closed. Open it first.',
    retryable: false,
  }),
  QUEUE_FULL: ({ capacity }) => ({
    message: `The queue is full: at most ${capacity} messages and 2 million characters can wait. Wait for the turn to take them, or stop it.`,
    retryable: true,
  }),
  STALE_TURN: () => ({
    message: 'Another turn is running now than the one you saw. Look at it, then stop that one.',
    retryable: false,
  }),
  APPROVAL_GONE: () => ({
    message: 'This question is not open any more: its turn was stopped or has moved on.',
    retryable: false,
  }),
  ALREADY_DECIDED: ({ decision }) => ({
    message: `This call was already ${decision.verdict === 'APPROVED' ? 'approved' : 'denied'} by ${decision.by.name}.`,
    retryable: false,
  }),
  ARGUMENTS_CHANGED: () => ({
    message: 'What would run is not what you saw. Look at the call again before deciding.',
    retryable: false,
  }),
  OWNER_ELSEWHERE: () => ({
    message: 'Another server runs this workstream. Try again there, or here when it has stopped.',
    retryable: true,
  }),
  OWNER_LOST: () => ({
    message: 'The workstream was interrupted before this was accepted. Try again with the same key.',
    retryable: true,
  }),
  QUARANTINED: ({ reason }) => ({
    message: `This workstream failed three times in a row and takes no more commands; it can still be read. The reason: ${reason}`,
    retryable: true,
  }),
  SHUTTING_DOWN: () => ({
    message: 'The server is stopping. Try again with the same key when it is back.',
    retryable: true,
  }),
  STORAGE_UNAVAILABLE: () => ({
    message: 'The database does not answer, and nothing was done. Try again with the same key.',
    retryable: true,
  }),
};

/** The refusal as the GraphQL surface shows it: its facts, with a sentence. */
export function refusalView<C extends Source['code']>(
  refusal: SourceOf<C>,
): Extract<Rejections, { code: C }> {
  const sentence = sentences[refusal.code](refusal);
  return { ...refusal, ...sentence } as unknown as Extract<Rejections, { code: C }>;
}

export const storageUnavailable: StorageUnavailable = refusalView<'STORAGE_UNAVAILABLE'>({
  type: 'Rejected',
  code: 'STORAGE_UNAVAILABLE',
});
