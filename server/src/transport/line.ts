/**
 * Owns: that what is large waits for one another: how many are worked on at once, for one token and for all, and whose
 * turn it is. Does not own: what has to wait (`answers.ts`), or when an answer has been sent (`http.ts`, `websocket.ts`).
 *
 * The bounds of one operation do not hold many of them: 250 answers of 12 MB are 3 GB, and their reads are all that the
 * database has connections for.
 *
 * Invariants: of one token first come, first served, tokens in turn; who has left keeps no place in the line; a token
 * has at most `ofOne` places, each until its answer was sent.
 */
import { GraphQLError } from 'graphql';

/** What is had when one's turn has come. */
export interface Place {
  /** Nothing more is worked on: others need not wait for one who reads slowly. Its token does, or answers would pile up. */
  readonly made: () => void;
  /** The answer was sent, or never will be: the place is another's. */
  readonly sent: () => void;
}

/** Where to wait. */
export interface Line {
  /**
   * A place for this token. Rejects with the reason of `leave` when that aborts before, and when `longest` of the same
   * token wait already.
   */
  (token: string, leave: AbortSignal, longest: number): Promise<Place>;
}

/** Of the ten connections of the pool; those who come to feeds take four. */
const placesOfAll = 5;
const placesOfOne = 4;

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
  const placeOf = (name: string, token: Token): Place => {
    let [isMade, isSent] = [false, false];
    const made = (): void => {
      if (isMade) return;
      isMade = true;
      working -= 1;
      letGo();
    };
    return {
      made,
      sent: () => {
        if (isSent) return;
        isSent = true;
        made();
        token.held -= 1;
        forget(name, token);
        letGo();
      },
    };
  };

  return async (name, leave, longest) => {
    leave.throwIfAborted();
    const token = tokens.get(name) ?? { held: 0, waiting: new Set() };
    if (token.waiting.size >= longest)
      throw new GraphQLError(
        `${longest} operations of this token wait already. Try again after a moment, with fewer at once.`,
        { extensions: { code: 'TOO_MANY_OPERATIONS' } },
      );
    tokens.set(name, token);
    return new Promise<Place>((resolve, reject) => {
      const begin = (): void => {
        token.waiting.delete(begin);
        leave.removeEventListener('abort', giveUp);
        resolve(placeOf(name, token));
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
  };
}
