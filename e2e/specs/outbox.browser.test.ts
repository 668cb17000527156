/**
 * Owns: what becomes of messages that were taken from the field when answers are lost, the page is reloaded, or the
 * browser has no room to keep them. Does not own: a server that dies (`restart.browser.test.ts`).
 */
import type { Route } from 'playwright-core';
import { expect, it } from 'vitest';
import { createBrowserWorld, patienceMs } from '../support/browser.ts';
import {
  answers,
  asks,
  carries,
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
