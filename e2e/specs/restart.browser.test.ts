/**
 * Owns: what a page shows while its server is dead and when it is back: it says so, loses nothing, and goes on by
 * itself. Does not own: what the server recovers (`crash.test.ts`, `process.test.ts`).
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { lastMessage } from '../../server/test/support/scripted-provider.ts';
import { createBrowserWorld } from '../support/browser.ts';
import {
  answers,
  button,
  call,
  head,
  inState,
  messages,
  question,
  reads,
  say,
  sees,
} from '../support/page.ts';

const world = createBrowserWorld();

const connection = (page: Page) => head(page).getByRole('status', { name: 'Connection' });

it('says that the server is gone, comes back by itself, and carries an answer on that was cut in mid-stream (D-70)', async () => {
  world.provider.script([
    { stream: ['It was a dark ', { gate: 'never' }, 'and stormy night.'] },
    { when: (body) => lastMessage(body).content === 'Tell me a story.', stream: ['Once upon a time.'] },
  ]);
  const { page } = await world.workstream('Killed in mid-stream');
  await say(page, 'Tell me a story.');
  await reads(answers(page), 'It was a dark');
  await reads(connection(page), 'Connected');

  await world.kill();
  await sees(connection(page).getByText(/^Reconnecting/));
  expect(await messages(page).count()).toBe(1);
  await reads(answers(page), 'It was a dark');

  await world.start();
  await reads(answers(page), 'Once upon a time.');
  await reads(connection(page), 'Connected');
  await sees(page.getByText('The server restarted during the answer; the model is asked again.'));
  await inState(page, 'Idle');
  expect(await messages(page).count()).toBe(1);
  await page.reload();
  await reads(answers(page), 'Once upon a time.');
});

it('asks the same question after a restart, and what is decided while the server is away lands when it is back (D-70, D-60)', async () => {
  world.provider.script([
    {
      stream: [
        'I need to run this. ',
        { call: { name: 'shell', arguments: { command: 'echo once >> ran.txt' } } },
      ],
    },
    { stream: ['It ran once.'] },
  ]);
  const { page, id, folder } = await world.workstream('Killed while it asks');
  await say(page, 'Run it.');
  await sees(question(page, 'shell'));
  const before = await world.api.questions(id);

  await world.kill();
  await sees(connection(page).getByText(/^Reconnecting/));
  await button(question(page, 'shell'), 'Approve').click();
  await sees(question(page, 'shell').getByText(/^The server cannot be reached\. Trying again/));
  expect(existsSync(join(folder, 'ran.txt'))).toBe(false);

  await world.start();
  await reads(answers(page).nth(1), 'It ran once.');
  await sees(call(page, 'shell').getByText(/^Approved by you, /));
  await reads(call(page, 'shell').getByLabel('Result'), '(no output) [exit code 0]');
  await inState(page, 'Idle');
  await reads(connection(page), 'Connected');
  const { view } = await world.api.snapshot(id);
  expect(view.projection.cycles).toEqual([]);
  const decided = (await world.api.history(id)).flatMap((e) => (e.kind === 'APPROVAL' ? [e.cycle] : []));
  expect(new Set(decided.map((cycle) => cycle.id))).toEqual(new Set([before[0]!.cycleId]));
});

it('still has an open question on a page that is opened after a restart, and takes the answer', async () => {
  world.provider.script([
    { stream: [{ call: { name: 'shell', arguments: { command: 'echo later' } } }] },
    { stream: ['Answered later.'] },
  ]);
  const { page, id } = await world.workstream('Asked before, answered after');
  await say(page, 'Ask.');
  await sees(question(page, 'shell'));
  const before = await world.api.questions(id);
  await world.kill();
  await page.context().close();
  await world.start();
  expect(await world.api.questions(id)).toEqual(before);
  const later = await world.open();
  await later.getByRole('link', { name: /Asked before, answered after/ }).click();
  await button(question(later, 'shell'), 'Approve').click();
  await reads(answers(later), 'Answered later.');
  await inState(later, 'Idle');
});
