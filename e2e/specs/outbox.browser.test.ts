/**
 * Owns: what becomes of messages that were taken from the field when answers are lost, the page is reloaded, or the
 * browser has no room to keep them; and of what was typed and not sent when another token signs in.
 * Does not own: a server that dies (`restart.browser.test.ts`).
 */
import type { Locator, Page, Route } from 'playwright-core';
import { expect, it } from 'vitest';
import { createBrowserWorld, patienceMs } from '../support/browser.ts';
import {
  answers,
  asks,
  button,
  carries,
  exchange,
  inState,
  message,
  messages,
  misses,
  reads,
  say,
  sees,
  sending,
} from '../support/page.ts';

const world = createBrowserWorld();

it('goes on with a message whose answer was lost, and with the next one behind it, while nothing says yet who is there (D-60)', async () => {
  world.provider.script([{ stream: ['Yes.'] }, { stream: ['Yes again.'] }]);
  world.allow(/ERR_FAILED/);
  const { id, page } = await world.workstream('An answer that was lost');
  await inState(page, 'Idle');
  let lost = 0;
  let unanswered = 0;
  const keys: unknown[] = [];
  await page.route('**/graphql', async (route) => {
    if (carries(route, 'mutation SendMessage')) {
      keys.push(keyOf(route));
      if (lost > 0) return route.continue();
      lost += 1;
      // The server has it, and the page never hears of that.
      await route.fetch();
      return route.abort('failed');
    }
    if (carries(route, 'query Server') && unanswered < 3) {
      unanswered += 1;
      return route.abort('failed');
    }
    return route.continue();
  });

  await asks(page, 'One?', 'Yes.');
  await sees(sending(page).getByText('One?'));
  unanswered = 0;
  await page.reload();
  await say(page, 'Two?');
  await expect.poll(() => answers(page).count(), { timeout: patienceMs }).toBe(2);
  await misses(sending(page));
  await reads(answers(page).last(), 'Yes again.');
  expect(await message(page).inputValue()).toBe('');
  expect(await messages(page).count()).toBe(2);
  await page.getByRole('link', { name: 'Server', exact: true }).click();
  await sees(page.getByText('asks you first').first());
  expect(unanswered).toBe(3);
  expect(keys[1]).toBe(keys[0]);
  const said = (await world.api.history(id)).flatMap((entry) => (entry.kind === 'USER' ? [entry.text] : []));
  expect(said).toEqual(['One?', 'Two?']);
});

it('says what the browser has no room to keep, asks before the page is left, and sends it all the same', async () => {
  world.provider.script([{ stream: ['Yes.'] }]);
  world.allow(/ERR_FAILED/);
  const { page } = await world.workstream('No room');
  await inState(page, 'Idle');
  let away = true;
  await page.route('**/graphql', (route) =>
    away && carries(route, 'mutation SendMessage') ? route.abort('failed') : route.continue(),
  );
  const notKept = page.getByRole('status').filter({ hasText: 'has no room to keep all of this' });
  await message(page).fill('Is this');
  expect(await notKept.count()).toBe(0);

  await page.evaluate(fillStorage);
  await say(page, 'Is this kept?');
  await sees(sending(page).getByText('Is this kept?'));
  await sees(notKept);
  world.allow(/^dialog: $/);
  const [dialog] = await Promise.all([page.waitForEvent('dialog'), page.close({ runBeforeUnload: true })]);
  expect(dialog.type()).toBe('beforeunload');

  away = false;
  await reads(answers(page), 'Yes.');
  await misses(notKept);
  await Promise.all([page.waitForEvent('close'), page.close({ runBeforeUnload: true })]);
});

it('shows and sends what somebody typed under the token it was typed under alone (D-12; broke: the next person in the tab sent it as theirs with one key)', async () => {
  world.provider.script([{ stream: ['Yes.'] }]);
  const { id, page: bert } = await world.workstream('A shared browser');
  const anna = await world.person('Anna', `/w/${id}`);
  await exchange(anna, 'Hello?', 'Yes.');
  await drafts(anna);

  const ofAnna = await signedInAs(anna, await tokenOf(bert));
  await sees(messages(anna).getByText('Hello?'));
  expect(await anew(anna).count()).toBe(0);
  expect(await message(anna).inputValue()).toBe('');
  await message(anna).fill('Of Bert');

  await signedInAs(anna, ofAnna);
  await sees(anew(anna));
  expect(await anew(anna).inputValue()).toBe('Said anew by Anna');
  expect(await message(anna).inputValue()).toBe('Next of Anna');
});

