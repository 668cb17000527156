import type { Answer, Failure, Model } from 'schema/client-kit';
import { expect, it, vi } from 'vitest';
import type { Api } from '../../lib/api.svelte.ts';
import { Models } from './models.svelte.ts';

type Told = Answer<{
  readonly models: readonly Model[];
  readonly server: { readonly warnings: readonly string[] };
}>;

const warned = (warnings: readonly string[], ...aliases: string[]): Told => ({
  ok: true,
  data: { models: aliases.map((alias) => ({ alias }) as Model), server: { warnings } },
});
const named = (...aliases: string[]): Told => warned([], ...aliases);
const lost: Failure = { type: 'Network', message: 'The server cannot be reached.' };

/** A page whose clock, whose sight and whose server the test is. */
function open() {
  let now = 0;
  let hidden = false;
  let timers: { readonly at: number; readonly run: () => void }[] = [];
  const shown = new Set<() => void>();
  const answers: ((told: Told) => void)[] = [];
  const api = {
    client: { request: () => new Promise<Told>((resolve) => answers.push(resolve)) },
    explain: (failure: Failure) => (failure.type === 'Network' ? failure.message : ''),
  } as unknown as Api;
  const models = new Models(api, {
    hidden: () => hidden,
    onShown: (callback) => {
      shown.add(callback);
      return () => shown.delete(callback);
    },
    after: (ms, run) => {
      const timer = { at: now + ms, run };
      timers.push(timer);
      return () => (timers = timers.filter((other) => other !== timer));
    },
  });
  return {
    models,
    asked: () => answers.length,
    /** Answers the last question, and waits until that is told. */
    async answer(told: Told) {
      const before = [models.list, models.failure];
      answers.at(-1)!(told);
      await vi.waitUntil(() => models.list !== before[0] || models.failure !== before[1]);
      await Promise.resolve();
    },
    pass(ms: number) {
      now += ms;
      const due = timers.filter(({ at }) => at <= now);
      timers = timers.filter(({ at }) => at > now);
      for (const { run } of due) run();
    },
    show(visible: boolean) {
      hidden = !visible;
      for (const callback of shown) callback();
    },
  };
}

it('asks at once and then every 5 s while somebody watches, and not when nobody does any more', async () => {
  const { models, asked, answer, pass } = open();
  const stop = models.watch();
  expect(asked()).toBe(1);
  await answer(named('main'));
  expect(models.list?.map(({ alias }) => alias)).toEqual(['main']);
  pass(4_999);
  expect(asked()).toBe(1);
  pass(1);
  expect(asked()).toBe(2);
  await answer(named('main', 'spare'));
  stop();
  pass(60_000);
  expect(asked()).toBe(2);
  expect(models.lacks('spare')).toBe(false);
  expect(models.lacks('gone')).toBe(true);
});

it('asks nothing while the page is hidden, and at once when it is seen again, but never sooner than after 5 s', async () => {
  const { models, asked, answer, pass, show } = open();
  models.watch();
  await answer(named('main'));
  show(false);
  pass(20_000);
  expect(asked()).toBe(1);
  show(true);
  expect(asked()).toBe(2);
  await answer(named('main'));
  show(false);
  show(true);
  pass(4_999);
  expect(asked()).toBe(2);
});

it('asks once for two who watch, as long as one of them does, and not at once for one who comes back', async () => {
  const { models, asked, answer, pass } = open();
  const stops = [models.watch(), models.watch()];
  expect(asked()).toBe(1);
  await answer(named('main'));
  stops[0]!();
  stops[0]!();
  pass(5_000);
  expect(asked()).toBe(2);
  stops[1]!();
  models.watch();
  expect(asked()).toBe(2);
});

it('brings the warnings of the server with the models, each once, and takes back one that is over (broke: they stayed as they were when the page was opened)', async () => {
  const { models, answer, pass } = open();
  models.watch();
  await answer(named('main'));
  expect(models.warnings).toEqual([]);
  pass(5_000);
  await answer(warned(['The file has faults.', 'It runs as root.', 'The file has faults.'], 'main'));
  expect(models.warnings).toEqual(['The file has faults.', 'It runs as root.']);
  pass(5_000);
  await answer({ ok: false, failure: lost });
  expect(models.warnings).toHaveLength(2);
  pass(5_000);
  await answer(named('main'));
  expect(models.warnings).toEqual([]);
});

it('does not ask again while it waits for an answer', () => {
  const { models, asked, pass } = open();
  models.watch();
  pass(5_000);
  pass(5_000);
  expect(asked()).toBe(1);
});

it('asks once more for all who want to know while it waits, since what comes may be from before (broke: it was dropped)', async () => {
  const { models, asked, answer } = open();
  const first = models.refresh();
  const later = Promise.all([models.refresh(), models.refresh()]);
  expect(asked()).toBe(1);
  await answer(named('before'));
  await vi.waitUntil(() => asked() === 2);
  await answer(named('after'));
  await Promise.all([first, later]);
  expect(models.of('after')).not.toBeNull();
  expect(asked()).toBe(2);
  void models.refresh();
  expect(asked()).toBe(3);
});

it('keeps what was told last when the server cannot be reached, says why, and takes that back', async () => {
  const { models, answer, pass } = open();
  expect(models.lacks('main')).toBe(false);
  models.watch();
  await answer(named('main'));
  pass(5_000);
  await answer({ ok: false, failure: lost });
  expect(models.failure).toBe('The server cannot be reached.');
  expect(models.of('main')).not.toBeNull();
  pass(5_000);
  await answer(named('main'));
  expect(models.failure).toBeNull();
});
