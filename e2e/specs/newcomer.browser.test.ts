/**
 * Owns: what somebody meets who comes to Weir for the first time, or cannot get in: the printed link, the demo, the
 * first approved command; a link that was used, a token that is not accepted.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { createBrowserWorld, out } from '../support/browser.ts';
import { answers, button, call, inState, list, message, question, sees } from '../support/page.ts';

const world = createBrowserWorld({ model: 'demo', signedIn: false });

/** What the first browser was given; others that come in later hold it, too. */
let token: string | null = null;

it('leads from the printed link to the first approved command, without a language model', async () => {
  const context = await world.browser(null);
  const page = await context.newPage();
  await page.goto(world.weir.link);
  await sees(page.getByRole('heading', { name: 'No workstreams yet' }));
  await button(page, 'Start with the demo').click();
  await sees(page.getByText('demo, not a language model'));
  await page.getByRole('button', { name: 'run: ls -la' }).click();
  expect(await message(page).inputValue()).toBe('run: ls -la');
  await button(page, 'Send').click();
  expect(await question(page, 'shell').getByLabel('Command').innerText()).toBe('ls -la');
  await button(question(page, 'shell'), 'Approve').click();
  await sees(call(page, 'shell').getByText(/^Approved by you, /));
  await sees(
    call(page, 'shell')
      .getByLabel('Result')
      .getByText(/total \d[^]*\[exit code 0\]/),
  );
  await sees(answers(page).getByText(/^shell came back: total/));
  await inState(page, 'Idle');
  token = (await storedIn(context))[0] ?? null;
});

it('lets the demo write a file, think, and be stopped', async () => {
  const page = await arrive();
  await page.goto(`${world.weir.url}/#/new`);
  await page.getByRole('textbox', { name: 'Title' }).fill('All phrases');
  await page.getByRole('combobox', { name: 'Model' }).selectOption({ label: 'demo (not a language model)' });
  const folder = world.folder('all-phrases');
  await page.getByRole('textbox', { name: 'Workspace folder' }).fill(folder);
  await button(page, 'Create workstream').click();
  await page.getByRole('button', { name: 'write notes.txt: hello' }).click();
  await page.keyboard.press('Enter');
  await button(question(page, 'write_file'), 'Approve').click();
  await inState(page, 'Idle');
  expect(readdirSync(folder)).toEqual(['notes.txt']);
  await message(page).fill('think: is that so?');
  await page.keyboard.press('Enter');
  await page.getByText('Reasoning', { exact: true }).click();
  await sees(page.getByText('is that so?', { exact: true }));
  await inState(page, 'Idle');
  await message(page).fill(`slow: ${'and on '.repeat(200)}`);
  await page.keyboard.press('Enter');
  await sees(
    answers(page)
      .last()
      .getByText(/^and on and on/),
  );
  await button(page, 'Stop').click();
  await sees(answers(page).last().getByText('Stopped here.'));
  await inState(page, 'Idle');
});

it('takes a link once: the code leaves the address, and a second browser is told what to do', async () => {
  await world.start();
  const first = await (await world.browser(null)).newPage();
  await first.goto(world.weir.link);
  await sees(list(first));
  expect(await historyOf(first)).toEqual([`${world.weir.url}/#/`]);

  world.allow(/401/);
  const second = await (await world.browser(null)).newPage();
  await second.goto(world.weir.link);
  await sees(second.getByRole('heading', { name: 'This link does not open Weir any more' }));
  await sees(second.getByRole('alert').getByText(/^This link was used before, has expired/));
  await sees(second.getByText(/To get a new one, stop the server \(Ctrl-C\) and start it again/));
  expect(second.url()).not.toContain('code');

  // Whoever is signed in already stays so.
  await first.goto('about:blank');
  await first.goto(world.weir.link);
  await sees(list(first));
});

