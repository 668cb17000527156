/**
 * Owns: the embedded database: at most one Weir on a data folder, a server that runs as long as this process wants
 * it, and its end. Does not own: the folder (`embedded/cluster.ts`), one run of a server (`embedded/postmaster.ts`).
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
import { ensureCluster, openCluster, removeSocketDir, superuser, type Cluster } from './embedded/cluster.ts';
import { isRunning, processIdentity } from './embedded/identity.ts';
import { createPatience, type Patience } from './embedded/patience.ts';
import { holdPlace, type Place } from './embedded/place.ts';
import {
  answers,
  end,
  endPostmaster,
  launchPostmaster,
  namedProcess,
  reachPostmaster,
  setPidFileAside,
  type Postmaster,
} from './embedded/postmaster.ts';
import { killOrphans, roleOf, signOfWork } from './embedded/processes.ts';

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

interface Held {
  readonly postmaster: Postmaster;
  /** Holds the owner's lock; its end is how we learn that the server went away. */
  readonly client: pg.Client;
}

type Acquired =
  | { readonly type: 'held'; readonly held: Held }
  /** One sentence: why not, and what to do. */
  | { readonly type: 'refused'; readonly message: string };

const database = 'weir';
/** Any number, the same in every Weir. */
const ownerLock = 0x57454952;
/** How often the files are looked for when nothing is asked of the database. */
const lookMs = 1_000;
/** How often a new connection is tried: the one that is held answers also when the server takes no others. */
const probeMs = 10_000;
/** How long a server that does not answer may do nothing: one that repairs or stops is at work. */
const usualPatienceMs = 60_000;
/** After this long in silence a person is told what is waited for. */
const tellAfterMs = 3_000;
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
    const wants: Wants = { cluster, progress, patienceMs: options.patienceMs ?? usualPatienceMs };
    const acquired = await acquire(wants, { again: false, isWanted: () => place.isThere() });
    const held = acquired.type === 'held' ? acquired.held : null;
    const problem = acquired.type === 'held' ? await ensureDatabase(acquired.held.client) : acquired.message;
    if (held && problem === null)
      return { type: 'started', server: supervise(wants, place, held, options.onGone) };
    if (held) await endHeld(cluster, held);
    const message = problem !== null && place.isThere() ? problem : goneSentence(cluster);
    place.close();
    removeSocketDir(cluster);
    return { type: 'refused', message };
  } catch (error) {
    return { type: 'refused', message: sentenceOf(error) };
  }
}

/** What every step of getting a server needs. */
interface Wants {
  readonly cluster: Cluster;
  readonly progress: (line: string) => void;
  readonly patienceMs: number;
}

interface Attempt {
  /** This process had the server before, and may meet its own lock. */
  readonly again: boolean;
  /** Once it says no, the attempt is given up. */
  readonly isWanted: () => boolean;
}

/** Never rejects. */
async function acquire(wants: Wants, attempt: Attempt): Promise<Acquired> {
  try {
    return await tryToAcquire(wants, attempt);
  } catch (error) {
    return { type: 'refused', message: sentenceOf(error) };
  }
}

async function tryToAcquire(wants: Wants, { again, isWanted }: Attempt): Promise<Acquired> {
  const { cluster, progress, patienceMs } = wants;
  const me = processIdentity(process.pid) ?? `${process.pid}:0`;
  const work = (): string => signOfWork(namedProcess(cluster)?.pid ?? 0);
  const started = Date.now();
  let patience = createPatience(patienceMs, work);
  let told = false;
  for (;;) {
    const running = await reachPostmaster(cluster);
    if (running) {
      const mayWait = Date.now() - started < noticePatienceMs;
      const judged = await judge(cluster, running, { me, mayWait, again });
      if (judged !== 'leaving') return judged;
    } else {
      const launch = await launchPostmaster(cluster, me, patienceMs, progress);
      if (launch.type === 'failed') return { type: 'refused', message: launch.message };
      if (launch.type === 'ready') {
        const taken = await takeLock(cluster, launch, again);
        if (taken !== 'leaving') return taken;
      } else if (launch.by === 'pidFile') {
        const refused = await clearPidFile(wants);
        if (refused) return refused;
      }
    }
    if (!told && Date.now() - started > tellAfterMs) {
      told = true;
      progress(`Another PostgreSQL server still has ${cluster.dir}; waiting for it to answer or to end`);
    }
    if (patience.isOver()) {
      const refused = await endStuck(wants, me);
      if (refused) return refused;
      patience = createPatience(patienceMs, work);
    }
    await delay(100);
    if (!isWanted()) return refused('Weir is stopping.');
  }
}

/**
 * A `postmaster.pid` that outlived its server, and whose number another program has by now, would keep every server
 * from starting. Null when the next attempt may do better.
 */
