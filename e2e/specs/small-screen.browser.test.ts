/**
 * Owns: that a workstream can be read and answered on a small screen, with all that may stand around its transcript.
 * Does not own: what those things say and do (the specs of each).
 *
 * The sizes are a phone held upright, and a laptop zoomed in until little height is left.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { newKey } from '../support/api.ts';
import { createBrowserWorld, out } from '../support/browser.ts';
import {
  answers,
  button,
  hasFocus,
  head,
  message,
  misses,
  question,
  queue,
  reads,
  say,
  sees,
  tabTo,
  transcript,
  waits,
} from '../support/page.ts';

const world = createBrowserWorld();

const sizes = [
  [390, 844],
  [780, 437],
] as const;

/** As long as the server takes one, with a word in it that cannot be broken at a space. */
const maximal = (screen: string): string =>
  `Why the nightly export on a ${screen} loses rows from ${'accounts_and_their_balances_'.repeat(3)}since June, whether it did before, `
    .padEnd(200, 'and what to tell those who rely on it ')
    .slice(0, 199) + '?';
const texts = ['First', 'Second', 'Third', 'Fourth', 'Fifth'].map(
  (nth) => `${nth}: when you are done with that, look into the log of last night and say what is in it.`,
);

for (const [width, height] of sizes) {
  const screen = `${width} × ${height}`;
  it(`leaves the title whole, the transcript its room and an open question its answers at ${screen}, whatever waits (D-63, D-64)`, async () => {
    world.provider.script([
      { stream: ['I shall look. ', { call: { name: 'shell', arguments: { command: 'wc -l export.csv' } } }] },
      { stream: ['Then not.', { gate: 'never' }] },
    ]);
    const { page, title } = await world.workstream(maximal(screen));
    expect(title).toHaveLength(200);
    await page.setViewportSize({ width, height });
    await say(page, 'Look into the export.');
    await sees(question(page, 'shell'));
    for (const text of texts) await say(page, text);
    await sees(queue(page).getByText('5 messages wait until this turn ends.'));
    await misses(page.getByRole('region', { name: 'Sending' }));
    await picture(page, `small-${width}x${height}`);

    // What was typed last left the focus in the field, and the question is what it is about.
    expect(await share(page)).toBeGreaterThanOrEqual(40);
    expect(await button(page, 'Go to the question').count()).toBe(0);
    for (const name of ['Approve', 'Deny']) {
      const answer = button(question(page, 'shell'), name);
      await tabTo(page, answer);
      await expect
        .poll(() => isInSight(answer), { timeout: 10_000, message: `${name} is in sight` })
        .toBe(true);
    }
    await transcript(page).focus();
    for (const name of ['Approve', 'Deny']) {
      const answer = button(question(page, 'shell'), name);
      await answer.scrollIntoViewIfNeeded();
      await expect
        .poll(() => isInSight(answer), { timeout: 10_000, message: `${name} can be scrolled to` })
        .toBe(true);
    }
    await expect.poll(() => isInSight(message(page)), { timeout: 10_000 }).toBe(true);

    // The title: as it stands, or opened with the keyboard where that has little room.
    const heading = head(page).getByRole('heading', { name: title, exact: true });
    const more = button(head(page), 'Whole title');
    if ((await more.count()) > 0) {
      await tabTo(page, more);
      await page.keyboard.press('Enter');
      await expect.poll(() => more.getAttribute('aria-expanded')).toBe('true');
      await picture(page, `small-${width}x${height}-title`);
    }
    expect(await isCut(heading)).toBe(false);
    await expect.poll(() => isInSight(heading), { timeout: 10_000 }).toBe(true);
    expect(await share(page)).toBeGreaterThanOrEqual(40);

    // What waits: behind one line, in reach of the keyboard, and still not at the transcript's cost.
    const messages = button(queue(page), 'Messages');
    await tabTo(page, messages);
    await misses(page.getByRole('group', { name: 'What waits' }));
    await page.keyboard.press('Enter');
    await expect.poll(() => waits(page).allInnerTexts()).toEqual(texts);
    await sees(page.getByRole('group', { name: 'What waits' }));
    await picture(page, `small-${width}x${height}-queue`);
    await expect.poll(() => isInSight(message(page)), { timeout: 10_000 }).toBe(true);
    // Nor does what is written push the way to send it out of sight.
    await message(page).fill('One line\n'.repeat(4));
    await expect.poll(() => isInSight(button(page, 'Queue')), { timeout: 10_000 }).toBe(true);
    await message(page).fill('');
    const last = button(queue(page).getByRole('listitem').last(), 'Withdraw');
    await tabTo(page, last);
    await expect.poll(() => isInSight(last), { timeout: 10_000 }).toBe(true);
    expect(await share(page)).toBeGreaterThanOrEqual(40);
    expect(await scrollsSideways(page)).toBe(false);

    await button(question(page, 'shell'), 'Deny').click();
    await misses(question(page, 'shell'));
    await expect.poll(() => hasFocus(message(page))).toBe(true);
    await reads(answers(page).nth(1), 'Then not.');
  });
}

