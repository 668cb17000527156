/**
 * Owns: which tokens were found good lately, so that their holders get in while the database does not answer.
 * Does not own: whether a token is good (the store decides), or what tokens are for (`tokens.ts`).
 *
 * Invariants: only what the store has found is remembered, under the token's hash; a revocation in this process is
 * never outlived, not even by an answer of the store that was on its way; one question per token is open at a time.
 */
import type { Viewer } from 'schema/model';
import type { Clock } from '../../ports/clock.ts';
import { whenAway } from '../../ports/storage-unavailable.ts';
import { within } from '../within.ts';

/** How long the store is not asked again, ms; so long a token lives on that another process revoked. */
const freshMs = 5_000;
/** How long the store may take to answer about a token that is remembered, ms. */
const patienceMs = 250;
/** How long a token is good without an answer of the store, ms. */
const trustedMs = 60 * 60 * 1_000;
const maxTokens = 1_000;

export interface RememberedTokens {
  /** The viewer of the token with this hash, or null. Rejects when the store is away and nothing is remembered. */
  viewerOf(hash: string): Promise<Viewer | null>;
  /** What is remembered of a token; the store is asked about it next time. */
  forget(tokenId: string): void;
  /** It never comes in again. */
  revoke(tokenId: string): void;
}

interface Known {
  readonly viewer: Viewer;
  readonly at: number;
}

export function rememberTokens({
  clock,
  find,
  onGone,
}: {
  readonly clock: Clock;
  readonly find: (hash: string) => Promise<Viewer | null>;
  /** The store does not know a token any more that it knew: somebody else revoked it. */
  readonly onGone: (tokenId: string) => void;
}): RememberedTokens {
  const known = new Map<string, Known>();
  const asking = new Map<string, Promise<Viewer | null>>();
  const revoked = new Set<string>();

  const ask = async (hash: string): Promise<Viewer | null> => {
    const found = await find(hash);
    const before = known.get(hash);
    known.delete(hash);
    if (!found || revoked.has(found.tokenId)) {
      if (before) onGone(before.viewer.tokenId);
      return null;
    }
    known.set(hash, { viewer: found, at: clock.now() });
    if (known.size > maxTokens) known.delete(known.keys().next().value!);
    return found;
  };
  const askOnce = (hash: string): Promise<Viewer | null> => {
    const open = asking.get(hash);
    if (open) return open;
    const answer = ask(hash).finally(() => asking.delete(hash));
    asking.set(hash, answer);
    return answer;
  };
  const forget = (tokenId: string): void => {
    for (const [hash, { viewer }] of known) if (viewer.tokenId === tokenId) known.delete(hash);
  };

  return {
    async viewerOf(hash) {
      const age = clock.now() - (known.get(hash)?.at ?? -Infinity);
      if (age < freshMs) return known.get(hash)!.viewer;
      const answer = askOnce(hash);
      if (age >= trustedMs) return answer;
      const told = await within(
        clock,
        patienceMs,
        answer.then((viewer) => ({ viewer })).catch(whenAway(null)),
      );
      // Looked up again: it may have been forgotten while we waited.
      return told ? told.viewer : (known.get(hash)?.viewer ?? answer);
    },
    forget,
    revoke(tokenId) {
      revoked.add(tokenId);
      forget(tokenId);
    },
  };
}