it('says at the sign-out that what is unsent goes with it, and leaves none of it in the tab', async () => {
  world.provider.script([{ stream: ['Yes.'] }]);
  const { id, page: bert } = await world.workstream('A browser that is left');
  const anna = await world.person('Anna', `/w/${id}`);
  await exchange(anna, 'Hello?', 'Yes.');
  const warning = anna.getByRole('dialog').getByText('has not reached the server');
  await button(anna, 'Sign out').click();
  await sees(button(anna, 'Sign out now'));
  expect(await warning.count()).toBe(0);
  await button(anna, 'Stay').click();

  await drafts(anna);
  await button(anna, 'Sign out').click();
  await sees(warning);
  await button(anna, 'Sign out now').click();
  const entry = anna.getByRole('textbox');
  await sees(entry);
  expect(await anna.evaluate(() => JSON.stringify({ ...sessionStorage }))).not.toMatch(/Anna/);
  await entry.fill(await tokenOf(bert));
  await entry.press('Enter');
  await sees(anna.getByRole('link', { name: 'Tokens' }));
  await anna.goto(bert.url());
  await sees(messages(anna).getByText('Hello?'));
  expect(await anew(anna).count()).toBe(0);
  expect(await message(anna).inputValue()).toBe('');
});

it('leaves none of it in the other tabs of the browser either, open or opened again later', async () => {
  world.provider.script([{ stream: ['Yes.'] }]);
  const { id } = await world.workstream('Tabs that are left');
  const anna = await world.person('Anna', `/w/${id}`);
  await exchange(anna, 'Hello?', 'Yes.');
  const [open, closed] = [await anna.context().newPage(), await anna.context().newPage()];
  for (const page of [open, closed]) {
    await page.goto(anna.url());
    await sees(messages(page).getByText('Hello?'));
    await drafts(page);
  }
  await message(open).fill('Last words of Anna');
  await closed.goto('about:blank');

  await button(anna, 'Sign out').click();
  await button(anna, 'Sign out now').click();
  await sees(anna.getByRole('textbox'));
  await sees(open.getByRole('textbox'));
  await closed.goBack();
  await sees(closed.getByRole('textbox'));
  for (const page of [open, closed]) {
    expect(await message(page).count()).toBe(0);
    expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).not.toMatch(/Anna/);
  }
});

const anew = (page: Page): Locator => page.getByRole('textbox', { name: 'The message anew' });

/** Types in the place of the only message and into the field, and sends neither; loads the page again. */
async function drafts(page: Page): Promise<void> {
  await messages(page).hover();
  await button(page, 'Edit and send again').click();
  await anew(page).fill('Said anew by Anna');
  await message(page).fill('Next of Anna');
  await page.reload();
  await sees(anew(page));
  expect(await anew(page).inputValue()).toBe('Said anew by Anna');
  expect(await message(page).inputValue()).toBe('Next of Anna');
}

const tokenOf = (page: Page): Promise<string> =>
  page.evaluate(() => localStorage.getItem('weir.token') ?? '');

/** Signs in with another token in another tab of the browser, which all its tabs follow; the token until then. */
async function signedInAs(page: Page, token: string): Promise<string> {
  const before = await tokenOf(page);
  const other = await page.context().newPage();
  await other.goto(new URL('/', page.url()).href);
  await other.evaluate((token) => {
    localStorage.setItem('weir.token', token);
  }, token);
  await other.close();
  return before;
}

const keyOf = (route: Route): unknown =>
  (route.request().postDataJSON() as { readonly variables: { readonly input: { readonly key: unknown } } })
    .variables.input.key;

/** Runs in the page: leaves no room in the storage of the tab. */
function fillStorage(): void {
  for (let size = 4_000_000; size >= 1; size = Math.floor(size / 2))
    for (let n = 0; ; n += 1)
      try {
        sessionStorage.setItem(`filler ${size} ${n}`, 'x'.repeat(size));
      } catch {
        break;
      }
}