it('shows of a workstream with a watch where it works, and what it is that is empty, in lines that do not scroll sideways (broke: a letter was left of the folder)', async () => {
  const { id, page } = await world.workstream('Watched on a phone');
  const { errors } = await world.api.query(
    'mutation ($input: CreateWatchInput!) { createWatch(input: $input) { __typename } }',
    { input: { key: newKey(), workstreamId: id, command: 'true', every: '1h' } },
  );
  expect(errors).toEqual([]);
  await page.setViewportSize({ width: 390, height: 844 });
  await sees(button(head(page), '1 watch'));
  await reads(head(page).getByRole('button', { name: /^Context:/ }), 'Context: empty');
  const folder = head(page).getByTitle(/watched-on-a-phone$/);
  expect((await folder.boundingBox())!.width).toBeGreaterThanOrEqual(60);
  const line = async (target: Locator): Promise<number> => Math.round((await target.boundingBox())!.y / 20);
  const search = head(page).getByRole('link', { name: 'Search' });
  expect(await line(search)).toBe(await line(folder));
  expect(await scrollsSideways(page)).toBe(false);
});

it('has on its first page what there is to choose from, and behind one button all the rest', async () => {
  const { title } = await world.workstream('To be chosen');
  const page = await world.open('/');
  await page.setViewportSize({ width: 390, height: 844 });
  const newest = page.getByRole('list', { name: 'The newest' });
  await sees(newest.getByRole('link', { name: title }));
  await button(page, '☰ Menu').click();
  await sees(page.getByRole('link', { name: 'Usage' }));
  await page.keyboard.press('Escape');
  await newest.getByRole('link', { name: title }).click();
  await sees(head(page).getByRole('heading', { name: title }));
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(`${world.weir.url}/#/`);
  await sees(page.getByRole('heading', { name: 'Choose a workstream' }));
  // There the list itself stands beside it.
  expect(await newest.count()).toBe(0);
});

async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(out, { recursive: true });
  await page.screenshot({ path: join(out, `${name}.png`) });
}

interface Seen {
  /** How much of it is in sight, 0 to 1, after all that cuts it off. */
  readonly part: number;
  /** The height of that, pixels. */
  readonly height: number;
}

const seen = (target: Locator): Promise<Seen> =>
  target.evaluate(
    (element) =>
      new Promise<Seen>((resolve) => {
        new IntersectionObserver(([mark], observer) => {
          observer.disconnect();
          resolve({ part: mark!.intersectionRatio, height: mark!.intersectionRect.height });
        }).observe(element);
      }),
  );

/** Edges lie between pixels. */
const isInSight = async (target: Locator): Promise<boolean> => (await seen(target)).part > 0.98;

/** How much of the screen's height the transcript has, in hundredths. */
const share = async (page: Page): Promise<number> =>
  Math.round(((await seen(transcript(page))).height / page.viewportSize()!.height) * 100);

/** Whether it holds more than it shows. */
const isCut = (target: Locator): Promise<boolean> =>
  target.evaluate(
    ({ scrollHeight, clientHeight, scrollWidth, clientWidth }) =>
      scrollHeight > clientHeight + 1 || scrollWidth > clientWidth + 1,
  );

/** Whether the page, or what it is made of, scrolls sideways. */
const scrollsSideways = (page: Page): Promise<boolean> =>
  page.evaluate(() =>
    [document.documentElement, document.querySelector('main')!].some(
      ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth,
    ),
  );
