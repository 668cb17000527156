/**
 * Owns: what a person does to a turn that runs and to what waits behind it: steer, change, withdraw, hold, force the
 * stop, trust.
 * Does not own: the queue in its order and Stop (`conversation.browser.test.ts`), questions (`approvals.browser.test.ts`).
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { lastMessage } from '../../server/test/support/scripted-provider.ts';
import { createBrowserWorld } from '../support/browser.ts';
import {
  answers,
  asks,
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
  queue,
  reads,
  say,
  sees,
  waits,
} from '../support/page.ts';

const world = createBrowserWorld();

const list = { call: { name: 'list_files', arguments: {} } };
const shell = (command: string) => ({ call: { name: 'shell', arguments: { command } } });
const write = { call: { name: 'write_file', arguments: { path: 'new.txt', content: 'alpha\n' } } };

/** The row of the queue that holds this text. */
const row = (page: Page, text: string): Locator =>
  queue(page).getByRole('listitem').filter({ hasText: text });
const changed = (page: Page): Locator => page.getByRole('textbox', { name: 'Changed message' });

it('says a steer to the running turn after its current step, with Ctrl+Enter or the button (D-63)', async () => {
  world.provider.script([
    { stream: ['I shall look. ', { gate: 'looked' }, list] },
    { stream: ['Left it is.'] },
    { stream: ['And that was later.'] },
  ]);
  const { page } = await world.workstream('Steer');
  await asks(page, 'Which way?', 'I shall look.');
  await sees(page.getByText('steers: it is said after the current step'));
  await message(page).fill('To the left.');
  await message(page).press('Control+Enter');
  await sees(row(page, 'To the left.').getByText('Steers'));
  await sees(queue(page).getByText('One message is said after the current step.'));
  await say(page, 'Later.');
  await message(page).fill('And soon.');
  await button(page, 'Steer').click();
  await sees(
    queue(page).getByText(
      '2 messages are said after the current step. One message waits until this turn ends.',
    ),
  );
  world.provider.release('looked');
  await reads(answers(page).nth(2), 'And that was later.');
  await inState(page, 'Idle');
  await misses(queue(page));
  expect(await messages(page).count()).toBe(3);
  await sees(messages(page).nth(1).getByText('You, while it worked'));
  const [, second, third] = world.provider.requests;
  expect(second!.messages.slice(-2)).toMatchObject([
    { role: 'tool' },
    { role: 'user', content: 'To the left.\n\nAnd soon.' },
  ]);
  expect(lastMessage(third!)).toMatchObject({ role: 'user', content: 'Later.' });
});

it('gives a steer back that came when the turn had ended, says so, and sends it on its own with one click (D-62)', async () => {
  world.provider.script([
    { stream: ['Well, ', { gate: 'ended' }, 'goodbye.'] },
    { stream: ['Hello again.'] },
  ]);
  const { page } = await world.workstream('Too late');
  await asks(page, 'Say goodbye.', 'Well,');
  let go = (): void => undefined;
  const gone = new Promise<void>((resolve) => (go = resolve));
  await page.route('**/graphql', async (route) => {
    if (carries(route, '"STEER"')) await gone;
    await route.continue();
  });
  await message(page).fill('Not yet!');
  await message(page).press('Control+Enter');
  await sees(page.getByRole('region', { name: 'Sending' }).getByText('Not yet!'));
  world.provider.release('ended');
  await inState(page, 'Idle');
  go();
  await sees(page.getByRole('alert').filter({ hasText: /turn/ }));
  expect(await message(page).inputValue()).toBe('Not yet!');
  await button(page, 'Send').click();
  await reads(answers(page).nth(1), 'Hello again.');
  await inState(page, 'Idle');
  expect(await page.getByRole('alert').filter({ hasText: /turn/ }).count()).toBe(0);
});

