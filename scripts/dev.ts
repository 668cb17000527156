/**
 * Owns: the two processes of development, which live and die together: the server, restarted when its files change,
 * and vite, which serves the client afresh and passes /graphql and /session on to the server. The server's sign-in
 * link is printed with the address of vite, so that there is one link and it leads to the client.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';

/** The server has 10 s to let pending entries land and to stop its database; then nobody waits any longer. */
const PATIENCE_MS = 12_000;
/** Where vite listens; loopback only, as the server does when nothing is set. */
const clientHost = '127.0.0.1';
const clientPort = Number(process.env['CLIENT_PORT'] ?? 5173);

const root = join(import.meta.dirname, '..');
const env = { ...process.env, NODE_ENV: process.env['NODE_ENV'] ?? 'development' };
const children: ChildProcess[] = [];
let exitCode: number | null = null;

if (await isFree(clientPort)) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => end(0));
  const server = start(
    'server',
    'node',
    ['--watch', '--watch-preserve-output', 'server/src/main.ts', ...process.argv.slice(2)],
    root,
  );
  if (server.stdout !== null)
    createInterface({ input: server.stdout }).on('line', (line) => console.log(atClient(line)));
  start(
    'client',
    'vite',
    // Quiet, because the address that vite would print signs nobody in.
    ['--host', clientHost, '--port', `${clientPort}`, '--strictPort', '--logLevel', 'warn'],
    join(root, 'client'),
  );
} else {
  console.error(
    `Port ${process.env['CLIENT_PORT'] ?? clientPort} on ${clientHost} cannot be used for the client. Stop what uses it, or set CLIENT_PORT to another one.`,
  );
  process.exitCode = 1;
}

/** A line of the server, with a sign-in link made to lead to vite; the code in it stays as it is. */
function atClient(line: string): string {
  return line.replace(/https?:\/\/\S+\/(?=#code=)/, `http://${clientHost}:${clientPort}/`);
}

/** Asked before anything starts: vite would tell of it when the server has begun to make its database. */
function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    // What is no port at all cannot be used either.
    if (!(port >= 1 && port <= 65_535 && Number.isInteger(port))) return resolve(false);
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: clientHost }, () => {
      probe.close((error) => (error ? reject(error) : resolve(true)));
    });
  });
}

function start(name: string, command: string, args: readonly string[], cwd: string): ChildProcess {
  const child = spawn(command, args, {
    cwd,
    env,
    stdio: ['ignore', name === 'server' ? 'pipe' : 'inherit', 'inherit'],
  });
  children.push(child);
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
