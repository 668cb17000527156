/**
 * Owns: the folder of the embedded database: where it is, whether it may be used, and making it.
 * Does not own: running a server on it (`postmaster.ts`), or who may (`../embedded-postgres.ts`).
 *
 * Invariant: a cluster appears whole or not at all: it is made beside its place and renamed into it.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { accountFor, launcherFor, type Ids, type Launcher } from './account.ts';
import { isRunning, processIdentity } from './identity.ts';
import { makeFolder } from './cluster-files.ts';

/** The account that owns everything in the embedded server. */
export const superuser = 'weir';

const majorVersion = '18';
const unfinished = 'postgres.new-';

export interface Cluster {
  /** The data folder, by its real path. */
  readonly dataDir: string;
  /** PostgreSQL's own folder in it. */
  readonly dir: string;
  /** Where the server's socket is; outside the data folder because socket paths are short (about 100 bytes). */
  readonly socketDir: string;
  readonly binaries: { readonly initdb: string; readonly postgres: string };
  readonly ids: Ids | null;
  readonly launcher: Launcher;
  readonly fsync: boolean;
}

/** Finds out all about the folder; throws an Error with a sentence for a person when it cannot be used. */
export async function openCluster(options: {
  readonly dataDir: string;
  readonly fsync: boolean;
}): Promise<Cluster> {
  const binaries = await findBinaries();
  makeFolder(resolve(options.dataDir));
  const dataDir = realpathSync(options.dataDir);
  const dir = join(dataDir, 'postgres');
  refuseForeign(dir);
  const ids = accountFor(dir);
  return {
    dataDir,
    dir,
    socketDir: socketDirOf(dataDir),
    binaries,
    ids,
    launcher: launcherFor(ids, join(dir, 'weir.lock')),
    fsync: options.fsync,
  };
}

/** Makes the cluster unless it is there. */
export async function ensureCluster(cluster: Cluster, progress: (line: string) => void): Promise<void> {
  if (existsSync(join(cluster.dir, 'PG_VERSION'))) return;
  removeUnfinished(cluster.dataDir);
  const fresh = join(cluster.dataDir, unfinished + (processIdentity(process.pid) ?? process.pid).toString());
  rmSync(fresh, { recursive: true, force: true });
  try {
    mkdirSync(fresh, { mode: 0o700 });
    if (cluster.ids) chownSync(fresh, cluster.ids.uid, cluster.ids.gid);
    progress(`Creating the database in ${cluster.dir} (first start only, a few seconds)`);
    await initdb(cluster, fresh);
    renameSync(fresh, cluster.dir);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    // Another process made it in the meantime: theirs it is.
    if (!existsSync(join(cluster.dir, 'PG_VERSION'))) throw explained(cluster, error);
  }
  syncFolder(cluster.dataDir);
}

/** The error as a person can act on it. */
function explained(cluster: Cluster, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  const text =
    code === 'ENOTEMPTY'
      ? `The folder ${cluster.dir} is not empty and holds no database. Move it away, or set WEIR_DATA to another folder.`
      : syscall === 'mkdir'
        ? `Nothing can be made in the data folder ${cluster.dataDir} (${code}). Set WEIR_DATA to a folder that this user may write.`
        : null;
  return text === null ? error : new Error(text, { cause: error });
}

/** Makes the socket's folder, for PostgreSQL's account alone. Throws a sentence when something else is there. */
export function ensureSocketDir(cluster: Cluster): void {
  const { socketDir, ids } = cluster;
  const owner = ids ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  try {
    mkdirSync(socketDir, { mode: 0o700 });
    chownSync(socketDir, owner.uid, owner.gid);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST') {
      throw new Error(
        `The folder ${socketDir} for the socket of PostgreSQL cannot be made (${code}). See that it can be, or set TMPDIR to another folder and start again.`,
        { cause: error },
      );
    }
  }
  const made = lstatSync(socketDir, { throwIfNoEntry: false });
  // A Weir that stopped has taken it along in this very moment.
  if (!made) return ensureSocketDir(cluster);
  if (!made.isDirectory() || made.uid !== owner.uid) {
    throw new Error(
      `${socketDir} is not a folder of the account PostgreSQL runs as (uid ${owner.uid}). Remove it, or set TMPDIR to another folder and start again.`,
    );
  }
  chmodSync(socketDir, 0o700);
}

/** Removes the socket's folder unless a server has its socket there. */
export function removeSocketDir(cluster: Cluster): void {
  try {
    rmdirSync(cluster.socketDir);
  } catch {
    // Another server's by now, or gone.
  }
}

async function findBinaries(): Promise<Cluster['binaries']> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return (await import(name)) as Cluster['binaries'];
  } catch {
    throw new Error(
      `There is no built-in PostgreSQL for ${process.platform} on ${process.arch} (package ${name}). Set DATABASE_URL to a PostgreSQL 15 or newer.`,
    );
  }
}

function refuseForeign(dir: string): void {
  const owner = statSync(dir, { throwIfNoEntry: false });
  const uid = process.getuid?.() ?? 0;
  if (!owner) return;
  if (uid !== 0 && owner.uid !== uid) {
    throw new Error(
      `The database in ${dir} belongs to another account (uid ${owner.uid}). Start Weir as the account that made it, or as root, or with another data folder.`,
    );
  }
  const version = existsSync(join(dir, 'PG_VERSION'))
    ? readFileSync(join(dir, 'PG_VERSION'), 'utf8').trim()
    : majorVersion;
  if (version !== majorVersion) {
    throw new Error(
      `The database in ${dir} was made by PostgreSQL ${version}; this Weir brings PostgreSQL ${majorVersion}. Start the Weir that made it, or use another data folder.`,
    );
  }
}

function socketDirOf(dataDir: string): string {
  const name = `weir-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`;
  const usual = join(tmpdir(), name);
  return usual.length < 80 ? usual : join('/tmp', name);
}

async function initdb(cluster: Cluster, dir: string): Promise<void> {
  const words = [...cluster.launcher.tool, cluster.binaries.initdb, '-D', dir, '-U', superuser];
  words.push('-A', 'trust', '-E', 'UTF8', '--locale=C', ...(cluster.fsync ? [] : ['--no-sync']));
  try {
    await promisify(execFile)(words[0]!, words.slice(1), cluster.launcher.options);
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    throw new Error(
      `The database could not be created in ${cluster.dir}: ${stderr?.trim() || String(error)}`,
      {
        cause: error,
      },
    );
  }
}

/** What a process killed while creating left behind. */
function removeUnfinished(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    if (name.startsWith(unfinished) && !isRunning(name.slice(unfinished.length))) {
      rmSync(join(dataDir, name), { recursive: true, force: true });
    }
  }
}

/** The rename must not be lost with the power: rows in there will have been called durable. */
function syncFolder(dir: string): void {
  const handle = openSync(dir, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