async function clearPidFile({ cluster, progress }: Wants): Promise<Acquired | null> {
  const named = namedProcess(cluster);
  if (!named || roleOf(named.pid, cluster.dir).type !== 'stranger') return null;
  const file = `${cluster.dir}/postmaster.pid`;
  if (cluster.launcher.lockedExitCode === null) {
    return refused(
      `${file} says that PostgreSQL runs there as process ${named.pid}, but that process looks like another program. Look with "ps -p ${named.pid}"; when it is not PostgreSQL, delete the file and start again.`,
    );
  }
  if (await setPidFileAside(cluster))
    progress(
      `${file} was left by a server that is gone (process ${named.pid} is another program now); it is postmaster.pid.stale from now on`,
    );
  return null;
}

/** Ends what holds the folder and does nothing, if it is for this process to end. Null when the next attempt may do better. */
async function endStuck({ cluster, progress, patienceMs }: Wants, me: string): Promise<Acquired | null> {
  const named = namedProcess(cluster);
  const role = named ? roleOf(named.pid, cluster.dir) : { type: 'stranger' as const };
  if (named && role.type === 'ours') {
    if (role.launcher !== me && isRunning(role.launcher))
      return owned(cluster, Number.parseInt(role.launcher, 10));
    progress(stuckSentence(named.pid, patienceMs));
    await endPostmaster(cluster, named, { atOnce: false });
    return null;
  }
  if (named && role.type === 'foreign') {
    return refused(
      `A PostgreSQL server that Weir did not start (process ${named.pid}) has ${cluster.dir} and does not answer. End it ("kill -INT ${named.pid}"; when it is still there after a minute, "kill -QUIT ${named.pid}"), and start again.`,
    );
  }
  const orphans = killOrphans(cluster.dir);
  if (orphans > 0) {
    progress(`A PostgreSQL server that is gone had left ${orphans} processes behind; they were ended`);
    return null;
  }
  return refused(
    `Another process has ${cluster.dir}, and it cannot be seen which. Look for a Weir or a PostgreSQL on this folder, in other containers too, end it, and start again.`,
  );
}

const refused = (message: string): Acquired => ({ type: 'refused', message });

const sentenceOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Whose is the server that answers? */
async function judge(
  cluster: Cluster,
  running: Held,
  { me, mayWait, again }: { readonly me: string; readonly mayWait: boolean; readonly again: boolean },
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
  return takeLock(cluster, running, again);
}

/**
 * A holder that was killed leaves the lock when the server sees its connection closed: a moment later. `leaving` when
 * the server itself went away meanwhile, which says nothing about who may have it, or when the lock is this process's
 * own from before (`again`), held by a connection that hangs.
 */
async function takeLock(cluster: Cluster, held: Held, again: boolean): Promise<Acquired | 'leaving'> {
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
  const found = await held.client
    .query<{ name: string }>(
      `select application_name as name from pg_stat_activity join pg_locks using (pid) where locktype = 'advisory' and granted and objid = $1`,
      [ownerLock],
    )
    .catch(() => null);
  await end(held.client);
  const holder = Number(/\d+$/.exec(found?.rows[0]?.name ?? '')?.[0] ?? Number.NaN);
  return again && holder === process.pid ? 'leaving' : owned(cluster, holder);
}

function owned(cluster: Cluster, pid: number): Acquired {
  const who = Number.isNaN(pid) ? '' : ` (process ${pid})`;
  return refused(
    `Another Weir${who} is running on the data folder ${cluster.dataDir}. Stop it first, or give this one a data folder of its own.`,
  );
}

/** Null when it is there now, else a sentence. */
async function ensureDatabase(client: pg.Client): Promise<string | null> {
  try {
    const known = await client.query('select 1 from pg_database where datname = $1', [database]);
    if (known.rowCount === 0) await client.query(`create database ${database}`);
    return null;
  } catch (error) {
    return `The database could not be made ready (${sentenceOf(error)}). Start again; if that does not help, look at the disk of the data folder.`;
  }
}

async function endHeld(cluster: Cluster, { client, postmaster }: Held): Promise<void> {
  await end(client);
  await endPostmaster(cluster, postmaster, { atOnce: false });
}

const stuckSentence = (pid: number, patienceMs: number): string =>
  `PostgreSQL (process ${pid}) hangs: it could not be used for ${patienceMs / 1_000} s, and was not repairing or stopping either. Ending it and starting another`;

const goneSentence = (cluster: Cluster): string =>
  `The database in ${cluster.dir} was deleted, moved or replaced while Weir was running, so nothing can be stored any more. Put it back and start again; without it the next start begins with an empty database.`;

function supervise(
  wants: Wants,
  place: Place,
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
    if (gone || place.isThere()) return !gone;
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
    place.close();
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
