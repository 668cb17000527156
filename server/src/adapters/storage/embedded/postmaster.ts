/**
 * Owns: one run of the PostgreSQL server on a cluster: finding one that runs, starting one, ending it.
 * Does not own: whether this process may use it (`../embedded-postgres.ts`).
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { ensureSocketDir, superuser, type Cluster } from './cluster.ts';
import { isRunning, processIdentity } from './identity.ts';
import { createPatience } from './patience.ts';
import { killOrphans, signOfWork } from './processes.ts';
import { end } from '../end-client.ts';

export interface Postmaster {
  /** Identity of the server's first process. */
  readonly identity: string;
  readonly host: string;
  readonly port: number;
}

export type Launch =
  | { readonly type: 'ready'; readonly postmaster: Postmaster; readonly client: pg.Client }
  /**
   * Another server holds the folder: it runs, starts or stops. `pidFile`: only that file says so; nobody had the lock
   * that every server started by a Weir holds, where there is such a lock.
   */
  | { readonly type: 'taken'; readonly by: 'lock' | 'pidFile' | 'memory' | 'socketDir' }
  | { readonly type: 'failed'; readonly message: string };

/** The database every server has; locks taken through it are seen by all who ask there. */
const commonDatabase = 'postgres';
/** Only part of the socket's file name. */
const port = 5432;

/** The server that runs on the cluster, if it answers; the client is connected to it. */
export async function reachPostmaster(
  cluster: Cluster,
): Promise<{ readonly postmaster: Postmaster; readonly client: pg.Client } | null> {
  const postmaster = readPidFile(cluster);
  if (!postmaster) return null;
  const client = await connect(postmaster);
  if (!client) return null;
  // A path can lead elsewhere than it did; the server itself knows which folder it is.
  const answer = await client
    .query<{ folder: string }>(`select current_setting('data_directory') as folder`)
    .catch(() => null);
  if (answer?.rows[0]?.folder === cluster.dir) return { postmaster, client };
  await end(client);
  return null;
}

/** Says nothing about the server: it is full of connections, or this process may open no more files. */
const noNews = new Set<unknown>(['53300', 'EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS']);

/** False when it takes no new connection, and that is its own doing. */
export async function answers(postmaster: Postmaster): Promise<boolean> {
  const client = await tryToConnect(postmaster);
  if (!(client instanceof pg.Client)) return noNews.has(client.code);
  void end(client);
  return true;
}

/** The running process that `postmaster.pid` names, whatever it is. */
export function namedProcess(cluster: Cluster): { readonly pid: number; readonly identity: string } | null {
  const pid = Number(readLines(cluster)[0]);
  const identity = Number.isSafeInteger(pid) && pid > 0 ? processIdentity(pid) : null;
  return identity === null ? null : { pid, identity };
}

/**
 * Moves a `postmaster.pid` that a dead server left away, holding the lock that every server started by a Weir holds.
 * False when such a server has come meanwhile. Throws a sentence when the file cannot be moved.
 */
export async function setPidFileAside(cluster: Cluster): Promise<boolean> {
  const path = pidFileOf(cluster);
  const words = [...cluster.launcher.server, 'mv', '-f', path, `${path}.stale`];
  try {
    await promisify(execFile)(words[0]!, words.slice(1), cluster.launcher.options);
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code === cluster.launcher.lockedExitCode) return false;
    throw new Error(
      `${path} was left by a server that is gone, and cannot be moved away: ${(error as { stderr?: string }).stderr?.trim() || String(error)}. Delete it and start again.`,
      { cause: error },
    );
  }
}

/**
 * Starts a server; it is told who started it, so that others can know whose it is. One that starts is waited for as
 * long as it gets on with it, and ended when nothing moves for `patienceMs`. Throws when it cannot even be tried.
 */
export async function launchPostmaster(
  cluster: Cluster,
  launchedBy: string,
  patienceMs: number,
  progress: (line: string) => void,
): Promise<Launch> {
  ensureSocketDir(cluster);
  const words = [
    ...cluster.launcher.server,
    cluster.binaries.postgres,
    '-D',
    cluster.dir,
    '-k',
    cluster.socketDir,
  ];
  words.push('-p', String(port), ...settings(cluster, launchedBy).flatMap((s) => ['-c', s]));
  const child = spawn(words[0]!, words.slice(1), {
    ...cluster.launcher.options,
    // A group of its own: Ctrl-C is for Weir, which still has entries to store.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const log = tailOf(child);
  const exited = new Promise<number | string>((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'no reason'));
  });
  const started = Date.now();
  const patience = createPatience(patienceMs, () => (child.pid === undefined ? '' : signOfWork(child.pid)));
  let told = false;
  for (;;) {
    const code = await Promise.race([exited, delay(20).then(() => undefined)]);
    if (code !== undefined) return explainExit(cluster, code, log());
    const identity = child.pid === undefined ? null : processIdentity(child.pid);
    const postmaster = identity && { identity, host: cluster.socketDir, port };
    // Only when the folder says it is ours: another server may answer at the same socket for a moment.
    const ours = postmaster && readPidFile(cluster)?.identity === identity;
    const client = ours && (await connect(postmaster));
    if (client) {
      child.unref();
      (child.stderr as { unref?: () => void } | null)?.unref?.();
      return { type: 'ready', postmaster, client };
    }
    if (!told && Date.now() - started > 3_000) {
      told = true;
      progress('PostgreSQL is still starting; after a crash it first repairs what was being written');
    }
    if (patience.isOver()) {
      if (postmaster) await endPostmaster(cluster, postmaster, { atOnce: false });
      return {
        type: 'failed',
        message: `PostgreSQL in ${cluster.dir} began to start, did nothing for ${patienceMs / 1_000} s, and was ended. Its last words: ${lastWords(log()) || 'none'}`,
      };
    }
  }
}

