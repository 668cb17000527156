/**
 * Owns: what a person sees and does about models: choosing one for a new workstream and in the middle of a turn, who
 * answered, what is waited for, how the models are doing, and one that is not set up any more.
 * Does not own: who is asked and when (the server's tests).
 *
 * There are two providers, with these models: `main` and `narrow` and `flaky` at one, `spare` at the other.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, expect, it } from 'vitest';
import { modelsQuery } from 'schema/client-kit';
import { startScriptedProvider } from '../../server/test/support/scripted-provider.ts';
import { createBrowserWorld, out, patienceMs } from '../support/browser.ts';
import {
  answers,
  button,
  hasFocus,
  head,
  inState,
  message,
  misses,
  question,
  reads,
  say,
  sees,
  tabTo,
  transcript,
} from '../support/page.ts';
import { makePlace } from '../support/weir.ts';

const listed = { near: ['big-1', 'narrow-1', 'flaky-1'], far: ['small-1'] };
let near = await startScriptedProvider({ models: listed.near });
let far = await startScriptedProvider({ models: listed.far });
const place = makePlace();
const modelFile = join(place.root, 'weir.config.json');

const efforts = { capabilities: { efforts: ['low', 'high'] } };
const settings = {
  default: 'main',
  models: {
    main: {
      endpoint: near.url,
      model: 'big-1',
      fallbacks: ['spare'],
      window: 131_072,
      effort: 'low',
      price: { input: 2.5, output: 10 },
      ...efforts,
    },
    spare: { endpoint: far.url, model: 'small-1', window: 8_192, ...efforts },
    narrow: { endpoint: near.url, model: 'narrow-1', concurrency: 1 },
    // Another address of the same provider, so that what it fails at says nothing of the others.
    flaky: { endpoint: near.url.replace('127.0.0.1', 'localhost'), model: 'flaky-1' },
  },
};
const setUp = (models: object): void =>
  writeFileSync(modelFile, JSON.stringify({ default: 'main', models }, null, 2));
setUp(settings.models);

// Registered before those of the world, so that it runs after them, when nothing is asked of the providers any more.
afterEach(async () => {
  try {
    near.assertDone();
    far.assertDone();
  } finally {
    await Promise.all([near.close(), far.close()]);
    [near, far] = await Promise.all([
      startScriptedProvider({ port: near.port, models: listed.near }),
      startScriptedProvider({ port: far.port, models: listed.far }),
    ]);
  }
});
afterAll(() => Promise.all([near.close(), far.close()]));

const world = createBrowserWorld({ model: 'demo', place, server: { env: { WEIR_CONFIG: modelFile } } });

const control = (page: Page): Locator => head(page).getByRole('button', { name: /^Model: / });
const dialog = (page: Page): Locator => page.getByRole('dialog', { name: 'The model that answers' });
const shell = { call: { name: 'shell', arguments: { command: 'true' } } };

async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(out, { recursive: true });
  for (const [width, height] of [
    [390, 844],
    [1280, 800],
  ] as const) {
    await page.setViewportSize({ width, height });
    expect(await page.evaluate('document.documentElement.scrollWidth > innerWidth')).toBe(false);
    await page.screenshot({
      path: join(out, `models-${name}-${width}x${height}.png`),
      animations: 'disabled',
    });
  }
}

it('D-36 chooses another model in the middle of a turn by keyboard alone, and the next call goes to that one', async () => {
  near.script([{ stream: ['Let me look. ', shell] }]);
  far.script([{ stream: ['All is well.'], usage: { prompt_tokens: 1_234, completion_tokens: 56 } }]);
  const { page } = await world.workstream('In mid turn', 'main');
  await reads(control(page), 'Model: main');
  await say(page, 'Look.');
  await sees(question(page, 'shell'));
  expect(near.requests[0]).toMatchObject({ model: 'big-1', reasoning_effort: 'low' });
  expect(near.requests[0]).not.toHaveProperty('temperature');

  await control(page).focus();
  await page.keyboard.press('Enter');
  await sees(
    dialog(page).getByText(
      'Counts from the next model call, also within the turn that runs, and for a call that only waits.',
    ),
  );
  await tabTo(page, dialog(page).getByRole('radio', { name: 'main' }));
  await page.keyboard.press('ArrowDown');
  expect(await dialog(page).getByRole('radio', { name: 'spare' }).isChecked()).toBe(true);
  const effort = dialog(page).getByRole('combobox', { name: 'Effort' });
  await tabTo(page, effort);
  expect(await effort.locator('option').allInnerTexts()).toEqual(['As set up', 'low', 'high']);
  await page.keyboard.press('End');
  const temperature = dialog(page).getByRole('textbox', { name: 'Temperature' });
  await tabTo(page, temperature);
  await page.keyboard.type('3');
  await page.keyboard.press('Enter');
  await sees(dialog(page).getByText('Write a number from 0 to 2, or leave it empty.'));
  expect(await hasFocus(temperature)).toBe(true);
  await picture(page, 'choosing');
  await page.keyboard.press('Backspace');
  await page.keyboard.type('0.3');
  await page.keyboard.press('Enter');
  await misses(dialog(page));
  await reads(control(page), 'Model: spare temperature 0.3 · effort high');
  await expect.poll(() => hasFocus(control(page))).toBe(true);
  await sees(transcript(page).getByText('Now with the model spare (temperature 0.3 · effort high)'));

  await button(question(page, 'shell'), 'Deny').click();
  await reads(answers(page).nth(1), 'All is well.');
  await inState(page, 'Idle');
  expect(far.requests).toMatchObject([{ model: 'small-1', temperature: 0.3, reasoning_effort: 'high' }]);
  expect(near.requests).toHaveLength(1);
  // It was chosen, so nobody stood in for anybody.
  expect(await transcript(page).getByText('answered by').count()).toBe(0);
  await sees(transcript(page).getByText('Tokens: 1,234 in, 56 out'));
});

it('D-37 says which model is asked in place of the chosen one and why, and under the answer who gave it', async () => {
  near.script([{ status: 401, body: { error: { message: 'Wrong key.' } } }]);
  far.script([{ stream: [{ gate: 'begin' }, 'From the other one.'] }]);
  const { page } = await world.workstream('Stand in', 'main');
  await say(page, 'Who are you?');
  await far.waitForGate('begin');
  const said = transcript(page).getByRole('status');
  await sees(said.getByText('"spare" is asked in place of "main".'));
  await sees(said.getByText(/Asking another model\.$/));
  await picture(page, 'fallback');
  far.release('begin');
  await reads(answers(page), 'From the other one. answered by spare');
  expect(await said.count()).toBe(0);
  await inState(page, 'Idle');
  await picture(page, 'answered-by');
});

it('D-36 says that a call waits for a slot until its answer begins, and how many wait', async () => {
  near.script([
    { stream: ['At work. ', { gate: 'done' }, 'Done.'] },
    { stream: [{ gate: 'begin' }, 'Now me.'] },
  ]);
  const { page: first } = await world.workstream('Has the slot', 'narrow');
  const { page: second } = await world.workstream('Waits for it', 'narrow');
  await say(first, 'Work.');
  await near.waitForGate('done');
  await say(second, 'Work, too.');
  const waits = transcript(second).getByText(
    'Waiting for a slot: "narrow" takes one call at a time, and this one is next.',
  );
  await sees(waits);

  const onServer = await world.open('/server');
  const row = onServer.getByRole('row', { name: /^narrow/ });
  await sees(row.getByText('1 of 1 in use, 1 waiting'));
  await sees(onServer.getByRole('row', { name: /^main/ }).getByText('128k tokens'));
  await sees(onServer.getByRole('row', { name: /^main/ }).getByText('$2.50 in, $10 out'));
  await picture(onServer, 'server');
  await control(second).click();
  await sees(dialog(second).getByText('1 of 1 in use, 1 waiting'));
  await second.keyboard.press('Escape');
  // Esc means the dialog, not the turn.
  await sees(waits);
  // What is queued meanwhile does not answer it.
  await say(second, 'And then?');
  await sees(second.getByText('One message waits until this turn ends.'));
  await sees(waits);
  await picture(second, 'waiting');

  near.script([{ stream: ['Then rest.'] }]);
  near.release('done');
  await inState(first, 'Idle');
  await near.waitForGate('begin');
  // The table keeps itself true while it is looked at.
  await sees(row.getByText('1 of 1 in use, 0 waiting'));
  near.release('begin');
  await reads(answers(second).first(), 'Now me.');
  await misses(waits);
  await reads(answers(second).nth(1), 'Then rest.');
  await inState(second, 'Idle');
});

it('D-37 says when a call is tried again, and of a model that fails again and again that it is degraded', async () => {
  const busy = { status: 503, headers: { 'retry-after-ms': '1' } };
  near.script([busy, busy, busy, { stream: [{ gate: 'begin' }, 'At last.'] }]);
  const { page } = await world.workstream('Tries again', 'flaky');
  await say(page, 'Please.');
  await near.waitForGate('begin');
  await sees(transcript(page).getByText(/Trying again in 1 s \(attempt 4 of 4\)\.$/));
  near.release('begin');
  await reads(answers(page), 'At last.');
  await inState(page, 'Idle');

  near.script([busy, busy, busy, busy]);
  await say(page, 'Again.');
  await inState(page, 'Failed');
  near.script([busy, busy, busy, busy]);
  await say(page, 'And again.');
  await near.waitForRequest(12);
  await inState(page, 'Failed');
  await control(page).click();
  const choice = dialog(page).locator('label').filter({ hasText: 'flaky' });
  await sees(choice.getByText('Degraded'));
  await sees(choice.getByText(/calls in a row failed, so it is asked last for a while\./));
  await picture(page, 'degraded');
});

it('makes a workstream with a model that is told by its health and size, and with how it is to answer', async () => {
  far.script([{ stream: ['Here I am.'] }]);
  const page = await world.open('/new');
  const model = page.getByRole('combobox', { name: 'Model' });
  await model.selectOption('spare');
  const form = page.getByRole('form', { name: 'New workstream' });
  await reads(model.locator('option:checked'), `spare (small-1 at 127.0.0.1:${far.port})`);
  await sees(form.getByText('Healthy'));
  await sees(form.getByText('8k tokens'));
  const temperature = form.getByRole('textbox', { name: 'Temperature' });
  expect(await temperature.isVisible()).toBe(false);
  await form.getByText('More', { exact: true }).click();
  await temperature.fill('hot');
  await form.getByText('More', { exact: true }).click();
  await button(page, 'Create workstream').click();
  // It opens what is wrong.
  await sees(form.getByText('Write a number from 0 to 2, or leave it empty.'));
  await expect.poll(() => hasFocus(temperature)).toBe(true);
  await picture(page, 'new');
  await temperature.fill('1,5');
  await form.getByRole('combobox', { name: 'Effort' }).selectOption('high');
  await page.getByRole('textbox', { name: 'Workspace folder' }).fill(world.folder('tuned'));
  await button(page, 'Create workstream').click();
  await reads(control(page), 'Model: spare temperature 1.5 · effort high');
  await say(page, 'Are you there?');
  await reads(answers(page), 'Here I am.');
  await inState(page, 'Idle');
  expect(far.requests).toMatchObject([{ model: 'small-1', temperature: 1.5, reasoning_effort: 'high' }]);
});

it('says while the page is open that the model file has faults, once, and takes that back', async () => {
  const page = await world.open('/server');
  await sees(page.getByRole('row', { name: /^main/ }));
  const warnings = page.getByText(/has faults, so the settings from before are in use\. It is not JSON/);
  await misses(warnings);
  writeFileSync(modelFile, '{');
  await sees(warnings);
  await sees(page.getByRole('row', { name: /^main/ }));
  await misses(page.getByRole('region', { name: 'Warnings of the server' }));
  setUp(settings.models);
  await misses(warnings);
});

it('tells of warnings on one line of every other page, which opens, and says what is new until it was looked at', async () => {
  writeFileSync(modelFile, '{');
  const faults = async () => {
    const answer = await world.api.transport.request(modelsQuery, {});
    return answer.ok && answer.data.server.warnings.some((warning) => warning.includes('has faults'));
  };
  await expect.poll(faults, { timeout: patienceMs }).toBe(true);
  const { page } = await world.workstream('With warnings', 'demo');
  const warned = page.getByRole('region', { name: 'Warnings of the server' });
  const line = warned.getByRole('status');
  const fault = warned.getByText(/has faults, so the settings from before are in use/);
  for (const [width, height] of [
    [1280, 800],
    [390, 844],
  ] as const) {
    await page.setViewportSize({ width, height });
    await expect.poll(() => line.innerText(), { timeout: patienceMs }).toMatch(/^\d+ warnings?, new$/);
    expect((await warned.boundingBox())!.height).toBeLessThan(40);
    expect(await fault.isVisible()).toBe(false);
  }
  await picture(page, 'warned');
  await button(warned, 'Show the warnings of the server').click();
  await sees(fault);
  expect(await line.innerText()).toMatch(/^\d+ warnings?$/);
  await picture(page, 'warned-open');
  await button(warned, 'Hide the warnings of the server').click();
  await page.reload();
  await expect.poll(() => line.innerText(), { timeout: patienceMs }).toMatch(/^\d+ warnings?$/);
  expect(await fault.isVisible()).toBe(false);

  writeFileSync(modelFile, '{"models": 5}');
  await page.goto(`${world.weir.url}/#/new`);
  await expect.poll(() => line.innerText(), { timeout: patienceMs }).toMatch(/, (1 )?new$/);
  setUp(settings.models);
  await expect.poll(faults, { timeout: patienceMs }).toBe(false);
});

it('says of a workstream whose model is not set up any more that it is so, and lets another one be chosen', async () => {
  const { page } = await world.workstream('Left behind', 'narrow');
  await reads(control(page), 'Model: narrow');
  const { narrow: _, ...left } = settings.models;
  setUp(left);
  const known = async () => {
    const answer = await world.api.transport.request(modelsQuery, {});
    return answer.ok ? answer.data.models.map(({ alias }) => alias) : [];
  };
  await expect.poll(known, { timeout: patienceMs }).toEqual(['main', 'spare', 'flaky', 'demo']);
  await page.reload();
  await sees(page.getByText('The model “narrow” is not set up on this server any more.'));
  await reads(control(page), 'Model: narrow not set up');
  await picture(page, 'gone');
  await button(page, 'Choose a model').click();
  await sees(
    dialog(page)
      .getByRole('alert')
      .getByText(/“narrow” is not among the models/),
  );
  expect(await dialog(page).getByRole('radio', { checked: true }).count()).toBe(0);
  expect(await button(dialog(page), 'Set').isDisabled()).toBe(true);
  await dialog(page).getByRole('radio', { name: 'main' }).check();
  await button(dialog(page), 'Set').click();
  await reads(control(page), 'Model: main');
  await misses(page.getByText(/is not set up on this server any more/));
  await message(page).focus();
});
