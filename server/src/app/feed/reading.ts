/** Owns: that who has left asks the database nothing more. Does not own: whose turn it is to ask (the caller's `Reading`). */
import type { Reading } from 'schema/services';

/** For callers whom nobody waits beside. */
export const freely: Reading = {
  ask: (query) => query(),
  aside: (work) => work(),
  letGo: () => undefined,
};

/** As `reading`; asking rejects once `signal` has aborted. */
export const whileHere = (reading: Reading, signal: AbortSignal): Reading => ({
  ...reading,
  ask: async (query, isLarge) => {
    signal.throwIfAborted();
    const answer = await reading.ask(() => {
      signal.throwIfAborted();
      return query();
    }, isLarge);
    signal.throwIfAborted();
    return answer;
  },
});
