/**
 * Owns: watches as a person and a model meet them in a browser: one that the model makes and a person approves, what it
 * finds out coming as a turn, whatever became of the workstream and the server in between; one that a person makes, from
 * its form to its end. Does not own: what a watch may be, when it polls, what is told (the core's and the server's tests).
 *
 * The server holds one workstream in memory at a time: working in another one unloads the first, with its page still open.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { lastMessage, type Step } from '../../server/test/support/scripted-provider.ts';
import { createBrowserWorld, type OpenWorkstream } from '../support/browser.ts';
import {
  answers,
  button,
  call,
  carries,
  exchange,
  hasFocus,
  head,
  inState,
  message,
  misses,
  question,
  reads,
  say,
  sees,
  transcript,
} from '../support/page.ts';

const world = createBrowserWorld({ server: { env: { WEIR_MAX_LOADED: '1' } } });

/** The word of the server that a watch has something to say. */
const fire = (page: Page, watch: string): Locator =>
  page.getByRole('region', { name: `Word of the server: the watch ${watch}`, exact: true });
const card = (dialog: Locator, watch: string): Locator =>
  dialog.getByRole('article', { name: `Watch ${watch}`, exact: true });
const field = (dialog: Locator, label: string): Locator => dialog.getByRole('textbox', { name: label });

const writes = (folder: string, state: string): void => {
  writeFileSync(join(folder, 'state.json'), JSON.stringify({ state }));
};

/** The model makes a watch of the shortest interval, waits, and is told `found` when it fires. */
const waitsFor = (found: string): readonly Step[] => [
  {
    stream: [
      {
        call: {
          name: 'watch',
          arguments: {
            action: 'create',
            name: 'pull request',
            command: 'cat state.json',
            poll_every: '10s',
            stop_on: 'data.state == "MERGED"',
            instruction: 'Say that it is merged.',
          },
        },
      },
    ],
  },
  { when: (body) => lastMessage(body).role === 'tool', stream: ['I wait for it.'] },
  {
    when: (body) => String(lastMessage(body).content).includes('> pull request\n'),
    stream: [found],
  },
];

/** A workstream whose model has made that watch, of a pull request that is open, and whose turn is over. */
async function watching(title: string): Promise<OpenWorkstream> {
  const opened = await world.workstream(title);
  const { page, folder } = opened;
  writes(folder, 'OPEN');
  await say(page, 'Tell me when it is merged.');
  const asked = question(page, 'watch');
  await sees(asked.getByText('cat state.json'));
  await sees(asked.getByText('Fires: when this holds: data.state == "MERGED"'));
  await button(asked, 'Approve').click();
  await reads(answers(page), 'I wait for it.');
  await sees(call(page, 'watch').getByText(/^Approved by you, /));
  await inState(page, 'Idle');
  return opened;
}

/** Waits for the one fire of that watch and for what the model says to it, which nobody asked for. */
async function fires(page: Page, found: string): Promise<void> {
  const said = fire(page, 'pull request');
  await sees(said.getByText('Watch “pull request” fired: its condition holds.'));
  await sees(said.getByText(/ after it was made, exit code 0\. It has ended\.$/));
  await sees(said.getByText('Say that it is merged.'));
  await sees(transcript(page).getByText('A watch began this turn (depth 1 of 5)'));
  await reads(answers(page).last(), found);
  await inState(page, 'Idle');
  await misses(button(head(page), '1 watch'));
}

async function opensWatches(page: Page): Promise<Locator> {
  await button(head(page), '1 watch').click();
  return page.getByRole('dialog', { name: 'Watches' });
}

/** Opens the form for another watch of the workstream that is shown, in which nothing is written yet. */
async function newWatch(page: Page, title: string): Promise<Locator> {
  await button(head(page), `Actions for ${title}`).click();
  await page.getByRole('menuitem', { name: 'Watches …' }).click();
  const dialog = page.getByRole('dialog');
  await button(dialog, 'New watch').click();
  return dialog;
}

