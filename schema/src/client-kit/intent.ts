/**
 * Owns: one thing a person wants of the server, carried through: a key made once, repeated with each attempt (D-60).
 * Does not own: what is wanted (`operations.ts`).
 *
 * Invariants: every attempt of an intent carries the same key and the same input; PENDING is not an acceptance (D-61);
 * attempts are bounded, and after the last one the intent can be run again, still under its key.
 */
import type { TadaDocumentNode } from 'gql.tada';
import { failureText, type Failure } from './failure.ts';
import type { Pace } from './persist.ts';
import type { Transport } from './transport.ts';

export type Outcome<Accepted> =
  | { readonly type: 'Accepted'; readonly payload: Accepted }
  /** A refusal changed nothing (D-11). `field` names the input that is wrong, when one is. */
  | {
      readonly type: 'Rejected';
      readonly code: string;
      readonly message: string;
      readonly field: string | null;
    }
  /** Not known to have happened. Running the intent again is safe: it happens once. */
  | { readonly type: 'Failed'; readonly message: string; readonly failure: Failure | null };

/** Said between two attempts. */
export interface Progress {
  readonly attempt: number;
  readonly of: number;
  readonly reason: string;
  readonly waitMs: number;
}

export interface Intent<Accepted> {
  readonly key: string;
  run(onProgress?: (progress: Progress) => void): Promise<Outcome<Accepted>>;
}

interface Rejected {
  readonly __typename: string;
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly field?: string;
}

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
    async run(onProgress) {
      for (let attempt = 1; ; attempt += 1) {
        const trouble = await tryOnce();
        if (trouble.type !== 'Again') return trouble;
        if (attempt === ATTEMPTS)
          return { type: 'Failed', message: trouble.reason, failure: trouble.failure };
        const waitMs = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
        onProgress?.({ attempt, of: ATTEMPTS, reason: trouble.reason, waitMs });
        await pace.pause(waitMs, new AbortController().signal);
      }
    },
  };

  async function tryOnce(): Promise<
    | Outcome<AcceptedOf<R>>
    | { readonly type: 'Again'; readonly reason: string; readonly failure: Failure | null }
  > {
    const answer = await transport.request(document, variables);
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
    const { code, message, retryable, field } = result as unknown as Rejected;
    return retryable
      ? { type: 'Again', reason: message, failure: null }
      : { type: 'Rejected', code, message, field: field ?? null };
  }
}
