/**
 * Owns: what a person sees of the past in a browser: saying something else, going back, asking again, what was taken
 * out, older entries, searching and coming back. Does not own: which entries are taken out (the core's tests).
 */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { lastMessage, type ChatBody } from '../../server/test/support/scripted-provider.ts';
import { createBrowserWorld } from '../support/browser.ts';
import {
  answers,
  button,
  call,
  carries,
  exchange,
  hasFocus,
  inState,
  message,
  messages,
  misses,
  reads,
  say,
  sees,
  tabTo,
  transcript,
} from '../support/page.ts';

const world = createBrowserWorld();

const said = (body: ChatBody): readonly unknown[] => body.messages.map((m) => m.content).slice(1);
const fold = (page: Page) => page.getByRole('button', { name: /set aside|Tried again|Gone back/ });
const setAside = (page: Page) => page.getByRole('group', { name: 'Set aside', exact: true });
/** Says these one after the other, without a page. */
async function sayAll(id: string, texts: Iterable<string>): Promise<void> {
  for (const text of texts) {
    await world.api.send(id, text);
    await world.api.waitForState(id, 'IDLE');
  }
}
const numbered = (count: number, text: (n: number) => string): readonly string[] =>
  Array.from({ length: count }, (_, i) => text(i + 1));
const editor = (page: Page) => page.getByRole('textbox', { name: 'The message anew' });

it('says something else in the place of a message, which the agent does not see any more (D-59)', async () => {
  world.provider.script([{ stream: ['The wrong answer.'] }, { stream: ['The right answer.'] }]);
  const { page } = await world.workstream('Edit');
  await exchange(page, 'The wrong question.', 'The wrong answer.');

  // By keyboard alone.
  await page.keyboard.press('Shift+Tab');
  await tabTo(page, button(messages(page), 'Edit and send again'));
  await page.keyboard.press('Enter');
  await sees(editor(page));
  expect(await editor(page).inputValue()).toBe('The wrong question.');
  await sees(
    page.getByText(
      'The old one and what came after it (2 entries) are set aside. Nothing is deleted, and files are not changed back.',
    ),
  );
  await page.keyboard.press('Escape');
  await misses(editor(page));
  expect(await hasFocus(button(messages(page), 'Edit and send again'))).toBe(true);

  await page.keyboard.press('Enter');
  await editor(page).fill('The right question.');
  await page.keyboard.press('Control+Enter');
  await reads(answers(page), 'The right answer.');
  await misses(editor(page));
  expect(await message(page).inputValue()).toBe('');
  expect(await page.getByText(/What you wrote is in the field below/).count()).toBe(0);
  expect(said(world.provider.requests[1]!)).toEqual(['The right question.']);
  expect(await messages(page).count()).toBe(1);

  // One quiet line, which opens in place.
  await expect.poll(() => fold(page).innerText()).toMatch(/^2 entries set aside by you\s*· .+\s*· show$/);
  await fold(page).click();
  await sees(setAside(page).getByText('The wrong question.'));
  await sees(setAside(page).getByText('The wrong answer.'));
  expect(await setAside(page).getByRole('button').count()).toBe(0);
  await fold(page).click();
  await misses(page.getByText('The wrong question.'));
  await inState(page, 'Idle');
});

it('edits a message far down without a second thing that scrolls', async () => {
  const long = Array.from({ length: 120 }, (_, line) => `Line ${line}.`).join('\n\n');
  world.provider.script([{ stream: [long] }, { stream: ['Short.'] }]);
  const { page } = await world.workstream('Edit far down');
  await say(page, 'First.');
  await sees(answers(page).getByText('Line 119.'));
  await inState(page, 'Idle');
  await exchange(page, 'Second.', 'Short.', 1);
  await button(messages(page).nth(1), 'Edit and send again').focus();
  await page.keyboard.press('Enter');
  await sees(editor(page));
  // `main` is as tall as what it holds, and so is the page.
  expect(
    await page.evaluate(() =>
      [document.querySelector('main')!, document.documentElement].map((e) => e.scrollHeight - e.clientHeight),
    ),
  ).toEqual([0, 0]);
});