it('takes a link that is pasted where a token is asked for', async () => {
  await world.start();
  const page = await (await world.browser(null)).newPage();
  await page.goto(world.weir.url);
  await page.getByRole('textbox', { name: 'Token' }).fill(world.weir.link);
  await button(page, 'Sign in').click();
  await sees(list(page));
});

it('names a browser that signed in by its kind, its system and the minute, and says before it is revoked which it is', async () => {
  await world.start();
  const page = await (await world.browser(null)).newPage();
  await page.goto(world.weir.link);
  await page.getByRole('link', { name: 'Tokens' }).click();
  const own = page.getByRole('listitem').filter({ hasText: 'this browser' });
  await sees(own.getByText(/^Chrome on \w+, \d+ \w+ \d{4}, \d\d:\d\d$/));
  await own.getByRole('button', { name: /^Revoke Chrome on / }).click();
  await sees(
    own.getByText(
      /^\s*This is the token of this browser:\s+revoking it signs you out\.\s+Made .*;\s+last used /,
    ),
  );
  for (const [width, height] of [
    [1280, 800],
    [390, 844],
  ] as const) {
    await page.setViewportSize({ width, height });
    await page.screenshot({ path: join(out, `tokens-${width}.png`) });
  }
});

it('tells a browser without a token how to get in, and refuses a code and a token that are made up', async () => {
  world.allow(/401|WebSocket connection to .* failed/);
  const context = await world.browser(null);
  const page = await context.newPage();
  await page.goto(world.weir.url);
  await sees(page.getByRole('heading', { name: 'Sign in to Weir' }));
  await page.goto(`${world.weir.url}/#code=made-up`);
  await sees(page.getByRole('heading', { name: 'This link does not open Weir any more' }));
  await page.getByRole('textbox', { name: 'Token' }).fill('weir_made-up');
  await button(page, 'Sign in').click();
  await sees(page.getByRole('heading', { name: 'This token does not open Weir' }));
  await sees(page.getByRole('alert').getByText('The server does not accept this token.'));
  expect(await storedIn(context)).toEqual([]);
});

it('ends a session everywhere when its token is revoked, and lets a new token in', async () => {
  const page = await arrive();
  await page.getByRole('link', { name: 'Tokens' }).click();
  await page.getByRole('textbox', { name: 'Name of a new token' }).fill('another browser');
  await button(page, 'Create token').click();
  const secret = await page
    .getByRole('status')
    .getByText(/^weir_/)
    .innerText();

  world.allow(/401|WebSocket connection to .* failed/);
  const other = await (await world.browser(null)).newPage();
  await other.goto(world.weir.url);
  await other.getByLabel('Token').fill(secret);
  await other.keyboard.press('Enter');
  await sees(list(other));
  // Until the server has said who it is, a token that is refused counts as one that was mistyped.
  await other.getByRole('link', { name: 'Server', exact: true }).click();
  await sees(other.getByText('signed in with the token “another browser”'));

  await button(page, 'Revoke another browser').click();
  await sees(page.getByText(/^\s*Whatever uses it is signed out at once\.\s+Made .*;\s+last used .*\.\s*$/));
  await button(page, 'Revoke “another browser” now').click();
  await sees(other.getByRole('heading', { name: 'You were signed out' }));
  await page.reload();
  await sees(page.getByRole('heading', { name: 'Tokens', level: 1 }));
});

/** A page of a browser that is signed in: by a new life's link where the first test was left out. */
async function arrive(): Promise<Page> {
  if (token === null) {
    await world.start();
    token = await world.weir.signIn();
  }
  const page = await (await world.browser(token)).newPage();
  await page.goto(world.weir.url);
  await sees(list(page));
  return page;
}

/** The addresses one can go back and forth to. */
const historyOf = (page: Page): Promise<readonly string[]> =>
  page.evaluate('navigation.entries().map((entry) => entry.url)');

const storedIn = async (context: BrowserContext): Promise<readonly string[]> =>
  (await context.storageState()).origins.flatMap((origin) => origin.localStorage.map((item) => item.value));
