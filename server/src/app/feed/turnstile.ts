/**
 * Owns: that those who come to a feed ask the database one after another, a few at a time: however many come, and
 * however soon they leave, commands find it free.
 *
 * Invariants: first come, first served; who has left asks nothing more and keeps no place in the queue.
 */

/** Asks the database for someone. Rejects once they have left. */
export type Ask = <T>(query: () => Promise<T>) => Promise<T>;

/** The way of one who comes; the signal tells that they have left. */
export type Turnstile = (signal: AbortSignal) => Ask;

/** Of the ten connections of the pool; searches may take three. */
const askingAtOnce = 4;

/** The one turnstile of a process: `places` ask at once, the others wait. */
export function createTurnstile(places: number = askingAtOnce): Turnstile {
  let free = places;
  const waiting = new Set<() => void>();

  const turn = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const go = (): void => {
        waiting.delete(go);
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        waiting.delete(go);
        reject(signal.reason as Error);
      };
      waiting.add(go);
      signal.addEventListener('abort', leave, { once: true });
    });

  return (signal) => async (query) => {
    signal.throwIfAborted();
    if (free > 0) free -= 1;
    else await turn(signal);
    try {
      signal.throwIfAborted();
      const answer = await query();
      signal.throwIfAborted();
      return answer;
    } finally {
      const [next] = waiting;
      if (next) next();
      else free += 1;
    }
  };
}