it('polls what the model asked for and a person approved, and begins a turn when the file it reads has changed (D-80, D-84)', async () => {
  world.provider.script(waitsFor('It is merged.'));
  const { page, folder } = await watching('Waits for a change');
  const dialog = await opensWatches(page);
  const watch = card(dialog, 'pull request');
  await button(watch, 'Run now').click();
  await sees(watch.getByText(/^1 of 100 polls, never fired, /));
  await button(dialog, 'Close').click();
  expect(await fire(page, 'pull request').count()).toBe(0);

  writes(folder, 'MERGED');
  await opensWatches(page);
  await button(watch, 'Run now').click();
  await button(dialog, 'Close').click();
  await fires(page, 'It is merged.');
  await fire(page, 'pull request').getByText('Output', { exact: true }).click();
  await sees(fire(page, 'pull request').getByText('{"state":"MERGED"}'));
});

it('loads a workstream that left the memory to tell it what its watch has found (D-84)', async () => {
  world.provider.script(waitsFor('It is merged, I hear.'));
  const { page, folder } = await watching('Leaves the memory');
  world.provider.script([{ stream: ['Here I am.'] }]);
  const other = await world.workstream('Takes its place');
  await exchange(other.page, 'Are you there?', 'Here I am.');

  writes(folder, 'MERGED');
  await fires(page, 'It is merged, I hear.');
});

it('polls once what came due while there was no server, and tells it once (D-81, D-84)', async () => {
  world.provider.script(waitsFor('It was merged meanwhile.'));
  const { page, folder } = await watching('Outlives its server');
  await world.kill();
  writes(folder, 'MERGED');
  await sees(head(page).getByText(/^Reconnecting/));

  await world.start();
  await fires(page, 'It was merged meanwhile.');
  await page.reload();
  await reads(answers(page).last(), 'It was merged meanwhile.');
  expect(await fire(page, 'pull request').count()).toBe(1);
});

it('is made by a person in a form, edited, paused, resumed, polled at once, looked into and cancelled (D-80, D-86)', async () => {
  world.provider.script([{ stream: ['So it is done.'] }]);
  const { page, folder } = await world.workstream('By hand');
  writes(folder, 'OPEN');
  const dialog = await newWatch(page, 'By hand');
  await field(dialog, 'Command').fill('cat state.json');
  await field(dialog, 'Every').fill('1h');
  await field(dialog, 'Condition').fill('data.state == "MERGED"');
  await field(dialog, 'Sample of the output').fill('{"state":"OPEN"}');
  await button(dialog, 'Try the condition').click();
  await sees(dialog.getByText('Does not hold: it would not fire.'));
  await field(dialog, 'Sample of the output').fill('{"state":"MERGED"}');
  await button(dialog, 'Try the condition').click();
  await sees(dialog.getByText('HOLDS: it would fire.'));
  await dialog.getByLabel('goes on after it fired').check();
  await button(dialog, 'Make the watch').click();
  await sees(card(dialog, 'watch-1').getByText('Never polled, at most 100 times', { exact: false }));

  await button(card(dialog, 'watch-1'), 'Edit').click();
  await field(dialog, 'Name').fill('by hand');
  await field(dialog, 'Every').fill('2h');
  await button(dialog, 'Save').click();
  const watch = card(dialog, 'by hand');
  await sees(watch.getByText('every 2 h, goes on after it fired. It fires when this holds:'));

  await button(watch, 'Pause').click();
  await sees(watch.getByText('Paused by a person', { exact: true }));
  await button(watch, 'Resume and run').click();
  await sees(watch.getByText('Active', { exact: true }));
  await sees(watch.getByText(/^1 of 100 polls, never fired, /));
  writes(folder, 'MERGED');
  await button(watch, 'Run now').click();
  await sees(watch.getByText(/^2 of 100 polls, fired once, /));

  await watch.getByText('Polls', { exact: true }).click();
  const chart = watch.getByRole('img', { name: 'How long the polls took, the oldest first' });
  await sees(chart);
  expect(await chart.locator('desc').textContent()).toMatch(
    /^Of 2 polls 1 fired, 0 went wrong, the command of 0 others failed\. They took /,
  );
  const polls = watch.getByRole('table', { name: 'Polls of “by hand”, newest first' }).getByRole('row');
  await sees(polls.nth(1).getByText('fired'));
  await sees(polls.nth(2).getByText('said nothing'));

  await button(watch, 'Cancel …').click();
  await button(watch, 'Cancel the watch').click();
  await misses(watch);
  await dialog.getByLabel('also those that have ended').check();
  await sees(watch.getByText('Ended: it was cancelled', { exact: true }));
  await button(dialog, 'Close').click();
  await sees(fire(page, 'by hand').getByText('Watch “by hand” fired: its condition holds.'));
  await reads(answers(page), 'So it is done.');
  await sees(transcript(page).getByText('Watch “by hand” cancelled', { exact: true }));
});

