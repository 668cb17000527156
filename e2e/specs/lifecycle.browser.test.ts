/**
 * Owns: what a person sees of a workstream as a whole in a browser: its name, closing and opening it, deleting it,
 * forking it, and the list of them. Does not own: what closing, deleting and forking mean (the core's and the server's
 * tests).
 */
import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
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
  transcript,
} from '../support/page.ts';

const world = createBrowserWorld();

const row = (page: Page, title: string): Locator =>
  list(page).getByRole('listitem').filter({ hasText: title });
const title = (page: Page, name: string): Locator => head(page).getByRole('heading', { name, exact: true });
const menu = (within: Locator, name: string): Locator => button(within, `Actions for ${name}`);

/** What stands in the transcript for one entry, with what can be done to it. */
const line = (entry: Locator): Locator => entry.locator('xpath=ancestor::*[@data-line]');

async function choose(within: Locator, name: string, item: string): Promise<void> {
  await menu(within, name).click();
  await within.page().getByRole('menuitem', { name: item, exact: true }).click();
}

it('renames a workstream in its header and in the list, and another tab shows it (D-27)', async () => {
  const { page, id } = await world.workstream('First name');
  const other = await world.open(`/w/${id}`);
  await sees(title(other, 'First name'));

  // By keyboard alone.
  await menu(head(page), 'First name').focus();
  await page.keyboard.press('Enter');
  expect(await hasFocus(page.getByRole('menuitem', { name: 'Rename' }))).toBe(true);
  await page.keyboard.press('Escape');
  await misses(page.getByRole('menu'));
  expect(await hasFocus(menu(head(page), 'First name'))).toBe(true);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  const field = head(page).getByRole('textbox', { name: 'Title' });
  expect(await hasFocus(field)).toBe(true);
  await page.keyboard.type('Second name');
  await page.keyboard.press('Enter');
  await sees(title(page, 'Second name'));
  await expect.poll(() => hasFocus(menu(head(page), 'Second name'))).toBe(true);
  await sees(title(other, 'Second name'));
  await sees(row(other, 'Second name'));
  await sees(transcript(other).getByText('Renamed to “Second name”', { exact: true }));

  await choose(row(other, 'Second name'), 'Second name', 'Rename');
  const there = list(other).getByRole('textbox', { name: 'Title' });
  await there.fill('Nothing of it');
  await there.press('Escape');
  await misses(there);
  expect(await hasFocus(menu(list(other), 'Second name'))).toBe(true);
  await choose(row(other, 'Second name'), 'Second name', 'Rename');
  await there.fill('Third name');
  await button(list(other), 'Save').click();
  await sees(title(page, 'Third name'));
});

it('closes a workstream in the middle of a turn, which can then be read and not written to, and opens it (D-23)', async () => {
  world.provider.script([{ stream: ['Half an ', { gate: 'never' }] }, { stream: ['Back again.'] }]);
  const { page } = await world.workstream('Put away');
  await asks(page, 'Go on for ever.', 'Half an');

  await choose(head(page), 'Put away', 'Close');
  await sees(page.getByText('Closed: it can be read, and opened again.'));
  await inState(page, 'Closed');
  await sees(answers(page).getByText('Half an'));
  await sees(transcript(page).getByText('Closed, by you', { exact: true }));
  expect(await message(page).isDisabled()).toBe(true);
  await sees(page.getByText('This workstream is closed. It can be read, and takes no messages.'));
  await misses(row(page, 'Put away'));
  await menu(head(page), 'Put away').click();
  expect(await page.getByRole('menuitem', { name: 'Rename' }).getAttribute('aria-disabled')).toBe('true');
  await page.keyboard.press('Escape');

  await button(page, 'Open').last().click();
  await inState(page, 'Idle');
  await misses(page.getByText('Closed: it can be read, and opened again.'));
  await sees(transcript(page).getByText('Opened again, by you', { exact: true }));
  await sees(row(page, 'Put away'));
  await say(page, 'And now?');
  await reads(answers(page).last(), 'Back again.');
});

