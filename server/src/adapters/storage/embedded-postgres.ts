/**
 * Owns: the embedded database: at most one Weir on a data folder, a server that runs as long as this process wants
 * it, and its end. Does not own: the folder (`embedded/cluster.ts`), one run of a server (`embedded/postmaster.ts`).
 *
 * Invariants
 * - At most one server on a folder: PostgreSQL's own interlock, and flock where there is one.
 * - At most one Weir on that server: a server belongs to the process that launched it while that process runs;
 *   afterwards to who gets the advisory lock through it. Both vanish with their holder, even by kill -9.
 * - A server that goes away unasked is brought back, by the same rules; but never on other files than it had.
 * - Files that were deleted, moved or replaced end it for good: whoever asks `isThere` after an answer never calls
 *   durable what was written to files that nobody finds again.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { ensureCluster, openCluster, superuser, type Cluster } from './embedded/cluster.ts';
import { isRunning, processIdentity } from './embedded/identity.ts';
import { holdPlace, type Place } from './embedded/place.ts';
import {
  end,
  endPostmaster,
  launchPostmaster,
  reachPostmaster,
  type Postmaster,
} from './embedded/postmaster.ts';

export interface EmbeddedPostgresOptions {
  /** The data folder; made when missing. PostgreSQL's files are in `postgres` below it. */
  readonly dataDir: string;
  /** False only for tests: a crash of the machine may then lose everything. */
  readonly fsync?: boolean;
  /** Lines for a person who waits. */
  readonly progress?: (line: string) => void;
  /** Told once, in a sentence for a person, when the files are gone and the server is ended for good. */
  readonly onGone?: (sentence: string) => void;
}

export interface EmbeddedPostgres {
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly database: string;
  };
  /** Process id of the server as it runs now. */
  pid(): number;
  /** Looks whether its files are still the ones that were opened. Once false, it stays so, and the server ends. */
  isThere(): boolean;
  /** Fast shutdown, bounded to 7 s. Never rejects; again does no harm. */
  stop(): Promise<void>;
}

export type EmbeddedPostgresOutcome =
  | { readonly type: 'started'; readonly server: EmbeddedPostgres }
  /** One sentence: why not, and what to do. */
  | { readonly type: 'refused'; readonly message: string };

interface Held {
  readonly postmaster: Postmaster;
  /** Holds the owner's lock; its end is how we learn that the server went away. */
  readonly client: pg.Client;
}

type Acquired =
  | { readonly type: 'held'; readonly held: Held }
  | { readonly type: 'owned'; readonly message: string }
  | { readonly type: 'failed'; readonly message: string };

const database = 'weir';
/** Any number, the same in every Weir. */
const ownerLock = 0x57454952;
/** How often the files are looked for when nothing is asked of the database. */
const lookMs = 1_000;
/** How long a server that stops may take to leave. */
const leavePatienceMs = 60_000;
/** How long a server whose process died may take to notice. */
const noticePatienceMs = 10_000;

/** Opens the database in the folder: adopts a leftover server that answers, else waits for it to go and starts one. */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgresOutcome> {
  const progress = options.progress ?? (() => undefined);
  try {
    const cluster = await openCluster({ dataDir: options.dataDir, fsync: options.fsync ?? true });
    await ensureCluster(cluster, progress);
    const place = holdPlace(cluster.dir);
    const acquired = await acquire(cluster, progress);
    if (acquired.type !== 'held') {
      place.close();
      return { type: 'refused', message: acquired.message };
    }
    await ensureDatabase(acquired.held.client);
    return { type: 'started', server: supervise(cluster, place, acquired.held, progress, options.onGone) };
  } catch (error) {
    return { type: 'refused', message: error instanceof Error ? error.message : String(error) };
  }
}

async function acquire(cluster: Cluster, progress: (line: string) => void): Promise<Acquired> {
  const me = processIdentity(process.pid) ?? `${process.pid}:0`;
  const started = Date.now();
  for (;;) {
    const running = await reachPostmaster(cluster);
    if (running) {
      const judged = await judge(cluster, running, me, Date.now() - started < noticePatienceMs);
      if (judged !== 'leaving') return judged;
    } else {
      const launch = await launchPostmaster(cluster, me, progress);
      if (launch.type === 'failed') return launch;
      if (launch.type === 'ready') {
        const taken = await takeLock(cluster, launch);
        if (taken !== 'leaving') return taken;
      }
    }
    if (Date.now() - started > leavePatienceMs) {
      return {
        type: 'owned',
        message: `Another PostgreSQL server holds ${cluster.dir} and does not answer. See which process it is in ${cluster.dir}/postmaster.pid, end it with "kill -INT <pid>", and start again.`,
      };
    }
    await delay(100);
  }
}

