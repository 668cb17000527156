import { describe, expect, it } from 'vitest';
import { untilLeft } from '../src/types/subscribe.ts';

/** A source that minds nothing: neither its signal nor `return` ends its wait. */
function deafSource() {
  let signal: AbortSignal | undefined;
  let returned = 0;
  const iterable: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise<never>(() => undefined),
      return: () => {
        returned++;
        return new Promise<never>(() => undefined);
      },
    }),
  };
  const start = (s: AbortSignal): AsyncIterable<number> => {
    signal = s;
    return iterable;
  };
  return { start, signal: () => signal, returned: () => returned };
}

const done = { done: true, value: undefined };

describe('leaving a subscription', () => {
  it('ends the wait of the consumer at once, even when the source does not mind', async () => {
    const source = deafSource();
    const subscription = untilLeft(source.start);
    const waiting = subscription.next();
    expect(await subscription.return(undefined)).toEqual(done);
    expect(await waiting).toEqual(done);
    expect(source.signal()?.aborted).toBe(true);
    expect(source.returned()).toBe(1);
  });

  it('before the first item never starts the source', async () => {
    const source = deafSource();
    const subscription = untilLeft(source.start);
    await subscription.return(undefined);
    expect(await subscription.next()).toEqual(done);
    expect(source.signal()).toBeUndefined();
  });

  it('twice returns the source once', async () => {
    const source = deafSource();
    const subscription = untilLeft(source.start);
    void subscription.next();
    await subscription.return(undefined);
    await subscription.return(undefined);
    expect(source.returned()).toBe(1);
  });

  it('is not needed after the source has ended or broken: its signal is aborted then, too', async () => {
    const signals: AbortSignal[] = [];
    const ended = untilLeft<number>(async function* (signal) {
      signals.push(signal);
      yield await Promise.resolve(1);
    });
    expect([await ended.next(), await ended.next(), await ended.next()]).toEqual([
      { done: false, value: 1 },
      done,
      done,
    ]);
    const broken = untilLeft<number>((signal) => {
      signals.push(signal);
      return {
        [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('broken')) }),
      };
    });
    await expect(broken.next()).rejects.toThrow('broken');
    expect(await broken.next()).toEqual(done);
    expect(signals.map((s) => s.aborted)).toEqual([true, true]);
  });
});
