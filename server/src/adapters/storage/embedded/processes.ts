/**
 * Owns: what can be seen of PostgreSQL's processes from outside, when they do not answer: which server a process is,
 * whether it gets on with something, and what a dead one left behind. Linux has it in /proc, others have `ps`.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { processIdentity } from './identity.ts';

/** What a process is to the cluster in a folder. */
export type Role =
  /** A server that a Weir started there; `launcher` is that Weir's identity. */
  | { readonly type: 'ours'; readonly launcher: string }
  /** A PostgreSQL, or one that cannot be told from one, that somebody else may have started there. */
  | { readonly type: 'foreign' }
  /** Something else altogether: the number was used again. */
  | { readonly type: 'stranger' };

interface Seen {
  readonly pid: number;
  readonly parent: number;
  /** Words of the command; a child of a PostgreSQL server has one, like "postgres: checkpointer ". */
  readonly command: readonly string[];
  /** Changes whenever it has used the processor. */
  readonly used: string;
  /** Waits for a disk, and cannot even be killed. */
  readonly inDisk: boolean;
}

const linux = process.platform === 'linux';

/** What the running process of this number is to the cluster in `clusterDir`. */
export function roleOf(pid: number, clusterDir: string): Role {
  const command = commandOf(pid);
  const line = command.join(' ');
  const launcher = /\bweir\.launcher=(\S+)/.exec(line)?.[1];
  if (launcher && line.includes(`-D ${clusterDir} `)) return { type: 'ours', launcher };
  // Every process of a server stands in its folder; one that may not be asked where it stands is told by its name.
  const folder = folderOf(pid);
  const stranger =
    folder === null
      ? command.length > 0 && !/postgres|postmaster/.test(basename(command[0]!))
      : folder !== clusterDir;
  return { type: stranger ? 'stranger' : 'foreign' };
}

/**
 * A text that stays the same while the server of this number gets on with nothing: what those of its processes that
 * repair after a crash, or write everything out at a stop, have done so far. The others wake up now and then for
 * nothing, and the first one is kept busy by whoever asks whether it answers.
 */
export function signOfWork(pid: number): string {
  const workers = processes().filter(
    (p) => p.parent === pid && /^postgres: (startup|checkpointer)/.test(p.command[0] ?? ''),
  );
  return workers
    .map((p) => `${p.pid} ${p.command[0]} ${p.used}${p.inDisk ? ` ${performance.now()}` : ''}`)
    .join('\n');
}

/**
 * Kills what a server that is gone left behind on the cluster: a process that hangs keeps the folder locked and the
 * memory in use, so that no other server starts. Answers how many. Only where /proc tells the folder of a process.
 */
export function killOrphans(clusterDir: string): number {
  if (!linux) return 0;
  const orphans = processes().filter(
    (p) =>
      // A server itself, and a child that has just begun, have another command: they are left alone.
      p.command[0]?.startsWith('postgres: ') &&
      folderOf(p.pid) === clusterDir &&
      folderOf(p.parent) !== clusterDir,
  );
  for (const { pid } of orphans) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It went by itself.
    }
  }
  return orphans.length;
}

function processes(): readonly Seen[] {
  if (!linux) return listed();
  const numbers = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return numbers.flatMap((name) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      // After the name in brackets, which may hold anything: state, parent, …, user time (12th), system time.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const pid = Number(name);
      return {
        pid,
        parent: Number(fields[1]),
        command: commandOf(pid),
        used: `${fields[11]} ${fields[12]}`,
        inDisk: fields[0] === 'D',
      };
    } catch {
      return [];
    }
  });
}

function listed(): readonly Seen[] {
  return ps(['-ax', '-o', 'pid=,ppid=,state=,time=,command='])
    .split('\n')
    .flatMap((line) => {
      const found = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s+(.*)$/.exec(line);
      if (!found) return [];
      const [, pid, parent, state, used, command] = found as unknown as string[];
      return {
        pid: Number(pid),
        parent: Number(parent),
        command: [command!],
        used: used!,
        inDisk: /^[DU]/.test(state!),
      };
    });
}

function commandOf(pid: number): readonly string[] {
  try {
    const text = linux
      ? readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      : ps(['-o', 'command=', '-p', `${pid}`]);
    return text.split(linux ? '\0' : /\s+/).filter((word) => word !== '');
  } catch {
    return [];
  }
}

/** The folder a process stands in; null when it may not be asked, or is gone. */
function folderOf(pid: number): string | null {
  try {
    return linux && processIdentity(pid) ? readlinkSync(`/proc/${pid}/cwd`) : null;
  } catch {
    return null;
  }
}

const ps = (words: readonly string[]): string =>
  execFileSync('ps', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 26 });
