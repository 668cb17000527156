/**
 * Owns: that operations wait for one another: how many work at once, how many places a token has, and whose turn it
 * is. Does not own: what has to wait (`answers.ts` for reads, `app/services/in-line.ts` for commands), or when an answer
 * has been sent (`http.ts`, `websocket.ts`).
 *
 * The bounds of one operation do not hold many of them: 250 answers of 12 MB are 3 GB, and their reads are all that the
 * database has connections for.
 *
 * Invariants: of one token first come, first served, who has a place already before the others, and then what is urgent;
 * tokens in turn; who has left keeps no place in the line; a token has at most `ofOne` places, and in all of them together
 * `ofAll` work; between two that begin the event loop goes round, since a thousand that follow one another at once leave
 * nobody else heard.
 */
import { setImmediate } from 'node:timers';
import type { Access } from 'schema/services';
import type { Line } from '../ports/line.ts';
import { notAdmitted } from './access.ts';

/** Of the ten connections of the pool: five are for reads, four for commands, and one is left for what the server does itself. */
const workingOfAll = { reads: 5, commands: 4 } as const;
const placesOfOne = { reads: 4, commands: 3 } as const;

interface Waiting {
  readonly hasPlace: boolean;
  readonly urgent: boolean;
  readonly begin: () => void;
}
interface Token {
  places: number;
  readonly waiting: Set<Waiting>;
}

/** Of a process there is one of each. */
export const lineOf = (what: keyof typeof workingOfAll): Line =>
  createLine({ ofAll: workingOfAll[what], ofOne: placesOfOne[what] });

/** `ofAll` work at once, in `ofOne` places of each token. */
export function createLine({ ofAll, ofOne }: { readonly ofAll: number; readonly ofOne: number }): Line {
  /** In the order in which they have their next turn. */
  const tokens = new Map<string, Token>();
  let working = 0;

  const nextOf = ({ places, waiting }: Token): Waiting | undefined =>
    [...waiting].find(({ hasPlace }) => hasPlace) ??
    (places < ofOne ? ([...waiting].find(({ urgent }) => urgent) ?? [...waiting][0]) : undefined);

  let isDue = false;
  const letGo = (): void => {
    if (isDue || working >= ofAll || tokens.size === 0) return;
    isDue = true;
    setImmediate(() => {
      isDue = false;
      letOneGo();
    });
  };
  const letOneGo = (): void => {
    if (working >= ofAll) return;
    const next = [...tokens].find(([, token]) => nextOf(token));
    if (!next) return;
    const [name, token] = next;
    const one = nextOf(token)!;
    tokens.delete(name);
    tokens.set(name, token);
    token.waiting.delete(one);
    if (!one.hasPlace) token.places += 1;
    working += 1;
    one.begin();
    letGo();
  };
  const forget = (name: string, { places, waiting }: Token): void => {
    if (places === 0 && waiting.size === 0) tokens.delete(name);
  };

  const turn = (
    name: string,
    leave: AbortSignal,
    { hasPlace, urgent }: Pick<Waiting, 'hasPlace' | 'urgent'>,
    begun: () => void,
  ): Promise<void> =>
    new Promise((resolve, reject) => {
      leave.throwIfAborted();
      const token = tokens.get(name) ?? { places: 0, waiting: new Set() };
      tokens.set(name, token);
      const giveUp = (): void => {
        token.waiting.delete(one);
        forget(name, token);
        reject(leave.reason as Error);
      };
      const one: Waiting = {
        hasPlace,
        urgent,
        begin: () => {
          leave.removeEventListener('abort', giveUp);
          begun();
          resolve();
        },
      };
      token.waiting.add(one);
      leave.addEventListener('abort', giveUp, { once: true });
      letGo();
    });

  return async (name, leave, urgent = false) => {
    let [works, isFree] = [false, false];
    const begun = (): void => void (works = true);
    await turn(name, leave, { hasPlace: false, urgent }, begun);
    const rest = (): void => {
      if (!works) return;
      works = false;
      working -= 1;
      letGo();
    };
    return {
      rest,
      work: async (stillThere) => {
        if (!works) await turn(name, stillThere, { hasPlace: true, urgent }, begun);
      },
      free: () => {
        if (isFree) return;
        isFree = true;
        rest();
        const token = tokens.get(name)!;
        token.places -= 1;
        forget(name, token);
        letGo();
      },
    };
  };
}

/** The same; who waits in it is turned away when the token is revoked: nothing begins for it after that. */
export function unlessRevoked(line: Line, onRevoked: Access['onRevoked']): Line {
  return async (token, leave, urgent) => {
    const revoked = new AbortController();
    const forget = onRevoked(token, () => revoked.abort(notAdmitted()));
    try {
      return await line(token, AbortSignal.any([leave, revoked.signal]), urgent);
    } finally {
      forget();
    }
  };
}

/** Resolves when it is the turn of this token to have an operation looked at. Rejects as a line does. */
export type Turns = (token: string, leave: AbortSignal, urgent: boolean) => Promise<void>;

/** Where everything begins. */
export function createTurns(): Turns {
  const line = createLine({ ofAll: 1, ofOne: 1 });
  return async (token, leave, urgent) => (await line(token, leave, urgent)).free();
}
