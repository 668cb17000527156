/**
 * Owns: what a person sees while the database does not take what was accepted, and does about it: that it is away and
 * back, that it refuses. Does not own: what the server does then (its own tests).
 */
import type { Locator, Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { run, startServer, withDatabase } from '../../server/test/support/database.ts';
import { createBrowserWorld } from '../support/browser.ts';
import {
  answers,
  asks,
  button,
  exchange,
  hasFocus,
  head,
  inState,
  list,
  message,
  messages,
  misses,
  reads,
  say,
  sees,
} from '../support/page.ts';

const database = await startServer();
const name = `weir_saving_${process.pid}`;
await run(database.url, `create database ${name}`);
const sql = (text: string): Promise<void> => run(withDatabase(database.url, name), text);
const world = createBrowserWorld({ server: { databaseUrl: withDatabase(database.url, name) } });
afterAll(async () => {
  await run(database.url, `drop database ${name} with (force)`);
  await database.stop();
});

/** Does this while the database refuses every further entry. */
async function whileRefusing(work: () => Promise<void>): Promise<void> {
  await sql(`alter table entry add constraint no_more check (revision < 0) not valid`);
  try {
    await work();
  } finally {
    await sql(`alter table entry drop constraint no_more`);
  }
}

const unsaved = (page: Page): Locator => page.getByRole('alert').filter({ hasText: /^\s*Not saved yet\./ });

it('says on the page, in the row and for the server that nothing is saved while the database is away, and no more when it is back (D-50)', async () => {
  world.provider.script([{ stream: ['Heard. ', { gate: 'away' }, 'And saved.'] }]);
  const { page } = await world.workstream('Away');
  const other = await world.open('/server');
  await asks(page, 'Listen.', 'Heard.');
  await reads(head(page).getByRole('status', { name: 'Connection' }), 'Connected');
  await reads(other.getByRole('definition').nth(3), 'All is saved');
  await run(database.url, `alter database ${name} allow_connections false`);
  await run(database.url, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
  try {
    world.provider.release('away');
    await sees(unsaved(page));
    await sees(page.getByText(/^(?:Next try in \d+ s\.|Trying again …|It tries again soon\.)$/));
    await sees(list(page).getByRole('link', { name: /Away.*Not saved yet/s }));
    await sees(unsaved(other));
    await reads(answers(page), 'Heard. And saved. Not saved yet.');
  } finally {
    await run(database.url, `alter database ${name} allow_connections true`);
  }
  await misses(unsaved(page));
  await misses(unsaved(other));
  await misses(list(page).getByText('Not saved yet'));
  await reads(answers(page), 'Heard. And saved.');
  await inState(page, 'Idle');
});

it('says what the database refuses, and takes it away only when told twice, with how much that is (D-51)', async () => {
  world.provider.script([{ stream: ['Kept.'] }, { stream: ['Goes on.'] }]);
  const { page } = await world.workstream('Refused by the database');
  await exchange(page, 'Keep this.', 'Kept.');
  await whileRefusing(async () => {
    await say(page, 'And this?');
    await sees(page.getByRole('alert').filter({ hasText: /^\s*Cannot be saved\./ }));
    await sees(list(page).getByText('Cannot be saved'));
  });
  const discard = button(page, 'Discard what could not be saved');
  await discard.click();
  const dialog = page.getByRole('dialog', { name: 'Discard what could not be saved?' });
  await sees(
    dialog.getByText(
      /^(?:One entry|\d+ entries) that you see here (?:was|were) never saved and would vanish/,
    ),
  );
  await button(dialog, 'Keep it for now').click();
  expect(await hasFocus(discard)).toBe(true);
  await discard.click();
  await dialog.getByRole('button', { name: /^Discard (?:one entry|\d+ entries)$/ }).click();
  await sees(page.getByText(/that the database refused to store (?:was|were) discarded by/));
  await misses(page.getByRole('alert').filter({ hasText: 'Cannot be saved' }));
  await expect.poll(() => hasFocus(message(page))).toBe(true);
  // It was discarded with the rest: it comes back to who wrote it, to be sent by whoever still wants it.
  await expect.poll(() => message(page).inputValue()).toBe('And this?');
  await message(page).press('Enter');
  await reads(answers(page).nth(1), 'Goes on.');
  await inState(page, 'Idle');
  expect(await messages(page).count()).toBe(2);
  await page.reload();
  await reads(answers(page).nth(1), 'Goes on.');
  expect(world.provider.requests).toHaveLength(2);
});

it('closes of several those that can be closed, and says at the others why not (D-23, D-51)', async () => {
  world.provider.script([{ stream: ['Kept.'] }]);
  const { page } = await world.workstream('Cannot be put away');
  await world.api.create({ title: 'Can be put away', workspace: world.folder('can-be-put-away') });
  await exchange(page, 'Keep this.', 'Kept.');
  await whileRefusing(async () => {
    await say(page, 'And this?');
    await sees(list(page).getByText('Cannot be saved'));
  });

  await button(list(page), 'Select').click();
  for (const title of ['Cannot be put away', 'Can be put away'])
    await list(page)
      .getByRole('checkbox', { name: `Select ${title}` })
      .check();
  await button(list(page), 'Close 2').click();
  await sees(list(page).getByText('1 closed, 1 not: the reason stands at each.'));
  const left = list(page).getByRole('listitem').filter({ hasText: 'Cannot be put away' });
  await sees(left.getByRole('alert').filter({ hasText: 'discard' }));
  expect(await left.getByRole('checkbox').isChecked()).toBe(true);
  await misses(list(page).getByRole('listitem').filter({ hasText: 'Can be put away' }));

  await button(page, 'Discard what could not be saved').click();
  await page.getByRole('button', { name: /^Discard (?:one entry|\d+ entries)$/ }).click();
  await misses(head(page).getByRole('alert'));
  await misses(left.getByRole('alert'));
});
