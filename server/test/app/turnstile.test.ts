import { expect, it } from 'vitest';
import { createTurnstile } from '../../src/app/feed/turnstile.ts';
import { settled } from './support/world.ts';

/** A turnstile of two places; each query that was begun waits to be ended. */
function turnstileOfTwo() {
  const turnstile = createTurnstile(2);
  const begun: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const come = (name: string) => {
    const controller = new AbortController();
    const answer = turnstile(controller.signal)(() => {
      begun.push(name);
      return new Promise<string>((resolve, reject) => {
        ends.set(name, (error) => (error ? reject(error) : resolve(name)));
      });
    });
    answer.catch(() => undefined);
    return { answer, leave: () => controller.abort() };
  };
  const end = async (name: string, error?: Error) => {
    ends.get(name)!(error);
    await settled();
  };
  return { come, end, begun };
}

it('So many ask at once, the others when one has its answer or fails, first come, first served', async () => {
  const { come, end, begun } = turnstileOfTwo();
  const asking = ['a', 'b', 'c', 'd'].map(come);
  await settled();
  expect(begun).toEqual(['a', 'b']);
  await end('b', new Error('broken'));
  await expect(asking[1]!.answer).rejects.toThrow('broken');
  expect(begun).toEqual(['a', 'b', 'c']);
  await end('a');
  expect(await asking[0]!.answer).toBe('a');
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
});

it('Who leaves gives up its place at once, and asks nothing', async () => {
  const { come, end, begun } = turnstileOfTwo();
  const [a, , c, d] = ['a', 'b', 'c', 'd'].map(come);
  c!.leave();
  await expect(c!.answer).rejects.toMatchObject({ name: 'AbortError' });
  a!.leave();
  await end('a');
  await expect(a!.answer).rejects.toMatchObject({ name: 'AbortError' });
  expect(begun).toEqual(['a', 'b', 'd']);
  // In the very moment its turn comes.
  const e = come('e');
  void end('b');
  e.leave();
  await end('d');
  expect(await d!.answer).toBe('d');
  expect(begun).not.toContain('e');
  for (const name of ['f', 'g', 'h']) come(name);
  expect(begun).toEqual(['a', 'b', 'd', 'f', 'g']);
});
