/**
 * Owns: the end of a subscription. Leaving aborts the signal its source was given and ends the consumer's wait at
 * once, also while the source is in the middle of waiting: a bare async generator would first wait for its next value.
 */
export function untilLeft<T>(start: (signal: AbortSignal) => AsyncIterable<T>): AsyncGenerator<T> {
  const left = new AbortController();
  const done: IteratorResult<T> = { done: true, value: undefined };
  let source: AsyncIterator<T> | null = null;
  let wakeWaiting: (() => void) | null = null;

  const leave = (): Promise<IteratorResult<T>> => {
    if (!left.signal.aborted) {
      left.abort();
      wakeWaiting?.();
      // Not awaited: the source may take its time to unwind; what it says after we left interests nobody.
      source?.return?.().catch(() => undefined);
    }
    return Promise.resolve(done);
  };

  return {
    next: () =>
      new Promise((resolve, reject) => {
        if (left.signal.aborted) return resolve(done);
        wakeWaiting = () => {
          resolve(done);
        };
        source ??= start(left.signal)[Symbol.asyncIterator]();
        source.next().then(
          (result) => {
            wakeWaiting = null;
            if (result.done) left.abort();
            resolve(left.signal.aborted ? done : result);
          },
          (error: Error) => {
            wakeWaiting = null;
            if (left.signal.aborted) return resolve(done);
            left.abort();
            reject(error);
          },
        );
      }),
    return: leave,
    throw: leave,
    [Symbol.asyncIterator]() {
      return this;
    },
    async [Symbol.asyncDispose]() {
      await leave();
    },
  };
}
