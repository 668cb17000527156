/**
 * Owns: as whom PostgreSQL runs, and the words in front of its commands. It refuses to run as root, so root lends
 * it another account; the tools of util-linux, where they are, tie it to this process and lock its folder.
 */
import { execFileSync, type SpawnOptions } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';

export interface Ids {
  readonly uid: number;
  readonly gid: number;
}

export interface Launcher {
  /** Words before the command, for a long-running server (`server`) and for a short one (`tool`). */
  readonly server: readonly string[];
  readonly tool: readonly string[];
  readonly options: SpawnOptions;
  /** True when the kernel stops the server with this process, even on kill -9. */
  readonly bound: boolean;
  /** Exit code that says another process holds the folder's lock; null when no such lock is taken. */
  readonly lockedExitCode: number | null;
}

/** The account for a cluster in this folder: its owner if it exists, else `postgres`, else `nobody`. Null: as we are. */
export function accountFor(clusterDir: string): Ids | null {
  if (process.getuid?.() !== 0) return null;
  const owner = statSync(clusterDir, { throwIfNoEntry: false });
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  for (const name of ['postgres', 'nobody']) {
    const ids = lookUp(name);
    if (ids) return ids;
  }
  throw new Error(
    'PostgreSQL does not run as root and there is no account "postgres" or "nobody" to lend it. Start Weir as an ordinary user, or set DATABASE_URL.',
  );
}

/**
 * setpriv makes the kernel stop PostgreSQL when this process dies, and lets the other account read through folders
 * only root may enter (a checkout in a 0700 folder); the securebit is needed because PostgreSQL checks itself with
 * access(2). flock, kept open by every process of the server, refuses a second server on the folder even when it
 * runs in another container, where PostgreSQL's own check by process number is blind.
 */
export function launcherFor(ids: Ids | null, lockFile: string): Launcher {
  const options: SpawnOptions = { cwd: '/', env: { PATH: process.env['PATH'], TZ: 'UTC', LC_ALL: 'C' } };
  if (process.platform !== 'linux' || !fromUtilLinux('setpriv')) {
    return {
      server: [],
      tool: [],
      options: ids ? { ...options, ...ids } : options,
      bound: false,
      lockedExitCode: null,
    };
  }
  const tool = ['setpriv', '--pdeathsig=INT', ...(ids ? lentAccount(ids) : [])];
  const locks = fromUtilLinux('flock');
  const server = locks
    ? [...tool, 'flock', '--nonblock', '--no-fork', '--conflict-exit-code=75', lockFile]
    : tool;
  return { server, tool, options, bound: true, lockedExitCode: locks ? 75 : null };
}

function lentAccount(ids: Ids): string[] {
  const words = [`--reuid=${ids.uid}`, `--regid=${ids.gid}`, '--clear-groups'];
  const capability = lendableCapability();
  return capability
    ? [
        ...words,
        '--securebits=+no_setuid_fixup',
        `--inh-caps=-all,+${capability}`,
        `--ambient-caps=-all,+${capability}`,
      ]
    : words;
}

/** Containers often lack the gentler one. */
function lendableCapability(): 'dac_read_search' | 'dac_override' | null {
  const bounding = BigInt(
    `0x${/^CapBnd:\s*(\w+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'}`,
  );
  if (bounding & (1n << 2n)) return 'dac_read_search';
  return bounding & (1n << 1n) ? 'dac_override' : null;
}

function lookUp(name: string): Ids | null {
  try {
    const id = (flag: string) =>
      Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    return null;
  }
}

/** Busybox has commands of these names without the options used here. */
function fromUtilLinux(command: string): boolean {
  try {
    return execFileSync(command, ['--version'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).includes('util-linux');
  } catch {
    return false;
  }
}
