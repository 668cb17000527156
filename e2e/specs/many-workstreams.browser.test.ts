/**
 * Owns: the list in a browser when there are more workstreams than it begins with: who needs a person is there, and the
 * rest is read when it is asked for. Does not own: what is read, when and in which order (the client kit's tests).
 */
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { newKey } from '../support/api.ts';
import { createBrowserWorld } from '../support/browser.ts';
import { button, carries, hasFocus, list, misses, sees, tabTo } from '../support/page.ts';

const world = createBrowserWorld();
const newest = 200;

const row = (page: Page, title: string) => list(page).getByRole('listitem').filter({ hasText: title });
const rows = (page: Page) => list(page).getByRole('listitem');
const end = (page: Page) => list(page).getByText('There are no older ones.', { exact: true });

beforeAll(async () => {
  const { api, provider } = world;
  provider.script([{ stream: ['May I? ', { call: { name: 'shell', arguments: { command: 'echo hi' } } }] }]);
  const waiting = await api.create({ title: 'Waits for me' });
  await api.send(waiting, 'Ask me.');
  await api.questions(waiting);
  const closed = await api.create({ title: 'Put away long ago' });
  await api.query(
    'mutation ($input: CloseWorkstreamInput!) { closeWorkstream(input: $input) { __typename } }',
    { input: { key: newKey(), workstreamId: closed } },
  );
  for (const title of ['The first', 'The second']) await api.create({ title });
  const makers = Array.from({ length: 4 }, async (_, maker) => {
    for (let i = 0; i < newest / 4; i += 1) await api.create({ title: `Newer ${maker}.${i}` });
  });
  await Promise.all(makers);
}, 120_000);

it('shows who needs a person and finds the closed ones, however old, and reads older ones by keyboard to their end', async () => {
  const page = await world.open('/');
  await sees(list(page).getByRole('heading', { name: 'Needs you (1)' }));
  await sees(row(page, 'Waits for me'));
  await sees(page.getByText('One of them needs you: Waits for me'));

  await button(list(page), 'Closed').click();
  await sees(row(page, 'Put away long ago'));
  await sees(end(page));
  await misses(button(list(page), 'Show older'));
  // Where the list does not stand beside it, the page itself names some, whatever the list would show.
  await page.setViewportSize({ width: 390, height: 844 });
  const named = page.getByRole('list', { name: 'The newest' }).getByRole('link');
  await sees(named.first());
  const titles = await named.allInnerTexts();
  expect(titles).toHaveLength(8);
  for (const title of titles) expect(title).toMatch(/^Newer /);
  await page.setViewportSize({ width: 1280, height: 800 });

  await button(list(page), 'Open').click();
  await sees(button(list(page), 'Show older'));
  expect(await rows(page).count()).toBe(newest + 1);
  await misses(row(page, 'The second'));
  await button(list(page), 'Select').click();
  await sees(list(page).getByText('Of the 201 open ones that are shown. There are older ones.'));
  await button(list(page), 'Select all 201').click();
  await sees(button(list(page), 'Close 201'));
  await button(list(page), 'Select none').click();
  await sees(button(list(page), 'Close 0'));
  await button(list(page), 'Cancel').click();

  await button(list(page), 'Show older').focus();
  await page.keyboard.press('Enter');
  await sees(row(page, 'The first'));
  await sees(end(page));
  await expect.poll(() => hasFocus(row(page, 'The second').getByRole('link'))).toBe(true);
  await tabTo(page, row(page, 'The first').getByRole('link'));
  expect(await rows(page).count()).toBe(newest + 3);
  await button(list(page), 'Select').click();
  await sees(button(list(page), 'Select all 203'));
  await misses(list(page).getByText('There are older ones.'));
  await button(list(page), 'Cancel').click();

  await button(list(page), 'All').click();
  await button(list(page), 'Show older').click();
  await sees(row(page, 'Put away long ago'));
  await sees(end(page));
  expect(await rows(page).count()).toBe(newest + 4);

  // What is changed of an old one is in the list at once.
  await button(list(page), 'Open').click();
  await row(page, 'The first').getByRole('link').click();
  await button(page.locator('main header'), 'Actions for The first').click();
  await page.getByRole('menuitem', { name: 'Close', exact: true }).click();
  await misses(row(page, 'The first'));
});

it('says why older ones could not be read, and reads them when it is asked again', async () => {
  world.allow(/ERR_FAILED/);
  const page = await world.open('/');
  await page.route('**/graphql', (route) =>
    carries(route, 'OlderWorkstreams') ? route.abort() : route.continue(),
  );
  await button(list(page), 'Show older').click();
  await sees(
    list(page)
      .getByRole('alert')
      .getByText(/^Older ones could not be read\./),
  );
  expect(await rows(page).count()).toBe(newest + 1);
  await page.unroute('**/graphql');
  await button(list(page), 'Try again').click();
  await sees(row(page, 'The second'));
  await misses(list(page).getByRole('alert'));
});