it('lets nobody steer on the credentials of another, and says why; what he sends waits, and only he changes it (D-12)', async () => {
  world.provider.script([
    { stream: ['I am yours. ', { gate: 'mine' }, 'Done.'] },
    { when: (body) => /Hers, changed/.test(String(lastMessage(body).content)), stream: ['Now hers.'] },
  ]);
  const { page, id } = await world.workstream('Two people');
  await asks(page, 'Work for me.', 'I am yours.');
  const hers = await world.person('Ann', `/w/${id}`);
  await reads(answers(hers), 'I am yours.');
  await message(hers).fill('Hers.');
  expect(await button(hers, 'Steer').isDisabled()).toBe(true);
  await sees(
    hers.getByText(
      /^This turn runs on the credentials of “.*”, whose owner alone may steer it\. Yours waits/,
    ),
  );
  await message(hers).press('Control+Enter');
  expect(await message(hers).inputValue()).toBe('Hers.');
  await message(hers).press('Enter');
  await sees(row(hers, 'Hers.'));
  await sees(row(page, 'Hers.').getByText('by Ann'));
  expect(await button(row(page, 'Hers.'), 'Edit').count()).toBe(0);
  await button(row(hers, 'Hers.'), 'Edit').click();
  await changed(hers).fill('Hers, changed.');
  await button(hers, 'Save').click();
  await sees(row(page, 'Hers, changed.'));
  world.provider.release('mine');
  await reads(answers(hers).nth(1), 'Now hers.');
  await inState(page, 'Idle');
});

it('changes what waits in its place, leaves it with Escape, and takes it back into the field or undoes that (D-63)', async () => {
  world.provider.script([{ stream: ['Busy. ', { gate: 'busy' }, 'Done.'] }, { stream: ['Both taken.'] }]);
  const { page } = await world.workstream('Change');
  await asks(page, 'Begin.', 'Busy.');
  for (const text of ['First.', 'Second.', 'Third.']) await say(page, text);
  await sees(row(page, 'Third.'));

  await button(row(page, 'Second.'), 'Edit').click();
  await expect.poll(() => hasFocus(changed(page))).toBe(true);
  await changed(page).fill('Never.');
  await changed(page).press('Escape');
  await misses(changed(page));
  await expect.poll(() => hasFocus(button(row(page, 'Second.'), 'Edit'))).toBe(true);
  await page.keyboard.press('Enter');
  await changed(page).fill('Second, and better.');
  await changed(page).press('Control+Enter');
  await misses(changed(page));
  await expect.poll(() => waits(page).allInnerTexts()).toEqual(['First.', 'Second, and better.', 'Third.']);
  // Escape in the edit was not the Escape that stops.
  await inState(page, 'Thinking');

  await button(row(page, 'First.'), 'Withdraw').click();
  await misses(row(page, 'First.'));
  await expect.poll(() => message(page).inputValue()).toBe('First.');
  await expect.poll(() => hasFocus(message(page))).toBe(true);

  await button(row(page, 'Third.'), 'Withdraw').click();
  await sees(queue(page).getByText('Withdrawn: Third.'));
  expect(await message(page).inputValue()).toBe('First.');
  await button(queue(page), 'Undo').click();
  await expect.poll(() => waits(page).allInnerTexts()).toEqual(['Second, and better.', 'Third.']);

  world.provider.release('busy');
  await reads(answers(page).nth(1), 'Both taken.');
  await inState(page, 'Idle');
  expect(lastMessage(world.provider.requests[1]!).content).toBe('Second, and better.\n\nThird.');
});

it('keeps the words of a change whose message went out first, over a reload, and moves them to the field (D-63)', async () => {
  world.provider.script([
    { stream: ['Busy. ', { gate: 'busy' }, 'Done.'] },
    { stream: ['Taken as it was.'] },
  ]);
  const { page } = await world.workstream('Taken first');
  await asks(page, 'Begin.', 'Busy.');
  await say(page, 'As it was.');
  await button(row(page, 'As it was.'), 'Edit').click();
  await changed(page).fill('As it should have been.');
  world.provider.release('busy');
  await reads(answers(page).nth(1), 'Taken as it was.');
  await sees(queue(page).getByText(/^This message does not wait any more/));
  expect(await hasFocus(changed(page))).toBe(true);
  await page.reload();
  expect(await changed(page).inputValue()).toBe('As it should have been.');
  await button(queue(page), 'Move to the message field').click();
  await misses(queue(page));
  expect(await message(page).inputValue()).toBe('As it should have been.');
  expect(await hasFocus(message(page))).toBe(true);
});

