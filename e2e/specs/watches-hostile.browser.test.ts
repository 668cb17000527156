/** Owns: that what a watch is made of and puts out, however hostile, is drawn as it is, and in its place. */
import { expect, it } from 'vitest';
import { newKey } from '../support/api.ts';
import { createBrowserWorld } from '../support/browser.ts';
import { button, say, sees } from '../support/page.ts';

const world = createBrowserWorld();

/** What hides or reorders what stands around it. */
const unseen = /\p{Cf}/u;

const make = (workstreamId: string, of: Record<string, unknown>) =>
  world.api.query(
    `mutation ($input: CreateWatchInput!) { answer: createWatch(input: $input) { __typename ... on Rejection { message } } }`,
    { input: { key: newKey(), workstreamId, every: '1h', ...of } },
  );

it('shows what nobody could see of a watch as code points, and breaks what is one long word', async () => {
  world.provider.respond(() => ({ stream: ['Yes.'] }));
  const { page, id } = await world.workstream('Hostile');
  await say(page, 'Are you there?');
  await make(id, {
    name: 'safe\u202egpj.exe\u200b',
    command: `printf 'out\\342\\200\\256put'; true \u202e # gpj\u2066`,
    instruction: 'Tell \u202ewhat\u200b it is.',
    condition: 'output.contains("\u202e")',
    repeat: true,
  });
  await make(id, { name: 'W'.repeat(60), command: `true #${'W'.repeat(65_000)}`, condition: 'false' });
  await sees(page.getByText('Watch “safe⟨U+202E⟩gpj.exe⟨U+200B⟩”').first());

  await page.setViewportSize({ width: 390, height: 844 });
  await page
    .getByRole('button', { name: /^\d watch(es)?$/ })
    .first()
    .click();
  const dialog = page.getByRole('dialog');
  const card = dialog.getByRole('article', { name: 'Watch safe⟨U+202E⟩gpj.exe⟨U+200B⟩' });
  await sees(card.getByText('# gpj⟨U+2066⟩'));
  await sees(card.getByText('Tell ⟨U+202E⟩what⟨U+200B⟩ it is.'));
  expect(await dialog.innerText()).not.toMatch(unseen);
  if (process.env['WATCH_SHOT'] !== undefined) await card.screenshot({ path: process.env['WATCH_SHOT'] });

  await page.setViewportSize({ width: 360, height: 640 });
  await button(dialog.getByRole('article').filter({ hasText: 'WWW' }), 'Edit').click();
  await sees(dialog.getByRole('textbox', { name: 'Command' }));
  const [wide, room] = await dialog.evaluate((node) => [node.scrollWidth, node.clientWidth]);
  expect(wide).toBe(room);

  await button(dialog, 'Leave it as it is').click();
  await card.getByRole('button', { name: 'Run now' }).click();
  await page.keyboard.press('Escape');
  const told = page.getByRole('region', {
    name: 'Word of the server: the watch safe⟨U+202E⟩gpj.exe⟨U+200B⟩',
  });
  await told.getByText('Output', { exact: true }).click();
  await sees(told.getByText('out⟨U+202E⟩put'));
  expect(await told.innerText()).not.toMatch(unseen);

  const all = await world.open('/watches');
  await sees(all.getByText('safe⟨U+202E⟩gpj.exe⟨U+200B⟩'));
  expect(await all.locator('main').innerText()).not.toMatch(unseen);
});
