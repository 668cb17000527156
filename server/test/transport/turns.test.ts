/** Whose turn it is in the line of a process, in the order in which it comes. */
import { expect, it } from 'vitest';
import type { Place } from '../../src/ports/line.ts';
import { createLine } from '../../src/transport/line.ts';

/** The event loop went round once. */
const round = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
/** Whoever can begin has: one a round, and here are no more than six. */
const settled = async (): Promise<void> => {
  for (let i = 0; i < 7; i++) await round();
};

/** A line in which `ofAll` work at once, in `ofOne` places of each token. Who comes is named by their token and a number. */
function open(ofAll: number, ofOne: number) {
  const line = createLine({ ofAll, ofOne });
  const begun: string[] = [];
  const places = new Map<string, Place>();
  const stays = new AbortController().signal;
  return {
    begun,
    come(name: string): { readonly answer: Promise<void>; readonly leave: () => void } {
      const controller = new AbortController();
      const answer = line(name[0]!, controller.signal).then((place) => {
        begun.push(name);
        places.set(name, place);
      });
      answer.catch(() => undefined);
      return { answer, leave: () => controller.abort() };
    },
    workAgain: (name: string) => {
      void places
        .get(name)!
        .work(stays)
        .then(() => begun.push(`${name} again`));
    },
    rest: async (name: string) => (places.get(name)!.rest(), await settled()),
    free: async (name: string) => (places.get(name)!.free(), await settled()),
  };
}

it('tokens have it in turn, however many of one wait, and one token first come, first served', async () => {
  const { come, begun, free } = open(2, 2);
  for (const name of ['a1', 'a2', 'a3', 'a4']) come(name);
  await settled();
  expect(begun).toEqual(['a1', 'a2']);
  for (const name of ['b1', 'b2']) come(name);
  for (const name of ['a1', 'a2', 'a3', 'a4']) await free(name);
  expect(begun).toEqual(['a1', 'a2', 'a3', 'b1', 'a4', 'b2']);
});

it('a token has so many places and no more, also while others would have room for it', async () => {
  const { come, begun, rest, free } = open(3, 2);
  for (const name of ['a1', 'a2', 'a3']) come(name);
  await settled();
  come('b1');
  await settled();
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  await rest('a1');
  expect(begun).not.toContain('a3');
  await free('a1');
  await free('a1');
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3']);
  come('a4');
  await settled();
  expect(begun).not.toContain('a4');
});

it('who rests lets others work, keeps the place, and works in it again before others of the token begin', async () => {
  const { come, begun, rest, workAgain } = open(1, 3);
  for (const name of ['a1', 'a2']) come(name);
  await settled();
  await rest('a1');
  for (const name of ['b1', 'a3']) come(name);
  expect(begun).toEqual(['a1', 'a2']);
  workAgain('a1');
  await rest('a2');
  expect(begun).toEqual(['a1', 'a2', 'a1 again']);
  await rest('a1');
  expect(begun).toEqual(['a1', 'a2', 'a1 again', 'b1']);
  await rest('b1');
  expect(begun).toEqual(['a1', 'a2', 'a1 again', 'b1', 'a3']);
});

it('who leaves gives up the wait at once, and takes nothing', async () => {
  const { come, begun, free } = open(1, 1);
  const [, second] = ['a1', 'a2', 'a3'].map(come);
  await settled();
  second!.leave();
  await expect(second!.answer).rejects.toMatchObject({ name: 'AbortError' });
  await free('a1');
  expect(begun).toEqual(['a1', 'a3']);
  // Nothing is left of them.
  await free('a3');
  come('b1');
  await settled();
  expect(begun).toEqual(['a1', 'a3', 'b1']);
});

it('one begins in a round of the event loop, the tokens in turn also when nobody waits for a place', async () => {
  const { come, begun } = open(Infinity, Infinity);
  for (const name of ['a1', 'a2', 'a3', 'b1']) come(name);
  const rounds: string[][] = [];
  for (let i = 0; i < 4; i++) {
    await round();
    rounds.push([...begun]);
  }
  expect(rounds).toEqual([['a1'], ['a1', 'b1'], ['a1', 'b1', 'a2'], ['a1', 'b1', 'a2', 'a3']]);
});