it('says why a message cannot be replaced now, and loses nothing of what was written', async () => {
  world.provider.script([
    { stream: ['First answer.'] },
    {
      when: (body) => lastMessage(body).content === 'From elsewhere.',
      stream: ['Working ', { gate: 'go' }, 'done.'],
    },
  ]);
  const { id, page } = await world.workstream('Refused edit');
  await exchange(page, 'First.', 'First answer.');
  await button(messages(page), 'Edit and send again').focus();
  await page.keyboard.press('Enter');
  await editor(page).fill('Second thoughts.');
  await page.reload();
  expect(await editor(page).inputValue()).toBe('Second thoughts.');

  await world.api.send(id, 'From elsewhere.');
  await sees(page.getByText('A turn is running. Wait until it ends, or stop it.'));
  expect(await button(page, 'Send again').isDisabled()).toBe(true);
  world.provider.release('go');
  await reads(answers(page).nth(1), 'Working done.');
  await inState(page, 'Idle');
  expect(await editor(page).inputValue()).toBe('Second thoughts.');

  // Another turn came after the one that this page is made to believe is the last.
  await page.route('**/graphql', async (route) => {
    const body = route.request().postDataJSON() as {
      query: string;
      variables: { input: { turnId: string } };
    };
    if (!body.query.includes('mutation ResendMessage')) return route.continue();
    body.variables.input.turnId = 'another';
    return route.continue({ postData: JSON.stringify(body) });
  });
  await button(page, 'Send again').click();
  await sees(
    messages(page)
      .first()
      .getByRole('alert')
      .getByText(/Another turn came after the one you saw\./),
  );
  expect(await editor(page).inputValue()).toBe('Second thoughts.');
  await page.unroute('**/graphql');

  // Somebody takes the message out under the editor: what was written comes to the composer.
  await message(page).fill('A draft');
  const { entries } = await world.api.snapshot(id);
  const first = entries.find((entry) => entry.kind === 'USER' && entry.text === 'First.')!;
  await world.api.query(
    'mutation ($input: RewindWorkstreamInput!) { rewindWorkstream(input: $input) { __typename } }',
    {
      input: {
        key: crypto.randomUUID(),
        workstreamId: id,
        messageId: first.id,
        turnId: entries.findLast((e) => e.turnId)!.turnId,
      },
    },
  );
  await misses(editor(page));
  await expect.poll(() => message(page).inputValue()).toBe('A draft\n\nSecond thoughts.');
  await sees(page.getByText(/What you wrote is in the field below\./));
});

it('goes back to before a message after asking, and puts its text into the composer (D-59)', async () => {
  world.provider.script([{ stream: ['One.'] }, { stream: ['Two.'] }, { stream: ['Three.'] }]);
  const { page } = await world.workstream('Go back');
  await exchange(page, 'First.', 'One.');
  await exchange(page, 'Second.', 'Two.', 1);

  const second = messages(page).nth(1);
  await second.hover();
  await button(second, 'Go back to before this').click();
  await sees(second.getByText(/2 entries will be set aside, this message included/));
  await page.keyboard.press('Escape');
  await misses(second.getByText(/will be set aside/));
  expect(await hasFocus(button(second, 'Go back to before this'))).toBe(true);

  await page.keyboard.press('Enter');
  await button(second, 'Set 2 entries aside').click();
  await misses(page.getByText('Two.'));
  await expect.poll(() => message(page).inputValue()).toBe('Second.');
  expect(await hasFocus(message(page))).toBe(true);
  await sees(fold(page));
  expect(world.provider.requests).toHaveLength(2);

  await message(page).fill('Third.');
  await page.keyboard.press('Enter');
  await reads(answers(page).nth(1), 'Three.');
  expect(said(world.provider.requests[2]!)).toEqual(['First.', 'One.', 'Third.']);
  await inState(page, 'Idle');
});

it('tries again after a failure and keeps what was done, or begins from the message (D-59)', async () => {
  const failing = { status: 400, body: { error: { message: 'No.', type: 'invalid_request_error' } } };
  world.provider.script([
    { stream: [{ call: { name: 'list_files', arguments: { path: '.' } } }] },
    failing,
    failing,
    { stream: ['From the beginning.'] },
    { stream: ['Another one.'] },
  ]);
  const { page } = await world.workstream('Retry');
  await say(page, 'Look around.');
  await inState(page, 'Failed');
  await sees(page.getByText('Try again keeps what was done.'));
  await button(page, 'Try again').click();
  await sees(fold(page));
  await inState(page, 'Failed');
  await expect.poll(() => world.provider.requests.length).toBe(3);
  expect(world.provider.requests[2]!.messages.map(({ role }) => role)).toEqual(
    world.provider.requests[1]!.messages.map(({ role }) => role),
  );
  expect(lastMessage(world.provider.requests[2]!).role).toBe('tool');
  await sees(call(page, 'list_files'));

  await button(page, 'From my message').click();
  await reads(answers(page), 'From the beginning.');
  await misses(call(page, 'list_files'));
  expect(said(world.provider.requests[3]!)).toEqual(['Look around.']);
  await inState(page, 'Idle');

  await button(page, 'Answer again').click();
  await reads(answers(page), 'Another one.');
  await misses(page.getByText('From the beginning.'));
  await inState(page, 'Idle');
  expect(await page.getByRole('alert').count()).toBe(0);
});

