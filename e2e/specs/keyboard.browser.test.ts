/**
 * Owns: going through the client by keyboard alone: where the keyboard is after another page is shown or what it was on
 * goes away, and that a held key presses once.
 * Does not own: what the keys of the single parts do (their own specs).
 */
import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { createBrowserWorld } from '../support/browser.ts';
import {
  answers,
  button,
  hasFocus,
  head,
  inState,
  message,
  misses,
  question,
  say,
  sees,
  transcript,
} from '../support/page.ts';

const world = createBrowserWorld({ model: 'demo' });

const list = (page: Page): Locator => page.getByRole('navigation', { name: 'Workstreams' });
const title = (page: Page, name: string): Locator => head(page).getByRole('heading', { name, exact: true });

/** Waits until the keyboard is there. */
const isAt = (target: Locator): Promise<void> => expect.poll(() => hasFocus(target)).toBe(true);

async function press(target: Locator, key = 'Enter'): Promise<void> {
  // Nothing is done from what is not saved yet.
  await expect.poll(() => target.isEnabled()).toBe(true);
  await target.focus();
  await target.page().keyboard.press(key);
}

/** Presses a key and holds it, as a keyboard does that repeats it five times. */
async function hold(page: Page, key: string): Promise<void> {
  for (let times = 0; times < 6; times += 1) await page.keyboard.down(key);
  await page.keyboard.up(key);
}

it('goes on where a page is used: the message field of a new, an opened and a forked workstream', async () => {
  const page = await world.open('/');
  await press(button(page, 'Start with the demo'));
  await sees(title(page, 'Trying out Weir'));
  await isAt(message(page));
  await say(page, 'say: one');
  await sees(answers(page).getByText('one', { exact: true }));
  await inState(page, 'Idle');

  await press(button(page.locator('[data-line]').last(), 'Fork from here'));
  await sees(title(page, 'Fork of Trying out Weir'));
  await isAt(message(page));
  await press(button(page, 'Answer again'));
  await inState(page, 'Idle');
  await sees(page.getByRole('button', { name: /^One entry set aside by you/ }));

  await press(page.getByRole('link', { name: 'New workstream' }));
  await isAt(page.getByRole('heading', { name: 'New workstream' }));
  const folder = page.getByRole('textbox', { name: 'Workspace folder' });
  await folder.fill('nonsense');
  await press(page.getByRole('textbox', { name: 'Title' }));
  await isAt(folder);
  await press(button(page, 'Create workstream'));
  await isAt(folder);
  await folder.fill('');
  await press(button(page, 'Create workstream'));
  await sees(title(page, 'New workstream'));
  await isAt(message(page));

  await press(list(page).getByRole('link', { name: /^Trying out Weir/ }));
  await sees(title(page, 'Trying out Weir'));
  await isAt(message(page));
  await press(page.getByRole('link', { name: 'Server' }));
  await isAt(page.getByRole('heading', { name: 'Server', level: 1 }));

  // A closed one has no field that could be used.
  await page.goBack();
  await isAt(message(page));
  await button(head(page), 'Actions for Trying out Weir').click();
  await page.getByRole('menuitem', { name: 'Close', exact: true }).click();
  await inState(page, 'Closed');
  await page.goForward();
  await isAt(page.getByRole('heading', { name: 'Server', level: 1 }));
  await page.goBack();
  await isAt(title(page, 'Trying out Weir'));
});

it('stays on the page when what the keyboard was on goes away', async () => {
  const { page } = await world.workstream('Stays there');
  await say(page, 'say: one');
  await sees(answers(page).getByText('one', { exact: true }));
  await inState(page, 'Idle');
  await press(button(page, 'Answer again'));
  await sees(page.getByRole('button', { name: /set aside by you/ }));
  await isAt(transcript(page));

  await page.goto(`${world.weir.url}/#/tokens`);
  await page.getByRole('textbox', { name: 'Name of a new token' }).fill('one more');
  await page.keyboard.press('Enter');
  await press(button(page, 'I have it'));
  await isAt(page.getByRole('heading', { name: 'Tokens', level: 1 }));
  await press(button(page, 'Revoke one more'));
  await isAt(button(page, 'Keep'));
  await page.keyboard.press('Enter');
  await isAt(button(page, 'Revoke one more'));
  await page.keyboard.press('Enter');
  await press(button(page, 'Revoke “one more” now'));
  await misses(page.getByText('one more'));
  await isAt(page.getByRole('heading', { name: 'Tokens', level: 1 }));
});

it('has a way past the list to the conversation, the first thing that Tab reaches', async () => {
  const { page } = await world.workstream('Far down');
  await sees(title(page, 'Far down'));
  await page.keyboard.press('Tab');
  await isAt(button(page, 'Skip to the conversation'));
  await page.keyboard.press('Enter');
  await isAt(transcript(page));
  await page.goto(`${world.weir.url}/#/server`);
  await page.reload();
  await sees(page.getByRole('heading', { name: 'Server', level: 1 }));
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await isAt(page.getByRole('heading', { name: 'Server', level: 1 }));
});

it('asks whether something is meant with the keyboard on the harmless answer, and takes a held key for one press (broke: holding Enter on “Delete …” deleted for good)', async () => {
  const { page } = await world.workstream('Not to be deleted');
  await say(page, 'say: one');
  await inState(page, 'Idle');
  const asks: readonly (readonly [Locator, Locator])[] = [
    [button(page, 'Sign out'), button(page.getByRole('dialog'), 'Stay')],
    [button(page, 'Go back to before this'), button(page, 'Stay')],
  ];
  await button(head(page), 'Actions for Not to be deleted').click();
  await page.getByRole('menuitem', { name: 'Delete …' }).focus();
  await hold(page, 'Enter');
  const dialog = page.getByRole('dialog', { name: 'Delete “Not to be deleted”?' });
  await sees(dialog);
  await isAt(button(dialog, 'Keep it'));
  await page.keyboard.press('Tab');
  await page.keyboard.press('Shift+Tab');
  await isAt(button(dialog, 'Keep it'));

  await page.keyboard.press('Escape');
  for (const [opener, harmless] of asks) {
    await opener.focus();
    await hold(page, 'Enter');
    await isAt(harmless);
    await page.keyboard.press('Enter');
    await misses(harmless.locator('visible=true'));
  }
  await sees(title(page, 'Not to be deleted'));
});

it('leaves one thing by one Esc, however long it is held', async () => {
  const { page } = await world.workstream('Goes on');
  await say(page, 'run: sleep 600');
  await button(question(page, 'shell'), 'Approve').click();
  await inState(page, 'Running tools');
  await button(head(page), 'Actions for Goes on').click();
  await sees(page.getByRole('menu'));
  await hold(page, 'Escape');
  await misses(page.getByRole('menu'));
  await sees(button(page, 'Stop'));
  await page.keyboard.press('Escape');
  await inState(page, 'Idle');
});
