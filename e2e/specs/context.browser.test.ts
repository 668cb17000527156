/**
 * Owns: what a person sees and does of a context that fills, of a summary, of a budget and of what was spent, in a
 * browser. Does not own: what the server does of it (`context.test.ts`).
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { asksForSummary, strictly, type Seen } from '../../server/test/support/context-endpoint.ts';
import { startScriptedProvider } from '../../server/test/support/scripted-provider.ts';
import { newKey } from '../support/api.ts';
import { createBrowserWorld } from '../support/browser.ts';
import { answers, button, exchange, head, inState, list, messages, say, sees } from '../support/page.ts';
import { makePlace } from '../support/weir.ts';

const account = 'They spoke of the harbour; its gate is number 17.';
const seen: Seen[] = [];
const provider = await startScriptedProvider();
const answer = strictly(8_000, seen, (body) => ({ text: asksForSummary(body) ? account : 'So it is.' }));
let summarises = true;
provider.respond((body) =>
  summarises || !asksForSummary(body)
    ? answer(body)
    : { status: 400, body: { error: { message: 'No summaries here.', type: 'invalid_request_error' } } },
);
const place = makePlace();
const config = join(place.root, 'weir.config.json');
const model = { endpoint: provider.url, model: 'scripted', window: 8_000 };
writeFileSync(config, JSON.stringify({ models: { small: model } }));
const world = createBrowserWorld({ model: 'demo', place, server: { env: { WEIR_CONFIG: config } } });
afterAll(() => provider.close());

it('fills, is summarised where it stands when a person wants it, goes on, and what it cost is told (D-33, D-40)', async () => {
  const { page } = await world.workstream('Fills');
  const text = 'The tide comes and the tide goes as it always did. '.repeat(40);
  for (let n = 0; n < 4; n += 1) await exchange(page, `${n}: ${text}`, 'So it is.', n);
  const meter = page.getByRole('meter', { name: 'Context used' });
  await expect.poll(async () => Number(await meter.getAttribute('aria-valuenow'))).toBeGreaterThan(2_000);
  const full = Number(await meter.getAttribute('aria-valuenow'));
  expect(await meter.getAttribute('aria-valuemax')).toBe('8000');

  await head(page)
    .getByRole('button', { name: /^Context:/ })
    .click();
  await button(page, 'Summarise now').click();
  const block = page.getByRole('region', { name: 'Summary of older history' });
  await sees(block);
  await inState(page, 'Idle');
  await block.getByText('What the model is told instead').click();
  await sees(block.getByText(account));
  // Nothing is gone.
  expect(await messages(page).count()).toBe(4);
  await expect.poll(async () => Number(await meter.getAttribute('aria-valuenow'))).toBeLessThan(full / 2);

  await exchange(page, 'And now?', 'So it is.', 4);
  expect(JSON.stringify(provider.requests.at(-1))).toContain(account);
  await page.reload();
  await sees(block);

  const spent = seen.reduce((sum, { usage }) => sum + usage!.prompt_tokens + usage!.completion_tokens, 0);
  await page.getByRole('link', { name: 'Usage' }).click();
  await sees(page.getByText(new Intl.NumberFormat('en').format(spent)).first());
});

it('asks for the budget, goes on when it is granted, and ends where it is denied (D-33)', async () => {
  const { id, page } = await world.workstream('Budget');
  const { errors } = await world.api.query(
    `mutation ($input: ConfigureWorkstreamInput!) { configureWorkstream(input: $input) { __typename } }`,
    { input: { key: newKey(), workstreamId: id, tokenBudget: 1_000 } },
  );
  expect(errors).toEqual([]);
  await exchange(page, 'One.', 'So it is.', 0);
  await say(page, 'Two.');
  const card = page.getByRole('region', { name: 'Approval needed: token budget', exact: true });
  await sees(card);
  await inState(page, 'Needs you');
  await card.getByRole('button', { name: /1,000/ }).click();
  await inState(page, 'Idle');
  await sees(answers(page).nth(1));
  await say(page, 'Three.');
  await button(card, 'Deny').click();
  await expect.poll(() => page.getByRole('region', { name: 'Token budget', exact: true }).count()).toBe(2);
  expect(await answers(page).count()).toBe(2);
  expect(await messages(page).count()).toBe(3);
});

it('tells in the transcript that a summary which was asked for failed, and has nothing to mark as failed (D-40; broke: the workstream did)', async () => {
  const { page, title } = await world.workstream('Not summarised');
  const text = 'The tide comes and the tide goes as it always did. '.repeat(40);
  for (let n = 0; n < 3; n += 1) await exchange(page, `${n}: ${text}`, 'So it is.', n);
  summarises = false;
  await head(page)
    .getByRole('button', { name: /^Context:/ })
    .click();
  await button(page, 'Summarise now').click();
  const told = page.getByRole('alert').filter({ hasText: 'No summary was made.' });
  await sees(told);
  expect(await told.innerText()).toContain('The conversation is as it was.');
  await inState(page, 'Idle');
  await sees(list(page).getByRole('link', { name: new RegExp(`^${title}\\s+Idle`) }));
  summarises = true;
});

it('has one line below the title on a phone, however full the context is and with watches beside it (broke: it wrapped)', async () => {
  const { id, page } = await world.workstream('One line');
  for (const name of ['one', 'two']) {
    const { data } = await world.api.query<{ createWatch: { __typename: string } }>(
      'mutation ($input: CreateWatchInput!) { createWatch(input: $input) { __typename } }',
      { input: { key: newKey(), workstreamId: id, name, command: 'true', every: '24h' } },
    );
    expect(data?.createWatch.__typename).toBe('CreateWatchPayload');
  }
  await page.setViewportSize({ width: 390, height: 844 });
  summarises = false;
  const text = 'The tide comes and the tide goes as it always did. '.repeat(40);
  const [full, watches] = [head(page).getByText('nearly full'), button(head(page), '2 watches')];
  const middle = async (there: Locator) => {
    const { y, height } = (await there.boundingBox())!;
    return y + height / 2;
  };
  for (let n = 0; (await full.count()) === 0; n += 1) await exchange(page, `${n}: ${text}`, 'So it is.', n);
  summarises = true;
  for (const there of [full, watches])
    expect(await middle(there)).toBeCloseTo(
      await middle(head(page).getByRole('link', { name: 'Search' })),
      -1,
    );
});

it('says before it is tried that the demo cannot summarise (D-40)', async () => {
  const { page } = await world.workstream('With the demo', 'demo');
  await exchange(page, 'say: hello', 'hello');
  await head(page)
    .getByRole('button', { name: /^Context:/ })
    .click();
  await sees(page.getByRole('dialog').getByText(/^The demo is no language model and cannot summarise\./));
  expect(await button(page, 'Summarise now').isDisabled()).toBe(true);
});
