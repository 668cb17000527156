/**
 * Owns: what is looked at for a night: made-up lives of the server, of its workstreams by the model of
 * `lifecycle-model.test.ts`, and of their watches by that of `watch-model.test.ts`, from other seeds each day.
 *
 *   pnpm nightly [--runs N] [--lives N] [--minutes M] [--seed S]
 *
 * Runs all whatever the first finds, and ends with the line of each; status 1 when a law failed or a line is missing.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { argv, env, execPath, exit, stdout } from 'node:process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  // `pnpm nightly -- --minutes 10` is a habit from npm.
  args: argv.slice(2).filter((arg) => arg !== '--'),
  options: {
    /** Lives of the simulation. */
    runs: { type: 'string', default: '100000' },
    /** Lives of each model. */
    lives: { type: 'string', default: '10000' },
    /** After so many no more lives of the simulation begin. */
    minutes: { type: 'string' },
    /** Of all; the day, unless it is given. */
    seed: { type: 'string', default: new Date().toISOString().slice(0, 10).replaceAll('-', '') },
  },
});
const root = join(import.meta.dirname, '..');

const sim = await run(execPath, [
  join(import.meta.dirname, 'sim.ts'),
  ...['--runs', values.runs, '--seed', `${values.seed}00000`],
  ...(values.minutes === undefined ? [] : ['--minutes', values.minutes]),
]);
const model = await run('vitest', ['run', '--project', 'server', 'server/test/app/lifecycle-model.test.ts'], {
  LIFECYCLE_RUNS: values.lives,
  LIFECYCLE_SEED: values.seed,
});
const watches = await run('vitest', ['run', '--project', 'server', 'server/test/app/watch-model.test.ts'], {
  WATCHES_RUNS: values.lives,
  WATCHES_SEED: values.seed,
});
const lines = [
  lineOf(sim, /^sim: .*$/m) ?? 'sim: came to no end',
  lineOf(model, /^lifecycle: .*$/m) ?? `lifecycle: a life broke a rule, seed ${values.seed}`,
  lineOf(watches, /^watches: .*$/m) ?? `watches: a life broke a rule, seed ${values.seed}`,
];
console.log(`\n${lines.join('\n')}`);
exit([sim, model, watches].every(({ status }) => status === 0) ? 0 : 1);

interface Ended {
  readonly status: number | null;
  readonly out: string;
}

/** Its output is shown as it comes, and kept. */
function run(command: string, args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...env, ...more },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      stdout.write(text);
    });
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, out }));
  });
}

/** The line like this, without the colours of a terminal. */
function lineOf({ out }: Ended, like: RegExp): string | null {
  // eslint-disable-next-line no-control-regex -- that is what a colour begins with
  return like.exec(out.replaceAll(/\u001b\[[\d;]*m/g, ''))?.[0] ?? null;
}