/**
 * Ends it: fast (open transactions roll back) unless `atOnce`, then at once, then by force, and with it what it leaves
 * behind. Resolves after at most 6 s.
 */
export async function endPostmaster(
  cluster: Cluster,
  postmaster: Pick<Postmaster, 'identity'>,
  { atOnce }: { readonly atOnce: boolean },
): Promise<void> {
  const ways = [
    ['SIGINT', 4_000],
    ['SIGQUIT', 1_500],
    ['SIGKILL', 500],
  ] as const;
  for (const [signal, patienceMs] of ways.slice(atOnce ? 1 : 0)) {
    if (!isRunning(postmaster.identity)) return;
    try {
      process.kill(Number.parseInt(postmaster.identity, 10), signal);
    } catch {
      return;
    }
    const until = Date.now() + patienceMs;
    while (Date.now() < until && isRunning(postmaster.identity)) await delay(10);
  }
  // Only after force: one that left by itself has seen its processes out.
  if (!isRunning(postmaster.identity)) killOrphans(cluster.dir);
}

function settings(cluster: Cluster, launchedBy: string): string[] {
  return [
    'listen_addresses=',
    'unix_socket_permissions=0700',
    'max_connections=100',
    'shared_buffers=64MB',
    'timezone=UTC',
    'log_line_prefix=',
    // Statements hold people's messages: they do not belong in a log.
    'log_min_error_statement=panic',
    `weir.launcher=${launchedBy}`,
    `weir.bound=${cluster.launcher.bound ? 'yes' : 'no'}`,
    // Still safe against kill -9 (what is committed is with the operating system), no more against a power cut.
    ...(cluster.fsync ? [] : ['fsync=off', 'full_page_writes=off']),
  ];
}

/** Lines: pid, folder, start time, port, socket folder, … */
function readPidFile(cluster: Cluster): Postmaster | null {
  const lines = readLines(cluster);
  const identity = namedProcess(cluster)?.identity;
  const host = lines[4]?.trim();
  return identity && host ? { identity, host, port: Number(lines[3]) } : null;
}

const pidFileOf = (cluster: Cluster): string => join(cluster.dir, 'postmaster.pid');

function readLines(cluster: Cluster): readonly string[] {
  try {
    return readFileSync(pidFileOf(cluster), 'utf8').split('\n');
  } catch {
    return [];
  }
}

async function connect(postmaster: Postmaster): Promise<pg.Client | null> {
  const client = await tryToConnect(postmaster);
  return client instanceof pg.Client ? client : null;
}

async function tryToConnect(postmaster: Postmaster): Promise<pg.Client | { readonly code: unknown }> {
  const client = new pg.Client({
    host: postmaster.host,
    port: postmaster.port,
    user: superuser,
    database: commonDatabase,
    application_name: `weir owner ${process.pid}`,
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
  });
  // Losing it is noticed by 'end'; without a listener 'error' would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch (error) {
    await end(client);
    return { code: (error as { code?: unknown }).code };
  }
}

function tailOf(child: ChildProcess): () => string {
  let tail = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (tail = (tail + text).slice(-4_000)));
  return () => tail.trim();
}

/** `why`: its exit code, its signal, or why it could not be started at all. */
function explainExit(cluster: Cluster, why: number | string, log: string): Launch {
  if (cluster.launcher.lockedExitCode !== null && why === cluster.launcher.lockedExitCode)
    return { type: 'taken', by: 'lock' };
  if (/lock file "postmaster\.pid" already exists/.test(log)) return { type: 'taken', by: 'pidFile' };
  // Its first process is gone, but others of that server still write.
  if (/pre-existing shared memory block/.test(log)) return { type: 'taken', by: 'memory' };
  // The folder of the socket was there a moment ago: a Weir that stopped has taken it along.
  if (/could not create .*\.s\.PGSQL.*: No such file or directory/.test(log))
    return { type: 'taken', by: 'socketDir' };
  if (/^SIG/.test(String(why)))
    return { type: 'failed', message: `PostgreSQL was ended by ${why} while it started in ${cluster.dir}.` };
  const reason = lastWords(log) || (typeof why === 'number' ? `exit code ${why}` : why);
  return { type: 'failed', message: `PostgreSQL does not start in ${cluster.dir}: ${reason}` };
}

/**
 * What is wrong in the configuration stands before the FATAL that follows from it. What it answered to those who asked
 * too early is not its own trouble.
 */
const lastWords = (log: string): string =>
  log
    .split('\n')
    .filter((line) => !/the database system is (starting up|shutting down|not yet accepting)/.test(line))
    .slice(-3)
    .join(' ');