it('says at which column a condition is wrong and what to write instead, before and when it is made (D-83)', async () => {
  const { page } = await world.workstream('Spelled wrongly');
  const dialog = await newWatch(page, 'Spelled wrongly');
  await field(dialog, 'Command').fill('cat state.json');
  await field(dialog, 'Condition').fill('data.state == "MERGED" and exit_code == 0');
  await button(dialog, 'Try the condition').click();
  const said = dialog.getByTestId('trial');
  await sees(said.getByText('It is wrong in line 1, column 24. CEL does not know and: write &&.'));
  expect(await said.locator('mark').textContent()).toBe('a');

  await button(dialog, 'Make the watch').click();
  await sees(dialog.getByRole('alert').getByText('CEL does not know and: write &&.', { exact: false }));
  expect(await field(dialog, 'Condition').getAttribute('aria-invalid')).toBe('true');
  await field(dialog, 'Condition').fill('data.state == "MERGED" && exit_code == 0');
  await misses(dialog.getByRole('alert'));
  await button(dialog, 'Make the watch').click();
  await sees(card(dialog, 'watch-1'));
  await button(dialog, 'Close').click();
  await sees(button(head(page), '1 watch'));
  expect(await message(page).isEnabled()).toBe(true);
});

it('says all that is wrong with what was typed at once, and goes to the first of it (D-80)', async () => {
  const { page } = await world.workstream('All at once');
  const dialog = await newWatch(page, 'All at once');
  // It is read from its beginning (broke: what has the focus was scrolled to, and the title was cut off).
  await sees(dialog.getByRole('heading', { name: 'New watch' }));
  expect(await dialog.evaluate((element) => element.scrollTop)).toBe(0);
  await field(dialog, 'Every').fill('often');
  await field(dialog, 'Condition').fill('exit_code == 0 and changed');
  await field(dialog, 'Deadline').fill('soon');
  await button(dialog, 'Make the watch').click();
  await expect
    .poll(() => dialog.getByRole('alert').allInnerTexts())
    .toEqual([
      'Say which command to run.',
      '"often" is no duration. Write it as 30s, 5m, 2h30m, 90 (seconds) or PT5M.',
      expect.stringMatching(/^Column 16: CEL does not know and: write &&\./),
      '"soon" is no duration. Write it as 30s, 5m, 2h30m, 90 (seconds) or PT5M.',
    ]);
  await expect.poll(() => hasFocus(field(dialog, 'Command'))).toBe(true);
  await field(dialog, 'Command').fill('true');
  await misses(dialog.getByText('Say which command to run.'));
  expect(await dialog.getByRole('alert').count()).toBe(3);
});