it('deletes a workstream only when asked twice, and tells another tab what became of it (D-25)', async () => {
  const id = await world.api.create({ title: 'Not needed', workspace: world.folder('not-needed') });
  const page = await world.open(`/w/${id}`);
  const other = await world.open(`/w/${id}`);
  await message(other).fill('Half a thought');

  await choose(head(page), 'Not needed', 'Delete …');
  const dialog = page.getByRole('dialog', { name: 'Delete “Not needed”?' });
  await sees(dialog.getByText(/^Its whole history is deleted for good/));
  await sees(dialog.getByText(/^Files stay: a folder that was chosen for it is not touched/));
  await button(dialog, 'Keep it').click();
  await sees(title(page, 'Not needed'));

  await choose(head(page), 'Not needed', 'Delete …');
  await button(dialog, 'Delete it for good').click();
  await sees(page.getByRole('status').getByText('“Not needed” was deleted.', { exact: true }));
  expect(new URL(page.url()).hash).toBe('#/');
  expect(await hasFocus(button(page, 'Dismiss'))).toBe(true);
  await misses(row(page, 'Not needed'));

  await sees(other.getByRole('heading', { name: 'This workstream was deleted' }));
  expect(await other.getByLabel('What you had written and was not sent').inputValue()).toBe('Half a thought');
  await other.getByRole('link', { name: 'To the list' }).click();
  await misses(row(other, 'Not needed'));
});

it('forks at a message with what came before it, and says where it came from (D-20)', async () => {
  world.provider.script([{ stream: ['One.'] }, { stream: ['Two.'] }]);
  const { page, id } = await world.workstream('Source');
  await exchange(page, 'First?', 'One.');
  await say(page, 'Second?');
  await reads(answers(page).last(), 'Two.');
  await inState(page, 'Idle');

  await button(line(answers(page).first()), 'Fork from here').focus();
  await page.keyboard.press('Enter');
  await sees(title(page, 'Fork of Source'));
  await reads(answers(page), 'One.');
  expect(await messages(page).count()).toBe(1);
  await sees(transcript(page).getByText('Forked from “Source”. Files were not copied.'));
  expect(page.url()).not.toContain(id);

  await head(page).getByRole('link', { name: 'Source' }).click();
  await sees(title(page, 'Source'));
  expect(await answers(page).count()).toBe(2);

  await choose(row(page, 'Fork of Source'), 'Fork of Source', 'Fork');
  await sees(title(page, 'Fork of Source (2)'));
  await reads(answers(page), 'One.');
});

it('shows the open ones, the closed ones or all, and closes several at once (D-22, D-23)', async () => {
  const { page } = await world.workstream('Stays');
  for (const name of ['Goes one', 'Goes two'])
    await world.api.create({ title: name, workspace: world.folder(name) });
  await sees(row(page, 'Goes two'));

  await button(list(page), 'Select').click();
  expect(await button(list(page), 'Close 0').isDisabled()).toBe(true);
  for (const name of ['Goes one', 'Goes two'])
    await list(page)
      .getByRole('checkbox', { name: `Select ${name}` })
      .check();
  await button(list(page), 'Close 2').click();
  await sees(list(page).getByText('2 closed.', { exact: true }));
  expect(await hasFocus(button(list(page), 'Select'))).toBe(true);
  await misses(row(page, 'Goes one'));
  await sees(row(page, 'Stays'));
  await sees(button(list(page), 'Dismiss'));

  await button(list(page), 'Closed').click();
  await misses(list(page).getByText('2 closed.', { exact: true }));
  await sees(row(page, 'Goes one'));
  await sees(row(page, 'Goes two').getByText('Closed', { exact: true }));
  expect(await row(page, 'Stays').count()).toBe(0);
  await button(list(page), 'All').click();
  await sees(row(page, 'Stays'));
  await choose(row(page, 'Goes one'), 'Goes one', 'Open');
  await sees(row(page, 'Goes one').getByText('Idle', { exact: true }));
});