it('lets nobody ask again on the token of another (D-12)', async () => {
  world.provider.script([{ stream: ['For the first.'] }]);
  const { id, page } = await world.workstream('Not yours');
  const other = await world.person('Bob', `/w/${id}`);
  await say(page, 'Mine.');
  await reads(answers(other), 'For the first.');
  await inState(other, 'Idle');
  const again = button(other, 'Answer again');
  expect(await again.isDisabled()).toBe(true);
  expect(await again.getAttribute('title')).toMatch(/^Only .+ may ask again: it would run on that token\.$/);
  await sees(button(messages(other), 'Edit and send as yours'));
  expect(await button(page, 'Answer again').isDisabled()).toBe(false);
});

it('reads older entries while a person scrolls up, keeps the place, and draws only what is near', async () => {
  const turns = 90;
  world.provider.respond((body) => ({ stream: [`Answer to ${String(lastMessage(body).content)}`] }));
  const { id, page } = await world.workstream('Long');
  await sayAll(
    id,
    numbered(turns, (n) => `Message ${n}.\n\n${'It has some lines.\n'.repeat(n % 7)}`),
  );
  await page.reload();
  await sees(page.getByText(`Message ${turns}.`, { exact: false }).first());
  await misses(page.getByText('Message 1.', { exact: false }));

  // The wheel, a step at a time: what was at the top is further down after each, by no more than the step.
  const area = transcript(page);
  await area.hover();
  const topmost = () =>
    area.evaluate((node) => {
      const top = node.getBoundingClientRect().top;
      const line = [...node.querySelectorAll<HTMLElement>('[data-line]')].find(
        (each) => each.getBoundingClientRect().top >= top,
      );
      return { id: line?.dataset['line'] ?? '', top: line ? line.getBoundingClientRect().top : 0 };
    });
  const topOf = (line: string) =>
    area.evaluate(
      (node, lineId) =>
        node.querySelector(`[data-line="${CSS.escape(lineId)}"]`)?.getBoundingClientRect().top ?? null,
      line,
    );
  let most = 0;
  for (let step = 0; step < 200; step += 1) {
    const before = await topmost();
    await page.mouse.wheel(0, -400);
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
    const after = await topOf(before.id);
    if (after !== null) expect(Math.abs(after - before.top)).toBeLessThanOrEqual(420);
    // A page may take longer than a step of the wheel.
    await misses(page.getByText('Loading older entries'));
    most = Math.max(most, await area.locator('[data-line]').count());
    if ((await page.getByText('Message 1.', { exact: false }).count()) > 0) break;
  }
  await sees(messages(page).first().getByText('Message 1.', { exact: false }));
  expect(await page.getByText('Show older entries').count()).toBe(0);
  expect(await page.getByText(`Message ${turns}.`, { exact: false }).count()).toBeGreaterThan(0);
  expect(most).toBeLessThan(turns * 2);
  await button(page, '↓ Jump to latest').click();
  await sees(answers(page).last().getByText(`Answer to Message ${turns}.`));
}, 180_000);

it('says why older entries do not come, and reads them when asked again', async () => {
  world.provider.respond((body) => ({ stream: [`Answer to ${String(lastMessage(body).content)}`] }));
  const { id, page } = await world.workstream('Older fails');
  await sayAll(
    id,
    numbered(30, (n) => `Message ${n}.`),
  );
  world.allow(/ERR_FAILED|request failed/);
  await page.route('**/graphql', (route) =>
    carries(route, 'query Older') ? route.abort() : route.continue(),
  );
  await page.reload();
  await sees(page.getByText('Message 30.', { exact: true }));
  await transcript(page).press('Home');
  await sees(transcript(page).getByRole('alert'));
  await page.unroute('**/graphql');
  await button(page, 'Show older entries').click();
  await misses(transcript(page).getByRole('alert'));
  await misses(button(page, 'Show older entries'));
});

