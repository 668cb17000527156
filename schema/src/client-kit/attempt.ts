/**
 * Owns: what one attempt to have something of the server comes to.
 * Does not own: when the next one is (`persist.ts`), or what is asked for (`ask.ts`, `follow.ts`, `states.ts`).
 */
import type { TadaDocumentNode } from 'gql.tada';
import type { Failure } from './failure.ts';
import type { AttemptEnd } from './persist.ts';
import type { Transport } from './transport.ts';

/** What a failed attempt means for the next one. */
export const endOf = (failure: Failure): AttemptEnd =>
  failure.type === 'Unauthenticated'
    ? { type: 'over', connection: { status: 'SIGNED_OUT', reason: failure.message } }
    : { type: 'later', reason: failure.message };

/**
 * One subscription, until `next` says that it is at its end (null: go on), the signal aborts, or the server ends it;
 * `completed` is the reason to tell then.
 */
export const subscribed = <R, V>(
  { transport, signal }: { readonly transport: Transport; readonly signal: AbortSignal },
  document: TadaDocumentNode<R, V>,
  variables: V,
  next: (data: R) => AttemptEnd | null,
  completed: string,
): Promise<AttemptEnd> =>
  new Promise((resolve) => {
    const finish = (end: AttemptEnd) => {
      signal.removeEventListener('abort', abort);
      unsubscribe();
      resolve(end);
    };
    const abort = () => {
      finish({ type: 'again' });
    };
    signal.addEventListener('abort', abort);
    const unsubscribe = transport.subscribe(document, variables, {
      next: (data) => {
        const end = next(data);
        if (end) finish(end);
      },
      end: (failure) => {
        finish(failure ? endOf(failure) : { type: 'later', reason: completed });
      },
    });
    if (signal.aborted) abort();
  });
