/**
 * Owns: the embedded database: at most one Weir on a data folder, a server that runs as long as this process wants
 * it, and its end. Does not own: the folder (`embedded/cluster.ts`), getting a server on it (`embedded/acquire.ts`), one
 * run of a server (`embedded/postmaster.ts`).
 *
 * Invariants
 * - At most one server on a folder: PostgreSQL's own interlock, and flock where there is one.
 * - At most one Weir on that server: a server belongs to the process that launched it while that process runs;
 *   afterwards to who gets the advisory lock through it. Both vanish with their holder, even by kill -9.
 * - A server that goes away unasked is brought back, by the same rules, for as long as it takes; but never on other
 *   files than it had.
 * - A server that a Weir started and that hangs is ended by who may have it: that Weir, or its heir. Others' are not.
 * - Files that were deleted, moved or replaced end it for good: whoever asks `isThere` after an answer never calls
 *   durable what was written to files that nobody finds again.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { reasonOf } from '../../core/kit/reason.ts';
import { acquire, stuckSentence, type Held, type Wants } from './embedded/acquire.ts';
import { holdFiles, type ClusterFiles } from './embedded/cluster-files.ts';
import { ensureCluster, openCluster, removeSocketDir, superuser, type Cluster } from './embedded/cluster.ts';
import { isRunning } from './embedded/identity.ts';
import { createPatience, type Patience } from './embedded/patience.ts';
import { answers, endPostmaster, type Postmaster } from './embedded/postmaster.ts';
import { signOfWork } from './embedded/processes.ts';
import { end } from './end-client.ts';

export interface EmbeddedPostgresOptions {
  /** The data folder; made when missing. PostgreSQL's files are in `postgres` below it. */
  readonly dataDir: string;
  /** False only for tests: a crash of the machine may then lose everything. */
  readonly fsync?: boolean;
  /** How long a server may do nothing at all and not answer before it is ended, milliseconds; shorter in tests. */
  readonly patienceMs?: number;
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

const database = 'weir';
/** How often the files are looked for when nothing is asked of the database. */
const lookMs = 1_000;
/** How often a new connection is tried: the one that is held answers also when the server takes no others. */
const probeMs = 10_000;
/** How long a server that does not answer may do nothing: one that repairs or stops is at work. */
const usualPatienceMs = 60_000;

/** Opens the database in the folder: adopts a leftover server that answers, else waits for it to go and starts one. */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgresOutcome> {
  const progress = options.progress ?? (() => undefined);
  try {
    const cluster = await openCluster({ dataDir: options.dataDir, fsync: options.fsync ?? true });
    await ensureCluster(cluster, progress);
    const files = holdFiles(cluster.dir);
    const wants: Wants = { cluster, progress, patienceMs: options.patienceMs ?? usualPatienceMs };
    const acquired = await acquire(wants, { again: false, isWanted: () => files.areThere() });
    const held = acquired.type === 'held' ? acquired.held : null;
    const problem = acquired.type === 'held' ? await ensureDatabase(acquired.held.client) : acquired.message;
    if (held && problem === null)
      return { type: 'started', server: supervise(wants, files, held, options.onGone) };
    if (held) await endHeld(cluster, held);
    const message = problem !== null && files.areThere() ? problem : goneSentence(cluster);
    files.close();
    removeSocketDir(cluster);
    return { type: 'refused', message };
  } catch (error) {
    return { type: 'refused', message: reasonOf(error) };
  }
}

/** Null when it is there now, else a sentence. */
async function ensureDatabase(client: pg.Client): Promise<string | null> {
  try {
    const known = await client.query('select 1 from pg_database where datname = $1', [database]);
    if (known.rowCount === 0) await client.query(`create database ${database}`);
    return null;
  } catch (error) {
    return `The database could not be made ready (${reasonOf(error)}). Start again; if that does not help, look at the disk of the data folder.`;
  }
}

async function endHeld(cluster: Cluster, { client, postmaster }: Held): Promise<void> {
  await end(client);
  await endPostmaster(cluster, postmaster, { atOnce: false });
}

const goneSentence = (cluster: Cluster): string =>
  `The database in ${cluster.dir} was deleted, moved or replaced while Weir was running, so nothing can be stored any more. Put it back and start again; without it the next start begins with an empty database.`;

function supervise(
  wants: Wants,
  files: ClusterFiles,
  first: Held,
  onGone: (sentence: string) => void = () => undefined,
): EmbeddedPostgres {
  const { cluster, progress, patienceMs } = wants;
  let gone = false;
  const looking = setInterval(isThere, lookMs).unref();
  let held = first;
  let stopping: Promise<void> | null = null;
  let reviving: Promise<void> = Promise.resolve();

  function isThere(): boolean {
    if (gone || files.areThere()) return !gone;
    gone = true;
    clearInterval(looking);
    // Not in order: there is nowhere left to write to.
    void endPostmaster(cluster, held.postmaster, { atOnce: true });
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
    void probe(held.postmaster, () => over).then(() => end(client).then(lost));
  }

  /**
   * Ends a server that hangs, which the connection that is held need not feel. Resolves when there is no server any
   * more, or nobody asks.
   */
  async function probe(postmaster: Postmaster, isOver: () => boolean): Promise<void> {
    const pid = Number.parseInt(postmaster.identity, 10);
    let patience: Patience | null = null;
    for (;;) {
      await delay(Math.min(probeMs, patienceMs), undefined, { ref: false });
      if (isOver() || stopping || gone) return;
      if (await answers(postmaster)) {
        patience = null;
        continue;
      }
      if (isOver() || stopping || gone || !isRunning(postmaster.identity)) return;
      patience ??= createPatience(patienceMs, () => signOfWork(pid));
      if (!patience.isOver()) continue;
      progress(stuckSentence(pid, patienceMs));
      await endPostmaster(cluster, postmaster, { atOnce: false });
      return;
    }
  }

  async function revive(): Promise<void> {
    for (let waitMs = 100; !stopping && isThere(); waitMs = Math.min(waitMs * 2, 30_000)) {
      progress('The embedded PostgreSQL went away; starting it again');
      const acquired = await acquire(wants, { again: true, isWanted: () => !stopping && isThere() });
      if (acquired.type === 'held') {
        // Looked at again: what was started may stand on files that took their place meanwhile.
        if (stopping || !isThere()) return endHeld(cluster, acquired.held);
        held = acquired.held;
        watch();
        return;
      }
      // Also when it is another Weir's now: what this process still writes is fenced (D-4), and its session ends (D-100).
      if (stopping || gone) return;
      progress(`${acquired.message} (Weir tries again in ${waitMs / 1_000} s)`);
      await delay(waitMs, undefined, { ref: false });
    }
  }

  async function stop(): Promise<void> {
    await Promise.race([reviving, delay(1_000, undefined, { ref: false })]);
    await endHeld(cluster, held);
    clearInterval(looking);
    files.close();
    removeSocketDir(cluster);
  }

  watch();
  return {
    connection: { host: first.postmaster.host, port: first.postmaster.port, user: superuser, database },
    pid: () => Number.parseInt(held.postmaster.identity, 10),
    isThere,
    stop: () => (stopping ??= stop()),
  };
}
