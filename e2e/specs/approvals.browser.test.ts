/**
 * Owns: what a person sees and does when an agent asks: the whole command or change, the answer, who gave it, and that
 * two tabs agree. Does not own: questions over a restart (`restart.browser.test.ts`).
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { lastMessage } from '../../server/test/support/scripted-provider.ts';
import { createBrowserWorld } from '../support/browser.ts';
import {
  answers,
  button,
  call,
  carries,
  hasFocus,
  head,
  inState,
  message,
  messages,
  misses,
  question,
  reads,
  say,
  sees,
  tabTo,
  transcript,
} from '../support/page.ts';

const world = createBrowserWorld();

const shell = (command: string) => ({ call: { name: 'shell', arguments: { command } } });

it('shows the whole command, runs it once approved, shows the result and who decided, and goes on with the answer', async () => {
  const command = [
    'set -e',
    `printf '%s\\n' "${'a long line '.repeat(30).trim()}" > long.txt`,
    'wc -w < long.txt',
    'echo "all of it ran" | tee proof.txt',
  ].join('\n');
  world.provider.script([
    { stream: ['I want to count. ', shell(command)] },
    { stream: ['There are ninety words.'] },
  ]);
  const { page, folder } = await world.workstream('Approve');
  await say(page, 'Count.');
  const asked = question(page, 'shell');
  await sees(asked);
  expect(await asked.getByLabel('Command').innerText()).toBe(command);
  await inState(page, 'Needs you');
  await sees(page.getByRole('heading', { name: 'Needs you (1)' }));
  await expect.poll(() => page.title()).toBe('(1) Approve · Weir');
  expect(existsSync(join(folder, 'proof.txt'))).toBe(false);

  await button(asked, 'Approve').click();
  const card = call(page, 'shell');
  await sees(card.getByText(/^Approved by you, /));
  await sees(card.getByText('Finished, took effect'));
  expect(await card.getByLabel('Result').innerText()).toBe('90\nall of it ran\n[exit code 0]');
  expect(readFileSync(join(folder, 'proof.txt'), 'utf8')).toBe('all of it ran\n');
  await reads(answers(page).nth(1), 'There are ninety words.');
  await inState(page, 'Idle');
  expect(lastMessage(world.provider.requests[1]!)).toMatchObject({
    role: 'tool',
    content: '90\nall of it ran\n[exit code 0]',
  });
});

it('shows what a command prints while it runs', async () => {
  world.provider.script([
    { stream: [shell('mkfifo go; echo before; read -r word < go; echo "after $word"')] },
    { stream: ['Seen.'] },
  ]);
  const { page, folder } = await world.workstream('Live output');
  await say(page, 'Run it.');
  await button(question(page, 'shell'), 'Approve').click();
  await reads(call(page, 'shell').getByLabel('Live output'), 'before');
  await inState(page, 'Running tools');
  await page.reload();
  await reads(call(page, 'shell').getByLabel('Live output'), 'before');
  writeFileSync(join(folder, 'go'), 'all\n');
  await reads(call(page, 'shell').getByLabel('Result'), 'before after all [exit code 0]');
  await inState(page, 'Idle');
});

it('does not run what is denied, and takes the feedback to the model', async () => {
  world.provider.script([{ stream: [shell('touch ran.txt')] }, { stream: ['Then I shall only look.'] }]);
  const { page, folder } = await world.workstream('Deny');
  await say(page, 'Make a file.');
  const asked = question(page, 'shell');
  await asked.getByRole('textbox', { name: 'Note to the model' }).fill('Only look, please.');
  await button(asked, 'Deny').click();
  const card = call(page, 'shell');
  await sees(card.getByText('Denied', { exact: true }));
  await sees(card.getByText(/^Denied by you, /));
  await reads(answers(page), 'Then I shall only look.');
  // The note is said once, as what the model was told.
  await sees(page.getByRole('article', { name: 'Note by You' }).getByText('Only look, please.'));
  expect(await page.getByText('Only look, please.').count()).toBe(1);
  await inState(page, 'Idle');
  expect(existsSync(join(folder, 'ran.txt'))).toBe(false);
  const told = world.provider.requests[1]!.messages.slice(-2);
  expect(told).toMatchObject([
    { role: 'tool', content: expect.stringMatching(/denied/i) as string },
    { role: 'user', content: 'Only look, please.' },
  ]);
});

it('shows a change of a file as a unified diff, and makes exactly that change', async () => {
  world.provider.script([
    {
      stream: [
        { call: { name: 'write_file', arguments: { path: 'new.txt', content: 'alpha\nbeta\n' } } },
        {
          call: {
            name: 'edit_file',
            arguments: { path: 'poem.txt', old_text: 'roses are red', new_text: 'roses are blue' },
          },
        },
      ],
    },
    { stream: ['Both changed.'] },
  ]);
  const { page, folder } = await world.workstream('Diff');
  writeFileSync(join(folder, 'poem.txt'), 'first line\nroses are red\nlast line\n');
  await say(page, 'Change the files.');
  const written = question(page, 'write_file');
  const edited = question(page, 'edit_file');
  await sees(written);
  await sees(edited);
  const lines = async (text: Promise<string>): Promise<readonly string[]> =>
    (await text).split('\n').filter((line) => /^[-+ @]/.test(line) && !/^(?:---|\+\+\+)/.test(line));
  expect(await lines(written.getByLabel('Changes').innerText())).toEqual([
    expect.stringMatching(/^@@ -0,0 \+1,2 @@/),
    '+alpha',
    '+beta',
  ]);
  expect(await lines(edited.getByLabel('Changes').innerText())).toEqual([
    expect.stringMatching(/^@@ -1,3 \+1,3 @@/),
    ' first line',
    '-roses are red',
    '+roses are blue',
    ' last line',
  ]);
  await sees(edited.getByText('1 line added, 1 removed'));
  expect(existsSync(join(folder, 'new.txt'))).toBe(false);

  await button(written, 'Approve').click();
  await button(edited, 'Approve').click();
  await reads(answers(page), 'Both changed.');
  expect(readFileSync(join(folder, 'new.txt'), 'utf8')).toBe('alpha\nbeta\n');
  expect(readFileSync(join(folder, 'poem.txt'), 'utf8')).toBe('first line\nroses are blue\nlast line\n');
  await inState(page, 'Idle');
});

it('shows the same in two tabs: what is sent in one can be approved in the other', async () => {
  world.provider.script([{ stream: ['May I? ', shell('echo shared')] }, { stream: ['Thank you.'] }]);
  const { page: one, id } = await world.workstream('Two tabs');
  const two = await world.open(`/w/${id}`);
  await say(one, 'Share it.');
  await reads(messages(two).getByText('Share it.'), 'Share it.');
  await button(question(two, 'shell'), 'Approve').click();
  for (const page of [one, two]) {
    await reads(answers(page).nth(1), 'Thank you.');
    await inState(page, 'Idle');
    await sees(call(page, 'shell').getByText(/^Approved by you, /));
  }
  expect(await transcript(one).innerText()).toBe(await transcript(two).innerText());
});

it('has one winner when two tabs decide at once, shows it in both and reports no error (D-64)', async () => {
  world.provider.script([{ stream: [shell('echo ran > ran.txt')] }, { stream: ['Decided.'] }]);
  const { page: one, id, folder } = await world.workstream('Race');
  const two = await world.open(`/w/${id}`);
  await say(one, 'Ask me.');
  // Both decisions are made before the server has either.
  const held = await Promise.all([one, two].map((page) => holdDecision(page)));
  await button(question(one, 'shell'), 'Approve').click();
  await button(question(two, 'shell'), 'Deny').click();
  await Promise.all(held.map(({ made }) => made));
  for (const { release } of held) release();

  for (const page of [one, two]) {
    await reads(answers(page), 'Decided.');
    await inState(page, 'Idle');
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await page.getByText(/^(?:Approved|Denied) by you, /).count()).toBe(1);
  }
  expect(await transcript(one).innerText()).toBe(await transcript(two).innerText());
  const approved =
    (await call(one, 'shell')
      .getByText(/^Approved by you, /)
      .count()) === 1;
  expect(existsSync(join(folder, 'ran.txt'))).toBe(approved);
});

it('keeps a half-typed note when another tab decides, says that it was not sent, and moves it to the message field', async () => {
  world.provider.script([{ stream: [shell('echo decided')] }, { stream: ['Decided.'] }]);
  const { page: one, id } = await world.workstream('Note');
  const two = await world.open(`/w/${id}`);
  await say(one, 'Ask me.');
  await question(one, 'shell').getByRole('textbox', { name: 'Note to the model' }).fill('Only look, ple');
  await button(question(two, 'shell'), 'Approve').click();
  const unsent = call(one, 'shell').getByRole('group', { name: 'Note that was not sent' });
  await sees(unsent.getByText('Only look, ple', { exact: true }));
  await inState(one, 'Idle');
  await message(one).fill('And then:');
  await button(unsent, 'Move to the message field').click();
  expect(await message(one).inputValue()).toBe('And then:\n\nOnly look, ple');
  await misses(unsent);
  expect(await call(two, 'shell').getByText('was not sent').count()).toBe(0);
});

it('shows a question from its beginning where it does not fit, and leaves a reader alone who goes on to its buttons', async () => {
  const command = Array.from({ length: 12 }, (_, n) => `echo line ${n}`).join('\n');
  world.provider.script([{ stream: ['Some words. '.repeat(200), shell(command)] }, { stream: ['Done.'] }]);
  const { page } = await world.workstream('Short window');
  await page.setViewportSize({ width: 780, height: 437 });
  await say(page, 'Ask me.');
  const asked = question(page, 'shell');
  await sees(asked);
  const boxes = async () => {
    const [area, card, approve] = await Promise.all(
      [transcript(page), asked, button(asked, 'Approve')].map((found) => found.boundingBox()),
    );
    return { area: area!, card: card!, approve: approve! };
  };
  await expect
    .poll(async () => {
      const { area, card } = await boxes();
      return Math.round(card.y - area.y);
    })
    .toBe(16);
  const { area, card, approve } = await boxes();
  expect(card.height, 'the question does not fit').toBeGreaterThan(area.height);
  expect(approve.y).toBeGreaterThan(area.y + area.height);

  await button(asked, 'Approve').scrollIntoViewIfNeeded();
  const scrolled = await transcript(page).evaluate((element) => element.scrollTop);
  // What is typed makes the dock grow and the transcript smaller.
  await message(page).fill('one\ntwo\nthree');
  await page.evaluate(
    'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))',
  );
  expect(await transcript(page).evaluate((element) => element.scrollTop)).toBe(scrolled);
  await message(page).fill('');
  // What leads to a question is there while that is not before the eyes.
  const go = button(page, 'Go to the question');
  await misses(go);
  await transcript(page).evaluate((element) => (element.scrollTop = 0));
  await go.click();
  await expect
    .poll(async () => {
      const { area: around, card: shown } = await boxes();
      return Math.round(shown.y - around.y);
    })
    .toBe(16);
  await misses(go);
  await button(asked, 'Approve').click();
  await inState(page, 'Idle');
});

it('can be used with the keyboard alone: make a workstream, send, answer the question', async () => {
  world.provider.script([{ stream: [shell('echo by hand')] }, { stream: ['Done by hand.'] }]);
  const page = await world.open();
  await tabTo(page, page.getByRole('link', { name: 'New workstream' }).first());
  await page.keyboard.press('Enter');
  await tabTo(page, page.getByRole('textbox', { name: 'Title' }));
  await page.keyboard.type('Keyboard');
  await tabTo(page, button(page, 'Create workstream'));
  await page.keyboard.press('Space');
  await sees(head(page).getByRole('heading', { name: 'Keyboard' }));
  await tabTo(page, message(page));
  await page.keyboard.type('Do it.');
  await page.keyboard.press('Enter');
  await sees(question(page, 'shell'));
  expect(await button(page, 'Go to the question').count()).toBe(0);
  await tabTo(page, button(page, 'Approve'));
  await page.keyboard.press('Space');
  await reads(answers(page), 'Done by hand.');
  await inState(page, 'Idle');
  await expect.poll(() => hasFocus(message(page))).toBe(true);
});

/** Keeps the decision this page sends until it is released. */
async function holdDecision(page: Page): Promise<{ readonly made: Promise<void>; release(): void }> {
  let tell = (): void => undefined;
  let release = (): void => undefined;
  const made = new Promise<void>((resolve) => (tell = resolve));
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route('**/graphql', async (route) => {
    if (carries(route, 'decideApproval')) {
      tell();
      await released;
    }
    await route.continue();
  });
  return { made, release: () => release() };
}
