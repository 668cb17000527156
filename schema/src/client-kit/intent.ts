/**
 * Owns: one thing a person wants of the server, carried through: a key made once, repeated with each attempt (D-60).
 * Does not own: what is wanted (`operations/`).
 *
 * Invariants: every attempt of an intent carries the same key and the same input; PENDING is not an acceptance (D-61);
 * attempts are bounded, except while the connection is known to be down, and after the last one the intent can be run
 * again, still under its key; a connection that is back ends a pause at once; what a person has to decide is answered at
 * once.
 */
import type { ResultOf, TadaDocumentNode } from 'gql.tada';
import type { ApprovalDecision, Author } from '../projection/index.ts';
import { failureText, type Failure } from './failure.ts';
import type { rejectionFields } from './fragments/rejection.ts';
import type { Pace } from './persist.ts';
import type { Transport } from './transport.ts';

/** How things stood when a command was refused: what its code tells, and nothing of the others. */
export interface Facts {
  /** QUEUE_FULL: how many messages may wait. AT_CAPACITY: how many workstreams may be loaded. WATCH_LIMIT: how many watches may be there. */
  readonly capacity?: number;
  /** STALE_TURN, BUSY: the turn to name now; null when there is none. */
  readonly currentTurnId?: string | null;
  /** NOT_YOURS: on whose credentials it would run. */
  readonly author?: Author;
  /** MESSAGE_NOT_QUEUED: what waits now, oldest first. */
  readonly queuedMessageIds?: readonly string[];
  /** MESSAGE_NOT_FOUND: what lies up to this revision is summarised; null: nothing is. */
  readonly watermark?: number | null;
  /** WATCH_NOT_FOUND: the watches that have not ended. */
  readonly watchIds?: readonly string[];
  /** WATCH_NAME_TAKEN: the name. */
  readonly name?: string;
  /** STALE_WATCH: the version to name now. */
  readonly currentVersion?: number;
  /** APPROVAL_GONE: the cycles that are open now. */
  readonly currentCycleIds?: readonly string[];
  /** ALREADY_DECIDED: the decision that stands. */
  readonly decision?: ApprovalDecision;
  /** ARGUMENTS_CHANGED: the hash of what would run now. */
  readonly currentHash?: string;
  /** JOURNAL_UNSETTLED: the turn was stopped all the same. */
  readonly turnStopped?: boolean;
}

/** A refusal changed nothing (D-11). `field` names the input that is wrong, when one is. */
export interface Refused {
  readonly type: 'Rejected';
  /** A `RejectionCode`, or one of a newer server. */
  readonly code: string;
  readonly message: string;
  readonly field: string | null;
  readonly facts: Facts;
}

export type Outcome<Accepted> =
  | { readonly type: 'Accepted'; readonly payload: Accepted }
  | Refused
  /** Not known to have happened. Running the intent again is safe: it happens once. */
  | { readonly type: 'Failed'; readonly message: string; readonly failure: Failure | null };

/** Said between two attempts. */
export interface Progress {
  /** How many of the attempts that count have failed. */
  readonly attempt: number;
  /** How many there are at most; null while the connection is known to be down, which they go on until it is not. */
  readonly of: number | null;
  readonly reason: string;
  readonly waitMs: number;
}

export interface Intent<Accepted> {
  readonly key: string;
  /** An aborted signal ends the attempts; what was under way may have happened all the same. */
  run(onProgress?: (progress: Progress) => void, signal?: AbortSignal): Promise<Outcome<Accepted>>;
}

type RejectionCode = ResultOf<typeof rejectionFields>['code'];

interface Rejected extends Facts {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly field?: string;
}

/**
 * Which refusals are repeated without asking: troubles of the server that pass by themselves. The server calls more of
 * them retryable (the same key may be tried again), but what ends only when somebody does something is told at once.
 */
const passes: Readonly<Record<RejectionCode, boolean>> = {
  OWNER_ELSEWHERE: true,
  OWNER_LOST: true,
  SHUTTING_DOWN: true,
  STORAGE_UNAVAILABLE: true,
  AT_CAPACITY: true,
  CLOSING: true,
  JOURNAL_UNSETTLED: false,
  WORKSTREAM_NOT_FOUND: false,
  INVALID_INPUT: false,
  KEY_REUSED: false,
  WORKSTREAM_CLOSED: false,
  QUEUE_FULL: false,
  STALE_TURN: false,
  BUSY: false,
  NOT_YOURS: false,
  MESSAGE_NOT_QUEUED: false,
  MESSAGE_NOT_FOUND: false,
  NOTHING_TO_COMPACT: false,
  WATCH_NOT_FOUND: false,
  WATCH_LIMIT: false,
  WATCH_NAME_TAKEN: false,
  STALE_WATCH: false,
  APPROVAL_GONE: false,
  ALREADY_DECIDED: false,
  ARGUMENTS_CHANGED: false,
  QUARANTINED: false,
  UNSAVED_CONFLICT: false,
  // Somebody wanted to be rid of it, and the database may refuse it again.
  DISCARDED: false,
  NOTHING_TO_DISCARD: false,
  TOKEN_NOT_FOUND: false,
};

