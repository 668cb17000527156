/** Owns: what the tests of processes need: a folder, commands as they are run, and whether a pid still lives. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createProcesses } from '../../../src/adapters/process/index.ts';
import type { Command, CommandResult } from '../../../src/ports/processes.ts';

export const sessionId = `session-${randomBytes(8).toString('hex')}`;
export const processes = createProcesses({ sessionId });

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-process-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export const newCallId = (): string => randomBytes(16).toString('hex');

export interface Running {
  readonly callId: string;
  readonly result: Promise<CommandResult>;
  readonly abort: () => void;
  readonly output: () => string;
  /** Resolves when the live output holds `text`; answers all of it. */
  readonly printed: (text: string) => Promise<string>;
}

export function start(script: string, more: Partial<Command> = {}): Running {
  const command: Command = {
    script,
    cwd: realpathSync(tmpdir()),
    callId: newCallId(),
    timeoutMs: 20_000,
    maxOutputBytes: 65_536,
    ...more,
  };
  const controller = new AbortController();
  const waiting = new Set<() => void>();
  let output = '';
  const result = processes.run(command, controller.signal, (text) => {
    output += text;
    for (const look of waiting) look();
  });
  return {
    callId: command.callId,
    result,
    abort: () => controller.abort(),
    output: () => output,
    printed: (text) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!output.includes(text)) return;
          waiting.delete(look);
          resolve(output);
        };
        waiting.add(look);
        look();
      }),
  };
}

/** The pid printed as `name=<pid>`. */
export function pidIn(output: string, name: string): number {
  const pid = new RegExp(`${name}=(\\d+)`).exec(output)?.[1];
  if (pid === undefined) throw new Error(`No ${name}= in: ${output}`);
  return Number(pid);
}

/** A dead process that nobody has collected does not run. */
export function isRunning(pid: number): boolean {
  try {
    return !execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
      .trim()
      .startsWith('Z');
  } catch {
    return false;
  }
}
