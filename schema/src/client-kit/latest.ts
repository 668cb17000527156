/**
 * Owns: reading at one's own pace what changes at its own: an async iterable over the newest state, never a backlog.
 * Does not own: what changes (`follow.ts`).
 *
 * Invariants: each iterator begins its own observation with its first `next` and ends it with `return`, with the last
 * state there is, or when the signal aborts, whichever is first; a `next` that waits is answered by the end, too.
 */

export interface Source<State, Value> {
  /** Calls back with each new state until the returned function is called. */
  observe(callback: (state: State) => void): () => void;
  /** True when no state follows this one. */
  isLast(state: State): boolean;
  /** What a state has to give to one iterator; undefined: nothing, or nothing more. */
  taker(): (state: State) => Value | undefined;
}

export const latest = <State, Value>(
  { observe, isLast, taker }: Source<State, Value>,
  signal?: AbortSignal,
): AsyncIterable<Value> => ({
  [Symbol.asyncIterator](): AsyncIterator<Value, undefined> {
    const take = taker();
    const waiting: ((result: IteratorResult<Value, undefined>) => void)[] = [];
    let newest: { readonly state: State } | null = null;
    let stop: (() => void) | null = null;
    let begun = false;
    let over = false;

    const end = () => {
      over = true;
      signal?.removeEventListener('abort', end);
      stop?.();
      stop = null;
      for (const resolve of waiting.splice(0)) resolve({ done: true, value: undefined });
    };
    const answer = () => {
      while (!over && waiting.length > 0 && newest) {
        const { state } = newest;
        const value = take(state);
        if (value !== undefined) waiting.shift()?.({ done: false, value });
        else if (isLast(state)) end();
        else return;
      }
    };
    const begin = () => {
      begun = true;
      if (signal?.aborted) {
        end();
        return;
      }
      signal?.addEventListener('abort', end);
      const stopObserving = observe((state) => {
        newest = { state };
        answer();
      });
      // The first state may have been the last one.
      if (over) stopObserving();
      else stop = stopObserving;
    };

    return {
      next: () =>
        new Promise((resolve) => {
          if (over) {
            resolve({ done: true, value: undefined });
            return;
          }
          waiting.push(resolve);
          if (begun) answer();
          else begin();
        }),
      return: () => {
        end();
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  },
});
