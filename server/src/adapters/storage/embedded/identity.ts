/**
 * Owns: who a process is, so that a number used again is not taken for it: pid and start time together.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** `<pid>:<start time>` of a running process; null when there is none, or it is a zombie. */
export function processIdentity(pid: number): string | null {
  const start = process.platform === 'linux' ? startTicks(pid) : startText(pid);
  return start && `${pid}:${start}`;
}

/** True while the very process this identity was taken of runs. */
export function isRunning(identity: string): boolean {
  return processIdentity(Number.parseInt(identity, 10)) === identity;
}

/** Clock ticks since boot, field 22 of /proc/<pid>/stat; the name before it may hold spaces and brackets. */
function startTicks(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, ticks] = [fields[0] ?? 'X', fields[19] ?? null];
    return 'ZX'.includes(state) ? null : ticks;
  } catch {
    return null;
  }
}

function startText(pid: number): string | null {
  try {
    const text = execFileSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, LC_ALL: 'C' },
    }).trim();
    return text === '' || text.startsWith('Z') ? null : text.replace(/^\S+\s+/, '').replace(/\W+/g, '-');
  } catch {
    return null;
  }
}