const isKnown = (code: string): code is RejectionCode => Object.hasOwn(passes, code);

/** The success of a command's result. */
export type AcceptedOf<R> = Extract<R, { readonly durability: unknown }>;

/** Worth the same try again: no answer, or a server that cannot at the moment. */
const isPassing = (failure: Failure): boolean =>
  failure.type === 'Network' ||
  (failure.type === 'Server' && ['STORAGE_UNAVAILABLE', 'SHUTTING_DOWN'].includes(failure.code));

/** Together they last about half a minute: as long as a server takes to start again. */
const ATTEMPTS = 8;
const FIRST_PAUSE_MS = 400;
const LONGEST_PAUSE_MS = 8_000;

/** The key of a new intent, 128 random bits; `crypto.randomUUID` would need a secure context, and Weir may be served over plain HTTP. */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );

export function createIntent<R extends { readonly __typename: string }, I extends { readonly key: string }>(
  deps: { readonly transport: Transport; readonly pace: Pace },
  document: TadaDocumentNode<{ result: R }, { input: I }>,
  input: Omit<I, 'key'>,
  key: string = newKey(),
): Intent<AcceptedOf<R>> {
  const { transport, pace } = deps;
  const variables = { input: { ...input, key } as unknown as I };

  return {
    key,
    async run(onProgress, signal = new AbortController().signal) {
      let woken = new AbortController();
      const forget = transport.onConnected(() => {
        woken.abort();
      });
      let counted = 0;
      try {
        for (let attempt = 1; ; attempt += 1) {
          // Before the attempt: a connection that comes back while it fails ends the pause after it, too.
          woken = new AbortController();
          const trouble = await tryOnce(signal);
          if (trouble.type !== 'Again') return trouble;
          const { reason, failure } = trouble;
          const uncounted = failure?.type === 'Network' && transport.isDown();
          if (!uncounted) counted += 1;
          if (counted === ATTEMPTS || signal.aborted) return { type: 'Failed', message: reason, failure };
          const waitMs = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
          onProgress?.({ attempt: counted, of: uncounted ? null : ATTEMPTS, reason, waitMs });
          await pace.pause(waitMs, AbortSignal.any([woken.signal, signal]));
          if (signal.aborted) return { type: 'Failed', message: reason, failure };
        }
      } finally {
        forget();
      }
    },
  };

  async function tryOnce(
    signal: AbortSignal,
  ): Promise<
    | Outcome<AcceptedOf<R>>
    | { readonly type: 'Again'; readonly reason: string; readonly failure: Failure | null }
  > {
    const answer = await transport.request(document, variables, signal);
    if (!answer.ok) {
      const { failure } = answer;
      const message = failureText(failure);
      return isPassing(failure)
        ? { type: 'Again', reason: message, failure }
        : { type: 'Failed', message, failure };
    }
    const { result } = answer.data;
    if ('durability' in result) {
      if (result.durability === 'DURABLE') return { type: 'Accepted', payload: result as AcceptedOf<R> };
      const reason = 'The server has it, but the database does not answer yet, so it is not safe.';
      return { type: 'Again', reason, failure: null };
    }
    if (!('code' in result)) {
      const message = `The server answered with ${result.__typename}, which this page does not know. Reload it.`;
      return { type: 'Failed', message, failure: null };
    }
    const rejected = result as unknown as Rejected;
    const { code, message } = rejected;
    // A code of a newer server is treated as its schema asks.
    return (isKnown(code) ? passes[code] : rejected.retryable)
      ? { type: 'Again', reason: message, failure: null }
      : { type: 'Rejected', code, message, field: rejected.field ?? null, facts: factsOf(rejected) };
  }
}

function factsOf(rejected: Rejected): Facts {
  const {
    capacity,
    currentTurnId,
    author,
    queuedMessageIds,
    watermark,
    watchIds,
    name,
    currentVersion,
    currentCycleIds,
    decision,
    currentHash,
    turnStopped,
  } = rejected;
  return {
    ...(capacity !== undefined && { capacity }),
    ...(currentTurnId !== undefined && { currentTurnId }),
    ...(author && { author }),
    ...(queuedMessageIds && { queuedMessageIds }),
    ...(watermark !== undefined && { watermark }),
    ...(watchIds && { watchIds }),
    ...(name !== undefined && { name }),
    ...(currentVersion !== undefined && { currentVersion }),
    ...(currentCycleIds && { currentCycleIds }),
    ...(decision && { decision }),
    ...(currentHash !== undefined && { currentHash }),
    ...(turnStopped !== undefined && { turnStopped }),
  };
}
