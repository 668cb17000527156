/**
 * Owns: what a person finds and does on a page of Weir, by role and name, in the words that stand there.
 * Does not own: the browser and its server (`browser.ts`).
 */
import type { Locator, Page, Route } from 'playwright-core';
import { expect } from 'vitest';
import { patienceMs } from './browser.ts';

export const message = (page: Page): Locator => page.getByRole('textbox', { name: 'Message', exact: true });
export const transcript = (page: Page): Locator => page.getByRole('log', { name: 'Transcript' });
export const answers = (page: Page): Locator => page.getByRole('article', { name: 'Answer' });
export const messages = (page: Page): Locator => page.getByRole('article', { name: /^Message by / });
/** What the page has taken from the field and the server has not acknowledged. */
export const sending = (page: Page): Locator => page.getByRole('region', { name: 'Sending' });
export const queue = (page: Page): Locator => page.getByRole('region', { name: 'Queue' });
/** The texts that wait there. */
export const waits = (page: Page): Locator => queue(page).getByRole('listitem').getByRole('paragraph');
/** The list of workstreams on the left. */
export const list = (page: Page): Locator => page.getByRole('navigation', { name: 'Workstreams' });
export const button = (within: Page | Locator, name: string): Locator =>
  within.getByRole('button', { name, exact: true });

/** The card of a call that waits for a decision, and of one that does not. */
export const question = (page: Page, tool: string): Locator =>
  page.getByRole('region', { name: `Approval needed: ${tool}`, exact: true });
export const call = (page: Page, tool: string): Locator =>
  page.getByRole('region', { name: `Tool call: ${tool}`, exact: true });

/** The head of the workstream's page: title, state, model, folder, connection. */
export const head = (page: Page): Locator => page.locator('main header');

/** Writes a message and sends or queues it with Enter; the page takes it at once, and does not wait for the server. */
export async function say(page: Page, text: string): Promise<void> {
  await message(page).fill(text);
  await message(page).press('Enter');
}

/** Waits until there is exactly one of these, and it is visible. */
export const sees = (locator: Locator): Promise<void> => locator.waitFor({ state: 'visible' });

/** Waits until none of these is there. */
export const misses = (locator: Locator): Promise<void> => locator.waitFor({ state: 'detached' });

/** Waits until this is the whole text of the element, white space aside. */
export const reads = (locator: Locator, text: string): Promise<void> =>
  expect
    .poll(async () => (await locator.innerText()).replace(/\s+/g, ' ').trim(), {
      timeout: patienceMs,
      message: `the text of ${String(locator)}`,
    })
    .toBe(text);

/** Says this, and waits until so much of the answer is there: the nth of the page, and without a number its only one. */
export async function asks(page: Page, text: string, answer: string, nth?: number): Promise<void> {
  await say(page, text);
  await reads(nth === undefined ? answers(page) : answers(page).nth(nth), answer);
}

/** Says this, and waits until the turn is over and the whole answer is there, as `asks` does. */
export async function exchange(page: Page, text: string, answer: string, nth?: number): Promise<void> {
  await asks(page, text, answer, nth);
  await inState(page, 'Idle');
}

/** Waits until the head of the page names this state. */
export const inState = (page: Page, state: string): Promise<void> =>
  sees(head(page).getByText(state, { exact: true }));

/** Presses Tab until this has the focus; fails when it is out of reach of the keyboard. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  await sees(target);
  for (let presses = 0; presses < 60; presses += 1) {
    if (await hasFocus(target)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach ${String(target)}`);
}

export const hasFocus = (target: Locator): Promise<boolean> =>
  target.evaluate((element) => element.matches(':focus'));

/** Whether this is what a page sends to the server, or the answer to it, by a word of what is sent. */
export const carries = (sent: Pick<Route, 'request'>, word: string): boolean =>
  (sent.request().postData() ?? '').includes(word);