it('holds what waits after a stop, says why, lets it be changed there, and goes on with it (D-63, D-65)', async () => {
  world.provider.script([{ stream: ['For ever ', { gate: 'never' }] }, { stream: ['Went on.'] }]);
  const { page } = await world.workstream('Held');
  await asks(page, 'Go on.', 'For ever');
  await say(page, 'Next.');
  await sees(row(page, 'Next.'));
  await button(page, 'Stop').click();
  await sees(queue(page).getByText(/On hold:.*because the last turn was stopped/));
  await button(row(page, 'Next.'), 'Edit').click();
  await changed(page).fill('Next, then.');
  await changed(page).press('Control+Enter');
  await sees(row(page, 'Next, then.'));
  await button(queue(page), 'Resume').click();
  await reads(answers(page).nth(1), 'Went on.');
  await inState(page, 'Idle');
  expect(lastMessage(world.provider.requests[1]!).content).toBe('Next, then.');
});

it('forces a stop that a command holds up, names what was not seen to end, and ends once more what is left (D-66)', async () => {
  // What does not heed the first signal is killed two seconds later: until then the stop waits.
  world.provider.script([
    { stream: [shell(`trap '' TERM; echo deaf > deaf.txt; while :; do sleep 0.1; done`)] },
  ]);
  const { page, folder } = await world.workstream('Force');
  await say(page, 'Run it.');
  await button(question(page, 'shell'), 'Approve').click();
  await inState(page, 'Running tools');
  await expect.poll(() => existsSync(join(folder, 'deaf.txt'))).toBe(true);
  await button(page, 'Stop').click();
  await sees(page.getByText('Forced, that is not waited for, and what it did counts as unknown.'));
  await button(page, 'Force stop').click();
  await inState(page, 'Idle');
  await sees(page.getByText('This call was not seen to end, so what it did is not known:'));
  await sees(call(page, 'shell').getByText(/not known what it did/));
  await button(page, 'Stop what is left').click();
  await sees(page.getByText(/^(?:It was told to end once more|Nothing of it runs any more)\.$/));
  await expect
    .poll(
      async () => {
        const left = await page.getByText('Nothing of it runs any more.').count();
        if (left === 0) await button(page, 'Stop what is left').click();
        return left;
      },
      { timeout: 20_000 },
    )
    .toBe(1);
  await misses(button(page, 'Stop what is left'));
});

it('asks nothing about edits of the workspace once it is told to trust them, says on whose word, and still asks about commands (D-64)', async () => {
  world.provider.script([{ stream: [write] }, { stream: [shell('echo asked')] }, { stream: ['Then not.'] }]);
  const { page, folder } = await world.workstream('Trust');
  await button(head(page), 'Approvals: Asks first').click();
  const dialog = page.getByRole('dialog', { name: 'What you are asked about' });
  await sees(dialog.getByText(/Counts for what the agent wants to do from now on/));
  await dialog.getByRole('radio', { name: 'Trust edits in the workspace' }).check();
  await button(dialog, 'Set').click();
  await sees(button(head(page), 'Approvals: Trusts edits'));
  // The feed may be here before the answer, which closes the dialog.
  await expect.poll(() => hasFocus(button(head(page), 'Approvals: Trusts edits'))).toBe(true);
  await say(page, 'Write it.');
  const card = call(page, 'write_file');
  await sees(card.getByText(/^Not asked: “Trust edits in the workspace” was set by you, /));
  await sees(card.getByText('Finished, took effect'));
  expect(readFileSync(join(folder, 'new.txt'), 'utf8')).toBe('alpha\n');
  await sees(question(page, 'shell'));

  // A question that is open already still waits for a person.
  await button(head(page), 'Approvals: Trusts edits').click();
  await dialog.getByRole('radio', { name: 'Trust everything' }).check();
  await page.keyboard.press('Enter');
  expect(await dialog.isVisible()).toBe(true);
  await sees(dialog.getByRole('alert').getByText(/Nobody is asked any more/));
  await button(dialog, 'Trust everything').click();
  await sees(button(head(page), 'Approvals: Trusts everything'));
  await button(question(page, 'shell'), 'Deny').click();
  await reads(answers(page), 'Then not.');
  await inState(page, 'Idle');
});
