/**
 * Owns: one child process of a test: what it printed, how it ended, and that it never outlives the test run.
 * Does not own: what it is for (`weir.ts`).
 *
 * Invariants: only a process this file started is signalled, by its own pid or group; waiting is for a fact, and says
 * what it waited for when the fact does not come.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';

export interface Exit {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Child {
  readonly pid: number;
  /** Everything it has printed so far, both streams. */
  output(): string;
  /** The first match in its output, as soon as it is there. Rejects when it exits without one. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  readonly exited: Promise<Exit>;
  isRunning(): boolean;
  /** Sends the signal and resolves when it has exited. SIGINT goes to the whole group, as Ctrl-C in a terminal does. */
  kill(signal: NodeJS.Signals): Promise<Exit>;
}

/** Where it exists, the kernel itself ends our child when we die in whatever way. */
const setpriv = '/usr/bin/setpriv';
const leash =
  process.platform === 'linux' && existsSync(setpriv) ? [setpriv, '--pdeathsig', 'KILL', '--'] : [];

const running = new Set<number>();
process.on('exit', () => {
  for (const pid of running) signal(-pid, 'SIGKILL');
});

/** Starts a command as the leader of a group of its own. The environment is exactly the one given. */
export function startChild(
  command: readonly string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Child {
  const [program, ...words] = [...leash, ...command];
  const child = spawn(program!, words, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} could not be started`);
  running.add(pid);
  let output = '';
  let exit: Exit | null = null;
  const watchers = new Set<() => void>();
  const look = (): void => {
    for (const watch of watchers) watch();
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      look();
    });
  }
  // 'close', not 'exit': then all it printed has arrived.
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, by) => {
      running.delete(pid);
      exit = { code, signal: by };
      look();
      resolve(exit);
    });
  });

  return {
    pid,
    output: () => output,
    exited,
    isRunning: () => exit === null,
    printed: (pattern) =>
      new Promise((resolve, reject) => {
        const watch = (): void => {
          const match = pattern.exec(output);
          if (match) resolve(match);
          else if (exit) reject(new Error(`${describeExit(exit)} without printing ${pattern}:\n${output}`));
          else return;
          watchers.delete(watch);
        };
        watchers.add(watch);
        watch();
      }),
    kill(by) {
      if (!exit) signal(by === 'SIGINT' ? -pid : pid, by);
      return exited;
    },
  };
}

/** False when there is no such process (any more). */
export function signal(pid: number, by: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, by === 0 ? 0 : constants.signals[by]);
  } catch {
    return false;
  }
}

/** Settles as the promise does, or rejects after `ms` with what was waited for. */
export async function within<T>(ms: number, what: () => string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`After ${ms} ms still waiting for ${what()}`));
    }, ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

const describeExit = ({ code, signal: by }: Exit): string =>
  by ? `It was ended by ${by}` : `It exited with ${code}`;
