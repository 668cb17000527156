/**
 * Owns: the one gate. What CI checks is this file; `.ci/run` only brings the machine to where it can run.
 *
 * Every gate runs, whatever failed before it. The closing line counts each gate as one and each test as one, the tests
 * by vitest's own report; a test run that left no report, or ended badly without a failed test, is a failure.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { exit, hrtime } from 'node:process';
import { tally, type Tally } from './lib/report.ts';

/** Scripts of package.json, and what each one proves. Cheap ones first: most mistakes show there. */
const gates = [
  ['check', 'types'],
  ['lint', 'lint, the GraphQL schema included'],
  ['format:check', 'format'],
  ['deps', 'dependency direction'],
  ['unused', 'unused files, exports and packages'],
  ['versions', 'one version of each package'],
  ['schema:check', 'printed schema and its types are current'],
] as const;

const root = join(import.meta.dirname, '..');
const report = join(root, 'out/test-report.json');
const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  packageManager: string;
};

const lines: string[] = [];
let passed = 0;
let failed = 0;

for (const [script, proves] of gates) {
  const { ok, took } = run(`${script}: ${proves}`, 'pnpm', ['run', '--silent', script]);
  note(ok, `${script} (${proves})`, took);
}

rmSync(report, { force: true });
// Word for word the command of the README.
const tests = run('test: every test', 'npx', ['-y', packageManager, 'test']);
const counts = testCounts(tests.ok);
passed += counts.passed;
failed += counts.failed;
lines.push(
  `${counts.failed === 0 ? '✓' : '✗'} test: ${counts.passed} passed, ${counts.failed} failed ${tests.took}`,
);
lines.push(...counts.problems.map((problem) => `  ✗ ${problem}`));
lines.push(...counts.skipped.map((test) => `  - left out here: ${test}`));

console.log(`\n${lines.join('\n')}\n\n${passed} passed, ${failed} failed`);
exit(failed === 0 && passed > 0 ? 0 : 1);

function run(
  title: string,
  command: string,
  args: readonly string[],
): { readonly ok: boolean; readonly took: string } {
  console.log(`\n▶ ${title}`);
  const began = hrtime.bigint();
  const { status, signal, error } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (error) console.error(`${command} could not be started: ${error.message}`);
  if (signal) console.error(`${command} was ended by ${signal}`);
  return { ok: status === 0, took: `${(Number(hrtime.bigint() - began) / 1e9).toFixed(1)} s` };
}

function note(ok: boolean, what: string, took: string): void {
  if (ok) passed += 1;
  else failed += 1;
  lines.push(`${ok ? '✓' : '✗'} ${what} ${took}`);
  console.log(lines.at(-1));
}

function testCounts(exitedWell: boolean): Tally {
  try {
    const counted = tally(readFileSync(report, 'utf8'), root);
    if (exitedWell || counted.failed > 0) return counted;
    const problem = 'the test run failed outside its tests (a crash, an unhandled error or a failed set-up)';
    return { ...counted, failed: 1, problems: [...counted.problems, problem] };
  } catch (error) {
    return { passed: 0, failed: 1, problems: [`the test run left no report: ${String(error)}`], skipped: [] };
  }
}
