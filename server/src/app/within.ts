/** Owns: waiting for something no longer than it is worth. */
import type { Clock } from '../ports/clock.ts';

/** What the promise gives, or null when it takes longer. */
export async function within<T>(clock: Clock, ms: number, promise: Promise<T>): Promise<T | null> {
  let cancel = (): void => undefined;
  const late = new Promise<null>((resolve) => {
    cancel = clock.after(ms, () => resolve(null));
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    cancel();
  }
}
