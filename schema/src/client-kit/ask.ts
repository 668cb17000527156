/**
 * Owns: a query that is asked until it is answered, for what a page cannot do without.
 * Does not own: when to try again (`persist.ts`).
 */
import type { TadaDocumentNode } from 'gql.tada';
import { endOf } from './attempt.ts';
import type { Answer } from './failure.ts';
import { persist, type Pace, type Persistent } from './persist.ts';
import type { Transport } from './transport.ts';

/**
 * Calls `observe` with each failure and with the one answer that ends it; never after `stop`. A token that is not
 * accepted ends it too.
 */
export const ask = <R, V>(
  deps: { readonly transport: Transport; readonly pace: Pace },
  document: TadaDocumentNode<R, V>,
  variables: V,
  observe: (answer: Answer<R>) => void,
): Persistent =>
  persist(
    deps,
    async (_up, signal) => {
      const answer = await deps.transport.request(document, variables, signal);
      if (signal.aborted) return { type: 'again' };
      observe(answer);
      if (!answer.ok) return endOf(answer.failure);
      return { type: 'over', connection: { status: 'ENDED', reason: 'It is answered.' } };
    },
    () => undefined,
  );