/** Whose is the server that answers? */
async function judge(
  cluster: Cluster,
  running: Held,
  me: string,
  mayWait: boolean,
): Promise<Acquired | 'leaving'> {
  const { client } = running;
  const facts = await client
    .query<{ launcher: string | null; bound: string | null }>(
      `select current_setting('weir.launcher', true) as launcher, current_setting('weir.bound', true) as bound`,
    )
    .catch(() => null);
  const { launcher, bound } = facts?.rows[0] ?? { launcher: null, bound: null };
  if (!facts) {
    await end(client);
    return 'leaving';
  }
  if (launcher && launcher !== me && isRunning(launcher)) {
    await end(client);
    return owned(cluster, Number.parseInt(launcher, 10));
  }
  if (launcher !== me && bound === 'yes' && mayWait) {
    // The kernel has told it to stop; adopting it now would be adopting its last milliseconds.
    await end(client);
    return 'leaving';
  }
  return takeLock(cluster, running);
}

/**
 * A holder that was killed leaves the lock when the server sees its connection closed: a moment later. `leaving` when
 * the server itself went away meanwhile, which says nothing about who may have it.
 */
async function takeLock(cluster: Cluster, held: Held): Promise<Acquired | 'leaving'> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const answer = await held.client
      .query<{ got: boolean }>('select pg_try_advisory_lock($1) as got', [ownerLock])
      .catch(() => null);
    if (!answer) {
      await end(held.client);
      return 'leaving';
    }
    if (answer.rows[0]?.got) return { type: 'held', held };
    await delay(100);
  }
  const holder = await held.client
    .query<{ name: string }>(
      `select application_name as name from pg_stat_activity join pg_locks using (pid) where locktype = 'advisory' and granted and objid = $1`,
      [ownerLock],
    )
    .catch(() => null);
  await end(held.client);
  return owned(cluster, Number(/\d+$/.exec(holder?.rows[0]?.name ?? '')?.[0] ?? Number.NaN));
}

function owned(cluster: Cluster, pid: number): Acquired {
  const who = Number.isNaN(pid) ? '' : ` (process ${pid})`;
  return {
    type: 'owned',
    message: `Another Weir${who} is running on the data folder ${cluster.dataDir}. Stop it first, or give this one a data folder of its own.`,
  };
}

async function ensureDatabase(client: pg.Client): Promise<void> {
  const known = await client.query('select 1 from pg_database where datname = $1', [database]);
  if (known.rowCount === 0) await client.query(`create database ${database}`);
}

async function endHeld({ client, postmaster }: Held): Promise<void> {
  await end(client);
  await endPostmaster(postmaster, { atOnce: false });
}

const goneSentence = (cluster: Cluster): string =>
  `The database in ${cluster.dir} was deleted, moved or replaced while Weir was running, so nothing can be stored any more. Put it back and start again; without it the next start begins with an empty database.`;

function supervise(
  cluster: Cluster,
  place: Place,
  first: Held,
  progress: (line: string) => void,
  onGone: (sentence: string) => void = () => undefined,
): EmbeddedPostgres {
  let gone = false;
  const looking = setInterval(isThere, lookMs).unref();
  let held = first;
  let stopping: Promise<void> | null = null;
  let reviving: Promise<void> = Promise.resolve();

  function isThere(): boolean {
    if (gone || place.isThere()) return !gone;
    gone = true;
    clearInterval(looking);
    // Not in order: there is nowhere left to write to.
    void endPostmaster(held.postmaster, { atOnce: true });
    onGone(goneSentence(cluster));
    return false;
  }

  function watch(): void {
    const { client } = held;
    let over = false;
    const lost = (): void => {
      if (over) return;
      over = true;
      if (!stopping) reviving = revive();
    };
    client.once('end', lost);
    // It may have been lost before anybody listened: a server can crash again while it is being brought back.
    client.query('select 1').catch(() => end(client).then(lost));
  }

  async function revive(): Promise<void> {
    for (let waitMs = 100; !stopping && isThere(); waitMs = Math.min(waitMs * 2, 30_000)) {
      progress('The embedded PostgreSQL went away; starting it again');
      const acquired = await acquire(cluster, progress);
      if (acquired.type === 'held') {
        // Looked at again: what was started may stand on files that took their place meanwhile.
        if (stopping || !isThere()) return endHeld(acquired.held);
        held = acquired.held;
        watch();
        return;
      }
      progress(acquired.message);
      // Somebody else's now: what this process still writes is fenced (D-4), and its session ends (D-100).
      if (acquired.type === 'owned') return;
      await delay(waitMs, undefined, { ref: false });
    }
  }

  async function stop(): Promise<void> {
    await Promise.race([reviving, delay(1_000, undefined, { ref: false })]);
    await endHeld(held);
    clearInterval(looking);
    place.close();
  }

  watch();
  return {
    connection: { host: first.postmaster.host, port: first.postmaster.port, user: superuser, database },
    pid: () => Number.parseInt(held.postmaster.identity, 10),
    isThere,
    stop: () => (stopping ??= stop()),
  };
}