it('finds words, jumps to the place far back, and returns to the present', async () => {
  world.provider.respond((body) => ({
    stream: [
      lastMessage(body).content === 'Early one.' ? 'The heron stood <b>still</b>.' : 'Nothing of note.',
    ],
  }));
  const { id, page, title } = await world.workstream('Search and jump');
  await sayAll(id, ['Early one.', ...numbered(45, (n) => `Later ${n}.`)]);
  await sees(answers(page).last());
  await page.keyboard.press('Control+Shift+F');
  const field = page.getByRole('searchbox', { name: 'Words to find' });
  await sees(field);
  expect(await hasFocus(field)).toBe(true);
  await page.keyboard.type('heron');
  const hit = page.getByRole('list', { name: 'Found' }).getByRole('link');
  await sees(hit);
  expect(page.url()).toMatch(new RegExp(`#/search\\?q=heron&in=${id}$`));
  await expect.poll(() => hit.locator('mark').innerText()).toBe('heron');
  expect(await hit.innerText()).toContain('<b>still</b>');
  expect(await hit.innerText()).toContain(title);
  await tabTo(page, hit);
  await page.keyboard.press('Enter');

  const there = page.getByRole('group', { name: 'Found here' });
  await sees(there.getByText('The heron stood'));
  expect(await hasFocus(there)).toBe(true);
  await expect.poll(() => there.evaluate((node) => node.getBoundingClientRect().top)).toBeLessThan(700);
  await sees(page.getByText('You are reading an earlier place.'));
  expect(page.url()).toMatch(/\/at\/\d+\/\w+$/);
  await sees(page.getByText('Later 3.', { exact: true }));
  // The link leads there by itself, too.
  await page.reload();
  await sees(there.getByText('The heron stood'));

  await page.getByRole('link', { name: 'Go to the present' }).first().click();
  await misses(page.getByText('You are reading an earlier place.'));
  await sees(page.getByText('Later 45.', { exact: true }));
  await page.goBack();
  await sees(there);
  // What is said from here is seen where it stands.
  await say(page, 'And now?');
  await misses(page.getByText('You are reading an earlier place.'));
  await sees(messages(page).getByText('And now?', { exact: true }));
  await inState(page, 'Idle');
}, 120_000);

it('finds what was set aside, says so, and opens it where it was', async () => {
  world.provider.script([{ stream: ['A kingfisher.'] }, { stream: ['A wren.'] }]);
  const { page } = await world.workstream('Search aside');
  await exchange(page, 'Which bird?', 'A kingfisher.');
  await button(page, 'Answer again').click();
  await reads(answers(page), 'A wren.');
  await inState(page, 'Idle');
  await page.goto(`${world.weir.url}/#/search?q=kingfisher`);
  const hit = page.getByRole('list', { name: 'Found' }).getByRole('link');
  await sees(hit.getByText('set aside'));
  await hit.click();
  await sees(page.getByRole('group', { name: 'Found here' }).getByText('A kingfisher.'));
  await sees(fold(page).and(page.locator('[aria-expanded="true"]')));
});

it('says what to do when nothing is found, the words are no words, or too much has them', async () => {
  const page = await world.open('/search');
  const field = page.getByRole('searchbox', { name: 'Words to find' });
  await field.fill('zzzunheardof');
  await sees(page.getByRole('status').getByText('Nothing has all these words.'));
  expect(await page.getByText(/^Nothing /).count()).toBe(1);
  world.allow(/400/);
  await field.fill('-only');
  await sees(
    page.getByRole('alert').getByText(/Name at least one word to find beside those to leave out\.$/),
  );
  await page.route('**/graphql', (route) =>
    carries(route, 'query Search')
      ? route.fulfill({
          json: {
            errors: [{ message: 'The search took too long.', extensions: { code: 'SEARCH_TOO_BROAD' } }],
          },
        })
      : route.continue(),
  );
  await field.fill('a');
  await page.keyboard.press('Enter');
  await sees(page.getByRole('alert').getByText(/Use longer or more words/));
  await page.unroute('**/graphql');
  await field.fill('');
  await misses(page.getByRole('alert'));
});
