/**
 * Owns: what a page shows while its server is dead and when it is back: it says so, loses nothing, and goes on by
 * itself. Does not own: what the server recovers (`crash.test.ts`, `process.test.ts`).
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { lastMessage, type Step } from '../../server/test/support/scripted-provider.ts';
import { createBrowserWorld } from '../support/browser.ts';
import {
  answers,
  asks,
  button,
  call,
  head,
  inState,
  list,
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
  await asks(page, 'Tell me a story.', 'It was a dark');
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

it('asks the same questions after a restart, takes what was decided while it was away, and a decision on a page opened since (D-70, D-60)', async () => {
  const asks = (about: string, command: string): readonly Step[] => [
    {
      when: (body) => lastMessage(body).content === about,
      stream: [{ call: { name: 'shell', arguments: { command } } }],
    },
    {
      when: (body) => lastMessage(body).role === 'tool' && body.messages[1]?.content === about,
      stream: [`${about} Done.`],
    },
  ];
  world.provider.script([...asks('Run it.', 'echo once >> ran.txt'), ...asks('Run another.', 'echo later')]);
  const away = await world.workstream('Decided while it was away');
  const since = await world.workstream('Decided on a page opened since');
  await say(away.page, 'Run it.');
  await say(since.page, 'Run another.');
  const before = await Promise.all([away, since].map(({ id }) => world.api.questions(id)));

  await sees(question(away.page, 'shell'));
  await since.page.context().close();
  await world.kill();
  await sees(connection(away.page).getByText(/^Reconnecting/));
  await button(question(away.page, 'shell'), 'Approve').click();
  await sees(question(away.page, 'shell').getByText(/The server cannot be reached\.\s*Trying/));
  expect(existsSync(join(away.folder, 'ran.txt'))).toBe(false);

  await world.start();
  await reads(answers(away.page), 'Run it. Done.');
  await reads(connection(away.page), 'Connected');
  await sees(call(away.page, 'shell').getByText(/^Approved by you, /));
  await inState(away.page, 'Idle');
  expect(readFileSync(join(away.folder, 'ran.txt'), 'utf8')).toBe('once\n');

  const later = await world.open();
  await list(later)
    .getByRole('link', { name: /^Decided on a page opened since/ })
    .click();
  await button(question(later, 'shell'), 'Approve').click();
  await reads(answers(later), 'Run another. Done.');
  await inState(later, 'Idle');

  for (const [i, { id }] of [away, since].entries()) {
    const asked = (await world.api.history(id)).flatMap((e) => (e.kind === 'APPROVAL' ? [e.cycle.id] : []));
    expect([...new Set(asked)]).toEqual(before[i]?.map(({ cycleId }) => cycleId));
  }
});
