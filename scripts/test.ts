/**
 * Owns: one run of every test, and its honesty: it is green only if the report says so too. Does not own: which tests
 * there are (`vitest.config.ts`). Arguments go to vitest: `pnpm test server/test/core`, `pnpm test --project e2e`.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { argv, exit } from 'node:process';
import { findBrowser } from './find-browser.ts';
import { tally } from './lib/report.ts';

const root = join(import.meta.dirname, '..');
const report = join(root, 'out/test-report.json');
const narrowed = argv.slice(2);

// Better to learn before the first minute than after it that there is no browser.
if (narrowed.length === 0) console.log(`Browser for the end-to-end tests: ${await browser()}`);

rmSync(report, { force: true });
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
const { status, signal } = spawnSync('vitest', ['run', ...reporters, ...narrowed], {
  cwd: root,
  stdio: 'inherit',
});
if (signal) console.error(`vitest was ended by ${signal}`);
if (status !== 0) exit(status ?? 1);

if (narrowed.length === 0) {
  const { failed, problems } = tally(readFileSync(report, 'utf8'), root);
  for (const problem of problems) console.error(`✗ ${problem}`);
  if (failed > 0) exit(1);
}

async function browser(): Promise<string> {
  try {
    return await findBrowser();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    exit(1);
  }
}
