/**
 * Owns: one run of the PostgreSQL server on a cluster: finding one that runs, starting one, ending it.
 * Does not own: whether this process may use it (`../embedded-postgres.ts`).
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { ensureSocketDir, superuser, type Cluster } from './cluster.ts';
import { isRunning, processIdentity } from './identity.ts';

export interface Postmaster {
  /** Identity of the server's first process. */
  readonly identity: string;
  readonly host: string;
  readonly port: number;
}

export type Launch =
  | { readonly type: 'ready'; readonly postmaster: Postmaster; readonly client: pg.Client }
  /** Another server holds the folder: it runs, starts or stops. */
  | { readonly type: 'taken' }
  | { readonly type: 'failed'; readonly message: string };

/** The database every server has; locks taken through it are seen by all who ask there. */
const commonDatabase = 'postgres';
/** Only part of the socket's file name. */
const port = 5432;
const startPatienceMs = 300_000;

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

/** Starts a server; it is told who started it, so that others can know whose it is. */
export async function launchPostmaster(
  cluster: Cluster,
  launchedBy: string,
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
  const exited = new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null));
    child.once('exit', (code) => resolve(code));
  });
  const started = Date.now();
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
    if (Date.now() - started > startPatienceMs) {
      child.kill('SIGQUIT');
      return { type: 'failed', message: `PostgreSQL did not start within 5 minutes: ${log()}` };
    }
  }
}

/**
 * Ends it: fast (open transactions roll back) unless `atOnce`, then at once, then by force. Resolves after at most 6 s.
 */
export async function endPostmaster(
  postmaster: Postmaster,
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
}

/** Bounded: on a connection whose server is dying a polite end may wait for an answer that never comes. */
export async function end(client: pg.Client): Promise<void> {
  await Promise.race([client.end().catch(() => undefined), delay(1_000, undefined, { ref: false })]);
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
  try {
    const lines = readFileSync(join(cluster.dir, 'postmaster.pid'), 'utf8').split('\n');
    const identity = processIdentity(Number(lines[0]));
    const host = lines[4]?.trim();
    return identity && host ? { identity, host, port: Number(lines[3]) } : null;
  } catch {
    return null;
  }
}

async function connect(postmaster: Postmaster): Promise<pg.Client | null> {
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
  } catch {
    await end(client);
    return null;
  }
}

function tailOf(child: ChildProcess): () => string {
  let tail = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (tail = (tail + text).slice(-4_000)));
  return () => tail.trim();
}

function explainExit(cluster: Cluster, code: number | null, log: string): Launch {
  const locked = cluster.launcher.lockedExitCode !== null && code === cluster.launcher.lockedExitCode;
  // The second text: its first process is gone, but others of that server still write.
  if (locked || /lock file "postmaster\.pid" already exists|pre-existing shared memory block/.test(log)) {
    return { type: 'taken' };
  }
  // Its last lines: what is wrong in the configuration stands before the FATAL that follows from it.
  const reason = log.split('\n').slice(-3).join(' ');
  return {
    type: 'failed',
    message: `PostgreSQL does not start in ${cluster.dir}: ${reason || `exit code ${code}`}`,
  };
}
