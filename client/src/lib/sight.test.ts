import { expect, it } from 'vitest';
import { whileSeen, type Looking } from './sight.ts';

/** A page whose clock, whose sight and whose answers the test is. */
function open(restMs = () => 5_000) {
  let hidden = false;
  let shown: () => void = () => undefined;
  let timer: { readonly ms: number; readonly run: () => void } | null = null;
  const answers: (() => void)[] = [];
  const looking: Looking = whileSeen(restMs, () => new Promise<void>((answer) => answers.push(answer)), {
    hidden: () => hidden,
    onShown: (callback) => {
      shown = callback;
      return () => (shown = () => undefined);
    },
    after: (ms, run) => {
      timer = { ms, run };
      return () => (timer = null);
    },
  });
  return {
    looking,
    asked: () => answers.length,
    answer: async () => {
      answers.at(-1)?.();
      await Promise.resolve();
      await Promise.resolve();
    },
    waits: () => timer?.ms ?? null,
    pass: () => {
      timer?.run();
    },
    hide: (is: boolean) => {
      hidden = is;
      shown();
    },
  };
}

it('asks at once, and again so long after the answer', async () => {
  const page = open();
  expect([page.asked(), page.waits()]).toEqual([1, null]);
  await page.answer();
  expect([page.asked(), page.waits()]).toEqual([1, 5_000]);
  page.pass();
  expect(page.asked()).toBe(2);
});

it('rests as long as the last answer calls for', async () => {
  let rest = 5_000;
  const page = open(() => rest);
  rest = 1_000;
  await page.answer();
  expect(page.waits()).toBe(1_000);
});

it('asks nothing while nobody sees it, and at once when somebody does', async () => {
  const page = open();
  await page.answer();
  page.hide(true);
  page.pass();
  expect(page.asked()).toBe(1);
  page.hide(false);
  expect(page.asked()).toBe(2);
});

it('asks once more when it is told to while it asks, for that may be answered as it was before', async () => {
  const page = open();
  page.looking.now();
  page.looking.now();
  expect(page.asked()).toBe(1);
  await page.answer();
  expect(page.asked()).toBe(2);
  await page.answer();
  expect(page.asked()).toBe(2);
});

it('asks no more when it is stopped, also when the answer comes after that', async () => {
  const page = open();
  page.looking.stop();
  await page.answer();
  page.looking.now();
  page.hide(false);
  expect([page.asked(), page.waits()]).toEqual([1, null]);
});