it('says late what is wrong with a condition, beside what was typed meanwhile, and only while that condition stands there (D-80)', async () => {
  const { page } = await world.workstream('Said late');
  const dialog = await newWatch(page, 'Said late');
  const late: (() => Promise<void>)[] = [];
  await page.route('**/graphql', async (route) => {
    if (carries(route, 'TryWatchCondition')) late.push(() => route.continue());
    else await route.continue();
  });
  const answered = async () => {
    const answer = page.waitForResponse((response) => carries(response, 'TryWatchCondition'));
    await late.shift()!();
    await (await answer).finished();
  };
  const [command, condition] = [field(dialog, 'Command'), field(dialog, 'Condition')];
  const noCommand = dialog.getByText('Say which command to run.');
  const wrong = dialog.getByRole('alert').getByText(/CEL does not know/);
  await condition.fill('changed and true');
  await button(dialog, 'Make the watch').click();
  await sees(noCommand);
  await expect.poll(() => hasFocus(command)).toBe(true);
  await expect.poll(() => late.length).toBe(1);
  await command.fill('true');
  await misses(noCommand);
  await field(dialog, 'Every').focus();
  await answered();
  await sees(wrong);
  expect(await hasFocus(field(dialog, 'Every'))).toBe(true);
  expect(await noCommand.count()).toBe(0);

  await command.fill('');
  await button(dialog, 'Make the watch').click();
  await sees(noCommand);
  await expect.poll(() => late.length).toBe(1);
  await condition.fill('changed');
  await answered();
  // What is answered after it is shown, so it was heard.
  await page.unroute('**/graphql');
  await button(dialog, 'Try the condition').click();
  await sees(dialog.getByTestId('trial').locator('strong'));
  expect(await wrong.count()).toBe(0);
});

it('is tried by what its watch has put out last, also while its form is open (D-83)', async () => {
  const { id, page, folder } = await world.workstream('Tried anew');
  writes(folder, 'OPEN');
  const dialog = await newWatch(page, 'Tried anew');
  await field(dialog, 'Command').fill('cat state.json');
  await field(dialog, 'Every').fill('1h');
  await field(dialog, 'Condition').fill('exit_code == 1');
  await button(dialog, 'Make the watch').click();
  await button(card(dialog, 'watch-1'), 'Edit').click();
  await field(dialog, 'Condition').fill('data.state == "MERGED"');
  const [last, sample] = [dialog.getByLabel('by its last output'), field(dialog, 'Sample of the output')];
  await sample.fill('{"state":"OP');
  expect(await last.count()).toBe(0);

  const elsewhere = await opensWatches(await world.person('Bob', `/w/${id}`));
  const watch = card(elsewhere, 'watch-1');
  await button(watch, 'Run now').click();
  await sees(last);
  expect(await sample.inputValue()).toBe('{"state":"OP');
  await last.check();
  await button(dialog, 'Try the condition').click();
  await sees(dialog.getByText('Does not hold: it would not fire.'));

  writes(folder, 'MERGED');
  await button(watch, 'Run now').click();
  await sees(watch.getByText(/^2 of 100 polls, never fired, /));
  await sees(dialog.getByText('HOLDS: it would fire.'));
});

it('says that a watch has ended and why where it was shown, until that is dismissed, and keeps the keyboard there (D-80)', async () => {
  world.provider.script([{ stream: ['So I have heard.'] }]);
  const { page, folder } = await world.workstream('Ends in sight');
  writes(folder, 'OPEN');
  const dialog = await newWatch(page, 'Ends in sight');
  await field(dialog, 'Command').fill('cat state.json');
  await field(dialog, 'Condition').fill('data.state == "MERGED"');
  await button(dialog, 'Make the watch').click();
  const watch = card(dialog, 'watch-1');
  await button(watch, 'Pause').press('Enter');
  await sees(button(watch, 'Resume and run'));
  await expect.poll(() => hasFocus(watch)).toBe(true);
  await button(watch, 'Resume and run').click();
  await sees(watch.getByText(/^1 of 100 polls, never fired, /));
  writes(folder, 'MERGED');
  await button(watch, 'Run now').click();
  await misses(watch);
  const said = dialog.getByText('“watch-1” has ended: it fired.');
  await sees(said);
  await button(dialog, 'Dismiss').press('Enter');
  await misses(said);
  await expect.poll(() => dialog.locator(':focus').count()).toBe(1);
  await dialog.getByLabel('also those that have ended').check();
  await sees(watch.getByText('Ended: it fired', { exact: true }));
  await button(dialog, 'Close').click();
  await sees(
    transcript(page).getByText('Watch “watch-1” resumed, and told to poll at once', { exact: true }),
  );
  await reads(answers(page), 'So I have heard.');
});
