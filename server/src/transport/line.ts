/**
 * Owns: that queries wait for one another: how many are worked on at once, for one token and for all, and whose turn it
 * is. Does not own: what is a query (`graphql.ts`), or when its answer has been sent (`http.ts`, `websocket.ts`).
 *
 * The bounds of one operation do not hold many of them: 250 answers of 12 MB are 3 GB, and their reads are all that the
 * database has connections for.
 *
 * Invariants: of one token first come, first served, tokens in turn; who has left keeps no place in the line; a token
 * has at most `ofOne` answers made or not yet sent.
 */
import { GraphQLError } from 'graphql';

/** Whose answers one connection takes, as far as the line needs to know. */
export interface Asker {
  /** Aborts when a query that still waits is not to begin any more; its reason is the answer. */
  readonly leave: AbortSignal;
  /** How many of the same token may wait when one more comes; whoever is bounded otherwise has no need of it. */
  readonly longestLine: number;
  /** Called once the answer is made; resolves when it was sent, or never will be. */
  readonly sent: () => Promise<void>;
}

/** Works for a query of this token when its turn has come. Rejects when it may not wait, and when it left before. */
export type Line = <T>(token: string, asker: Asker, work: () => Promise<T>) => Promise<T>;

/** Of the ten connections of the pool; those who come to feeds take four. */
const placesOfAll = 5;
const placesOfOne = 4;
/** For those whose operations nothing else counts. */
export const longestLine = 256;

interface Token {
  /** Answers in the making, and those not yet sent. */
  held: number;
  readonly waiting: Set<() => void>;
}

/** The one line of a process. */
export function createLine({ ofAll = placesOfAll, ofOne = placesOfOne } = {}): Line {
  /** In the order in which they have their next turn. */
  const tokens = new Map<string, Token>();
  let working = 0;

  const letGo = (): void => {
    while (working < ofAll) {
      const next = [...tokens].find(([, { held, waiting }]) => held < ofOne && waiting.size > 0);
      if (!next) return;
      const [name, token] = next;
      const [begin] = token.waiting;
      tokens.delete(name);
      tokens.set(name, token);
      token.held += 1;
      working += 1;
      begin!();
    }
  };
  const forget = (name: string, { held, waiting }: Token): void => {
    if (held === 0 && waiting.size === 0) tokens.delete(name);
  };

  return async (name, { leave, longestLine, sent }, work) => {
    leave.throwIfAborted();
    const token = tokens.get(name) ?? { held: 0, waiting: new Set() };
    if (token.waiting.size >= longestLine)
      throw new GraphQLError(
        `${longestLine} queries of this token wait already. Try again after a moment, with fewer at once.`,
        { extensions: { code: 'TOO_MANY_OPERATIONS' } },
      );
    tokens.set(name, token);
    await new Promise<void>((resolve, reject) => {
      const begin = (): void => {
        token.waiting.delete(begin);
        leave.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = (): void => {
        token.waiting.delete(begin);
        forget(name, token);
        reject(leave.reason as Error);
      };
      token.waiting.add(begin);
      leave.addEventListener('abort', giveUp, { once: true });
      letGo();
    });
    try {
      return await work();
    } finally {
      // Others need not wait for one who reads slowly; the token does, or its answers would pile up.
      working -= 1;
      void sent().then(() => {
        token.held -= 1;
        forget(name, token);
        letGo();
      });
      letGo();
    }
  };
}
