/**
 * Owns: getting a server for this process on the folder, and it alone: adopting one that answers, starting one, waiting
 * for one to go, ending one that hangs.
 * Does not own: the folder (`cluster.ts`), one run of a server (`postmaster.ts`), or keeping it
 * (`../embedded-postgres.ts`, where the invariants are).
 */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { reasonOf } from '../../../core/kit/reason.ts';
import { end } from '../end-client.ts';
import type { Cluster } from './cluster.ts';
import { isRunning, processIdentity } from './identity.ts';
import { createPatience } from './patience.ts';
import {
  endPostmaster,
  launchPostmaster,
  namedProcess,
  reachPostmaster,
  setPidFileAside,
  type Postmaster,
} from './postmaster.ts';
import { killOrphans, roleOf, signOfWork } from './processes.ts';

export interface Held {
  readonly postmaster: Postmaster;
  /** Holds the owner's lock; its end is how we learn that the server went away. */
  readonly client: pg.Client;
}

export type Acquired =
  | { readonly type: 'held'; readonly held: Held }
  /** One sentence: why not, and what to do. */
  | { readonly type: 'refused'; readonly message: string };

/** Any number, the same in every Weir. */
const ownerLock = 0x57454952;
/** After this long in silence a person is told what is waited for. */
const tellAfterMs = 3_000;
/** How long a server whose process died may take to notice. */
const noticePatienceMs = 10_000;

/** What every step of getting a server needs. */
export interface Wants {
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
export async function acquire(wants: Wants, attempt: Attempt): Promise<Acquired> {
  try {
    return await tryToAcquire(wants, attempt);
  } catch (error) {
    return { type: 'refused', message: reasonOf(error) };
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
    `Another Weir${who} is running on the data folder ${cluster.dataDir}. Stop it first, or set WEIR_DATA to another folder for this one.`,
  );
}

/** Told when a server is ended because it hangs. */
export const stuckSentence = (pid: number, patienceMs: number): string =>
  `PostgreSQL (process ${pid}) hangs: it could not be used for ${patienceMs / 1_000} s, and was not repairing or stopping either. Ending it and starting another`;
