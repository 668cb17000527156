import { expect, test } from 'vitest';
import { createTestClock } from '../../support/clock.ts';
import { question, connect } from './harness.ts';

test('the scripted provider fails on a request nobody expected and says which', async () => {
  await using link = await connect();
  const { outcome } = await link.ask();
  expect(outcome).toMatchObject({ type: 'failed', kind: 'OVERLOADED' });
  expect(() => link.provider.assertDone()).toThrow(/unexpected request 1, last message: .*hello/);
});

test('the scripted provider fails on a step nobody asked for', async () => {
  await using link = await connect();
  link.provider.script([{ stream: ['a'] }, { stream: ['never asked'] }]);
  await link.ask();
  expect(() => link.provider.assertDone()).toThrow(/never asked for: .*never asked/);
});

test('the scripted provider answers by a function where the number of requests is not known', async () => {
  await using link = await connect();
  link.provider.respond((_, n) => ({ stream: [`answer ${n}`] }));
  expect((await link.ask()).text).toBe('answer 1');
  expect((await link.ask(question)).text).toBe('answer 2');
  expect(await link.provider.waitForRequest(2)).toMatchObject({ model: 'm1' });
  link.provider.assertDone();
});

test('the scripted provider gives up those who wait for what can no longer come', async () => {
  await using link = await connect();
  const waiting = link.provider.waitForRequest(1);
  const told = expect(waiting).rejects.toThrow('closed while waiting for: request 1');
  await link.provider.close();
  await told;
});

test('the test clock runs timers in order, those set by timers included, and none before its time', async () => {
  const clock = createTestClock(0);
  const ran: string[] = [];
  const note = (name: string) => () => void ran.push(`${name} at ${clock.now()}`);
  clock.after(20, note('b'));
  clock.after(10, () => {
    note('a')();
    void Promise.resolve().then(() => clock.after(5, note('c')));
  });
  const cancel = clock.after(12, note('canceled'));
  cancel();
  clock.after(21, note('late'));
  await clock.advance(20);
  expect(ran).toEqual(['a at 10', 'c at 15', 'b at 20']);
  expect([clock.now(), clock.pending]).toEqual([20, 1]);
});
