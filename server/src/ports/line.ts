/**
 * Owns: what it is to wait for one's turn at what all share, one token after another. Does not own: how that is kept
 * (`transport/line.ts`).
 */

/** What is had when one's turn has come, to work in. A token has few, so it bounds what it holds in memory. */
export interface Place {
  /** Nothing is read or made for now: another works. */
  readonly rest: () => void;
  /** Resolves when it is its turn to work again. Rejects as a line does. */
  readonly work: (leave: AbortSignal) => Promise<void>;
  /** Nothing of it is in memory any more: the place is another's. */
  readonly free: () => void;
}

/**
 * Where to wait: resolves with a place of this token. Rejects with the reason of `leave` when that aborts before. `urgent`: before
 * what else of its token waits.
 */
export type Line = (tokenId: string, leave: AbortSignal, urgent?: boolean) => Promise<Place>;
