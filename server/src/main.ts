/**
 * Owns: the process: its configuration, what it prints, its signals, its exit code.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { checkModelFile, start } from './compose.ts';
import { readConfig } from './config.ts';
import { StorageUnavailableError } from './ports/storage-unavailable.ts';

/** Where the person stood who gave the command: pnpm moves to the project first. */
const cwd = process.env['INIT_CWD'] ?? process.cwd();
/** A stop that takes longer than this is cut short, milliseconds. */
const stopTermMs = 9_500;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const complain = (line: string): void => void process.stderr.write(`${line}\n`);

/** `pnpm start -- --help` hands the dashes on. */
const args = process.argv.slice(2).filter((argument, i) => !(i === 0 && argument === '--'));
const outcome = readConfig(process.env, args, cwd, checkModelFile);
if (outcome.type === 'help') {
  print(outcome.text);
} else if (outcome.type === 'invalid') {
  complain('The configuration has problems:');
  for (const problem of outcome.problems) complain(`  - ${problem}`);
  complain('What can be set: npx -y pnpm@12.4.2 start -- --help');
  process.exitCode = 2;
} else {
  await run(outcome.config, outcome.warnings);
}

async function run(config: Parameters<typeof start>[0], warnings: readonly string[]): Promise<void> {
  // Before there is anything to stop in order: nothing was accepted yet, and the database dies with its parent.
  const early = (): never => process.exit(0);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, early);
  const started = await start(config, print);
  if (started.type === 'refused') {
    complain(started.message);
    process.exit(1);
  }
  const { server } = started;

  // First of all: who reads the link may at once send a signal.
  let stopping = false;
  let exitCode = 0;
  const stop = (code: number): void => {
    exitCode = Math.max(exitCode, code);
    if (stopping) return;
    stopping = true;
    print('Stopping …');
    const cut = setTimeout(() => {
      complain('Stopping took too long and was cut short; nothing accepted is lost.');
      process.exit(1);
    }, stopTermMs);
    cut.unref();
    server.stop().then(
      () => process.exit(exitCode),
      (error: unknown) => {
        complain(`Stopping failed: ${String(error)}`);
        process.exit(1);
      },
    );
  };
  for (const signal of signals) process.off(signal, early).on(signal, () => stop(0));
  void server.lost.then((why) => {
    complain(why);
    stop(1);
  });

  let link: string | null = null;
  for (let told = false; link === null;) {
    try {
      link = await server.issueLink();
    } catch (error) {
      // Told to stop before it could say that it runs.
      if (stopping) return;
      if (!(error instanceof StorageUnavailableError)) throw error;
      if (!told)
        complain('The database went away just now. The link to sign in follows when it answers again.');
      told = true;
      await delay(1_000);
    }
  }
  for (const warning of [...warnings, ...server.warnings]) print(`Warning: ${warning}`);
  print(`Model: ${server.model}`);
  print('');
  print('Weir is running. Open this link to sign in (it works once):');
  print(`  ${link}`);
  print('Ctrl-C stops it; everything is kept.');
  for (const later of await server.laterWarnings) if (!stopping) print(`Warning: ${later}`);
}
