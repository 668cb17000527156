/**
 * Owns: the pages around a conversation: the form for a new workstream and its refusals, addresses that lead nowhere,
 * and that every page has a heading and nothing to complain of.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { expect, it } from 'vitest';
import { createBrowserWorld } from '../support/browser.ts';
import { button, hasFocus, head, inState, misses, reads, sees } from '../support/page.ts';

const world = createBrowserWorld({ model: 'demo' });

it('says at the field what is wrong with a workspace, changes nothing, and takes a good one', async () => {
  const page = await world.open('/new');
  const { workspaces, root } = world.weir.place;
  writeFileSync(join(workspaces, 'a-file'), '');
  mkdirSync(join(workspaces, 'good'));
  const field = page.getByRole('textbox', { name: 'Workspace folder' });
  const refusals: readonly (readonly [string, RegExp])[] = [
    [root, /outside the allowed ones: .*Set WEIR_WORKSPACES to allow more\.$/],
    [`${workspaces}/..`, /outside the allowed ones/],
    ['good', /^Give the whole path of the folder, under /],
    [join(workspaces, 'not-there'), /does not exist\. Make it first, or choose another\.$/],
    [join(workspaces, 'a-file'), /is not a folder\.$/],
  ];
  for (const [path, refusal] of refusals) {
    await field.fill(path);
    await button(page, 'Create workstream').click();
    await sees(page.getByRole('alert').getByText(refusal));
    await describes(field, refusal);
  }
  expect(await field.inputValue()).toBe(join(workspaces, 'a-file'));
  await sees(page.getByText('No workstreams yet.'));

  await field.fill(join(workspaces, 'good'));
  await button(page, 'Create workstream').click();
  await sees(head(page).getByRole('heading', { name: 'New workstream' }));
  await reads(head(page).getByTitle(join(workspaces, 'good'), { exact: true }), join(workspaces, 'good'));
  await inState(page, 'Idle');
});

it('says what was wrong with a field until it is written in or there is another answer, and the focus goes to what is wrong now', async () => {
  const page = await world.open('/new');
  const gone = join(world.weir.place.workspaces, 'nope');
  const folder = page.getByRole('textbox', { name: 'Workspace folder' });
  const budget = page.getByRole('textbox', { name: 'Token budget' });
  const refusal = page.getByRole('alert').getByText(/nope does not exist/);
  const create = button(page, 'Create workstream');
  const refuse = async () => {
    await folder.fill(gone);
    await create.click();
    await sees(refusal);
    await expect.poll(() => hasFocus(folder)).toBe(true);
  };
  await refuse();
  await page.getByText('Instructions and budget', { exact: true }).click();
  await budget.fill('5');
  await sees(refusal);
  await create.click();
  await expect.poll(() => hasFocus(budget)).toBe(true);
  await misses(refusal);
  expect(await folder.getAttribute('aria-invalid')).toBe('false');

  await budget.fill('');
  await refuse();
  await folder.fill(`${gone}x`);
  await misses(refusal);
  await budget.fill('5');
  await create.click();
  await expect.poll(() => hasFocus(budget)).toBe(true);
  await sees(page.getByText(/^Write a whole number from 1,000 to /));
});

it('leaves whoever went on to another field where they are, when what they sent is refused meanwhile', async () => {
  const page = await world.open('/new');
  const folder = page.getByRole('textbox', { name: 'Workspace folder' });
  const title = page.getByRole('textbox', { name: 'Title' });
  let answer = (): void => undefined;
  await page.route('**/graphql', async (route) => {
    if (route.request().postData()?.includes('CreateWorkstream'))
      await new Promise<void>((resolve) => (answer = resolve));
    await route.continue();
  });
  await folder.fill('nowhere');
  await button(page, 'Create workstream').click();
  await sees(button(page, 'Creating …'));
  await title.focus();
  answer();
  await describes(folder, /^Give the whole path of the folder, under /);
  expect(await hasFocus(title)).toBe(true);
});

it('says at the field that a model is not there any more', async () => {
  const page = await world.open('/new');
  const field = page.getByRole('combobox', { name: 'Model' });
  await sees(field);
  // As on a page that was opened before the server was started with other models.
  await field.evaluate((select) => {
    (select as unknown as { options: { value: string }[] }).options[0]!.value = 'gone';
  });
  await field.selectOption('gone');
  await button(page, 'Create workstream').click();
  await describes(field, /gone/);
});

it('has a page for an address that leads nowhere, and a way back', async () => {
  const { id } = await world.workstream('Exists');
  const page = await world.open(`/w/${id.slice(0, -6)}AAAAAA`);
  for (const route of ['/w/nonsense', `/w/${id.slice(0, -6)}AAAAAA`]) {
    await page.goto('about:blank');
    await page.goto(`${world.weir.url}/#${route}`);
    await sees(page.getByRole('heading', { name: 'There is no such workstream' }));
    await page.getByRole('link', { name: 'To the list' }).click();
    await sees(page.getByRole('heading', { name: 'Choose a workstream' }));
  }
  await page.goto(`${world.weir.url}/#/no/such/page`);
  await sees(page.getByRole('heading', { name: 'There is no such page' }));
  await page.getByRole('link', { name: /^Exists/ }).click();
  await sees(head(page).getByRole('heading', { name: 'Exists' }));
  await page.goBack();
  await sees(page.getByRole('heading', { name: 'There is no such page' }));
  await page.getByRole('link', { name: 'To the list' }).click();
  await sees(page.getByRole('heading', { name: 'Choose a workstream' }));
});

it('has a heading on every page, and nothing that a browser complains of', async () => {
  const { page, id } = await world.workstream('Every page');
  const pages: readonly (readonly [string, string])[] = [
    ['/', 'Choose a workstream'],
    ['/new', 'New workstream'],
    ['/tokens', 'Tokens'],
    ['/server', 'Server'],
    [`/w/${id}`, 'Every page'],
  ];
  for (const [width, height] of [
    [1280, 800],
    [390, 844],
  ] as const) {
    await page.setViewportSize({ width, height });
    for (const [route, heading] of pages) {
      await page.goto(`${world.weir.url}/#${route}`);
      await sees(page.getByRole('heading', { name: heading, level: 1 }));
      expect(await page.evaluate('document.documentElement.scrollWidth > innerWidth')).toBe(false);
    }
  }
});

/** Waits until the field is marked wrong and described by this. */
async function describes(field: Locator, text: RegExp): Promise<void> {
  await expect.poll(() => field.getAttribute('aria-invalid')).toBe('true');
  const ids = ((await field.getAttribute('aria-describedby')) ?? '').split(' ');
  const texts = ids.map((id) => field.page().locator(`[id="${id}"]`).allInnerTexts());
  expect((await Promise.all(texts)).flat().join('\n')).toMatch(new RegExp(text.source, 'm'));
}
