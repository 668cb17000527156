/**
 * Owns: that what a model says and what a tool prints stays text on the page, whatever it is and however much.
 * That nothing of it is fetched or asked in a dialog is held by every test (`../support/browser.ts`).
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { createBrowserWorld } from '../support/browser.ts';
import { answers, button, call, head, inState, question, reads, say, sees } from '../support/page.ts';

const world = createBrowserWorld();

const shell = (command: string) => ({ call: { name: 'shell', arguments: { command } } });

/** Each would set `window.hacked`, open a dialog or fetch from elsewhere if it were more than text. */
const attacks = [
  '<script>window.hacked = 1; alert(1)</script>',
  '<img src=x onerror="window.hacked = 2; alert(2)">',
  '<svg onload="window.hacked = 3"><animate onbegin="window.hacked = 4" attributeName="x"></svg>',
  '<iframe srcdoc="<script>parent.hacked = 5</script>"></iframe>',
  '<style>@import "http://evil.example/a.css"; * { background: url(http://evil.example/b.png) }</style>',
  '<link rel="stylesheet" href="http://evil.example/c.css"><base href="http://evil.example/">',
  '<form action="http://evil.example/"><button>Approve</button></form>',
  '<a href="javascript:window.hacked=6" onclick="window.hacked=7">click</a>',
  '[markdown link](javascript:window.hacked=8)',
  '[other link](data:text/html,<script>alert(9)</script>)',
  '![picture](http://evil.example/d.png)',
  '![x](x" onerror="window.hacked=10)',
  '<javascript:window.hacked=11>',
  '[id]: javascript:window.hacked=12',
  '[reference][id]',
  '<div id="app" class="veil" style="position:fixed;inset:0">over everything</div>',
];

it('shows markup and links of a model as text or harmless links, and runs none of it', async () => {
  world.provider.script([
    { stream: [{ reasoning: attacks.join('\n\n') }, ...attacks.map((attack) => `${attack}\n\n`)] },
  ]);
  const { page } = await world.workstream('Hostile answer');
  await say(page, 'Attack me.');
  await inState(page, 'Idle');
  await page.getByText('Reasoning', { exact: true }).click();
  const script = answers(page).getByText('<script>window.hacked = 1; alert(1)</script>');
  await sees(script.first());
  await sees(script.last());
  await holdsNothingHostile(page);
  expect(
    await answers(page).locator('script, img, svg, iframe, style, link, form, button, base').count(),
  ).toBe(0);
  expect(await answers(page).getByRole('link', { name: 'picture' }).first().getAttribute('rel')).toBe(
    'noopener noreferrer',
  );
});

it('shows names, commands and output as text, with what is invisible made visible', async () => {
  const output = [
    ...attacks,
    '\u001b[31mred\u001b[0m \u001b]8;;http://evil.example/\u0007a link\u001b]8;;\u0007',
    '\u001b[2J\u001b[H cleared \u0007 bell \b back',
    'rtl \u202egnp.exe\u202c',
  ].join('\n');
  const hidden = `cat out.txt # ${attacks[1]} \u202e\u200b\u001b[8m; rm -rf /`;
  world.provider.script([{ stream: [shell(hidden)] }, { stream: ['Shown.'] }]);
  const folder = world.folder('<img src=x onerror=alert(1)>');
  writeFileSync(join(folder, 'out.txt'), output);
  const id = await world.api.create({ title: '<img src=x onerror=alert(1)>', workspace: folder });
  const page = await world.open(`/w/${id}`);
  await sees(head(page).getByRole('heading', { name: '<img src=x onerror=alert(1)>' }));
  await say(page, attacks.join('\n'));
  expect(await question(page, 'shell').getByLabel('Command').innerText()).toBe(
    `cat out.txt # ${attacks[1]} ⟨U+202E⟩⟨U+200B⟩⟨U+001B⟩[8m; rm -rf /`,
  );
  await button(question(page, 'shell'), 'Approve').click();
  await reads(answers(page), 'Shown.');
  await holdsNothingHostile(page);
  const result = await call(page, 'shell').getByLabel('Result').textContent();
  for (const attack of attacks) expect(result).toContain(attack);
});

it('stays usable while an answer of 20,000 pieces comes', async () => {
  const pieces = Array.from({ length: 20_000 }, (_, i) => `word${i}${i % 25 === 24 ? '\n\n' : ' '}`);
  world.provider.script([{ stream: [...pieces, 'The last one.', { gate: 'all sent' }] }]);
  const { page } = await world.workstream('Many pieces');
  await say(page, 'Say a lot.');
  await sees(answers(page).getByText(/word100\b/));
  // In the midst of it another page opens, and this one again.
  await page.getByRole('link', { name: 'Server' }).click();
  await sees(page.getByRole('heading', { name: 'Server', level: 1 }));
  await page.getByRole('link', { name: /^Many pieces/ }).click();
  await sees(answers(page).getByText('The last one.'));
  await button(page, 'Stop').click();
  await inState(page, 'Idle');
  const words = (await answers(page).innerText()).match(/word\d+/g) ?? [];
  expect(words).toEqual(pieces.map((piece) => piece.trim()));
});

it('stays usable under a megabyte of output, and shows what was kept of it', async () => {
  const command = 'mkfifo go; yes 0123456789abcde | head -c 1048576; read -r word < go; echo "the $word"';
  world.provider.script([{ stream: [shell(command)] }, { stream: ['That was much.'] }]);
  const { page, folder } = await world.workstream('Much output');
  await say(page, 'Print a lot.');
  await button(question(page, 'shell'), 'Approve').click();
  await sees(call(page, 'shell').getByLabel('Live output'));
  await page.getByRole('link', { name: 'Server' }).click();
  await sees(page.getByRole('heading', { name: 'Server', level: 1 }));
  await page.goBack();
  await sees(call(page, 'shell').getByLabel('Live output'));
  writeFileSync(join(folder, 'go'), 'end\n');
  await reads(answers(page), 'That was much.');
  await call(page, 'shell').getByText('Result', { exact: true }).click();
  await sees(
    call(page, 'shell')
      .getByLabel('Result')
      .getByText(/the end\n\[exit code 0\]$/),
  );
  const shown = (await call(page, 'shell').getByLabel('Result').textContent()) ?? '';
  expect(shown.length).toBeLessThan(100_000);
  await inState(page, 'Idle');
});

async function holdsNothingHostile(page: Page): Promise<void> {
  const links = await page
    .getByRole('link')
    .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
  expect(links.filter((href) => !/^(?:#|https?:|mailto:)/.test(href))).toEqual([]);
  expect(await page.locator('[onerror], [onload], [onclick], [onbegin], [srcdoc]').count()).toBe(0);
  expect(await page.evaluate('window.hacked ?? null')).toBeNull();
}
