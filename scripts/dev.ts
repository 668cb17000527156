/**
 * Owns: the two processes of development, which live and die together: the server, restarted when its files change,
 * and vite, which serves the client afresh and passes /graphql on to the server.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';

/** The server has 10 s to let pending entries land and to stop its database; then nobody waits any longer. */
const PATIENCE_MS = 12_000;

const root = join(import.meta.dirname, '..');
const env = { ...process.env, NODE_ENV: process.env['NODE_ENV'] ?? 'development' };
const children = [
  start(
    'server',
    'node',
    ['--watch', '--watch-preserve-output', 'server/src/main.ts', ...process.argv.slice(2)],
    root,
  ),
  start('client', 'vite', ['--clearScreen', 'false'], join(root, 'client')),
];
let exitCode: number | null = null;
console.log(
  'While developing, open the sign-in link of the server at the address of vite (http://localhost:5173).',
);

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => end(0));

function start(name: string, command: string, args: readonly string[], cwd: string): ChildProcess {
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] });
  child.on('error', (error) => {
    console.error(`${name} could not be started: ${error.message}`);
    end(1);
  });
  child.on('exit', (code, signal) => {
    if (exitCode === null) console.error(`${name} ended (${signal ?? code}); ending the other one too.`);
    end(code ?? 1);
    if (children.every((one) => one.exitCode !== null || one.signalCode !== null))
      process.exit(exitCode ?? 0);
  });
  return child;
}

/** The first cause decides the exit code. */
function end(code: number): void {
  if (exitCode !== null) return;
  exitCode = code;
  for (const child of children) child.kill('SIGTERM');
  setTimeout(() => {
    for (const child of children) child.kill('SIGKILL');
    process.exit(1);
  }, PATIENCE_MS).unref();
}
