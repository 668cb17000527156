/**
 * Owns: what running a command means to a model and to the person who is asked.
 * Does not own: the process group and its end (the `Processes` port), or what is never run (core).
 */
import * as z from 'zod';
import { cut } from '../../core/kit/cut.ts';
import type { CommandResult, Processes } from '../../ports/processes.ts';
import { type ToolResult, visible, visibleLine } from 'schema/projection';
import { refusedCommand } from './command.ts';
import { rootOf } from './confine.ts';
import type { ToolLimits } from './limits.ts';
import { canceledBeforeStart, failed, isRefusal, type Tool } from './tool.ts';

const titleLength = 120;

export function createShell(
  { processes }: { readonly processes: Processes },
  limits: ToolLimits,
): Tool<{ command: string; timeout_seconds?: number | undefined }> {
  return {
    name: 'shell',
    access: 'EXECUTE',
    description: [
      'Run a command with /bin/sh in the workspace folder and return its output (stdout and stderr together) and exit code.',
      'There is no terminal and no input: do not start editors, pagers or anything that asks questions.',
      'Every process the command started is ended when the command ends, also ones in the background.',
      `Of more than ${limits.maxOutputBytes} bytes of output the middle is cut out.`,
    ].join(' '),
    schema: z.strictObject({
      command: z.string().min(1).max(65_536).describe('The command line, as /bin/sh reads it.'),
      timeout_seconds: z
        .int()
        .min(1)
        .max(limits.maxTimeoutSeconds)
        .optional()
        .describe(`Seconds after which it is ended; ${limits.defaultTimeoutSeconds} if left out.`),
    }),
    async preview({ command }, workspace) {
      const refused = refusedCommand(command);
      if (refused !== null) return refused;
      // Asked again where it starts; here so that nobody is asked in vain.
      const root = await rootOf(workspace);
      if (isRefusal(root)) return root;
      const firstLine = command.split('\n').find((line) => line.trim() !== '') ?? '';
      const title = visibleLine(firstLine.trim());
      const short = title.length > titleLength ? `${cut(title, titleLength - 1)}…` : title;
      return { preview: { kind: 'COMMAND', title: short, body: visible(command) }, basis: null };
    },
    async run({ command, timeout_seconds = limits.defaultTimeoutSeconds }, context) {
      // Whoever approved it, and by whatever way it came here (D-82).
      const refused = refusedCommand(command);
      if (refused !== null) return failed(refused.refused);
      const result = await processes.run(
        {
          script: command,
          cwd: context.workspace,
          callId: context.callId,
          timeoutMs: timeout_seconds * 1_000,
          maxOutputBytes: limits.maxOutputBytes,
        },
        context.signal,
        context.onOutput,
      );
      return settled(result, timeout_seconds, context.signal);
    },
  };
}

function settled(result: CommandResult, timeoutSeconds: number, signal: AbortSignal): ToolResult {
  const tell = (ending: string): string => {
    const output = result.output === '' ? '(no output)' : result.output.replace(/\n$/, '');
    return [output, ...(result.message === null ? [] : [`[${result.message}]`]), `[${ending}]`].join('\n');
  };
  switch (result.ending) {
    case 'exited':
      return {
        outcome: result.exitCode === 0 ? 'OK' : 'ERROR',
        effect: 'COMMITTED',
        content: tell(`exit code ${result.exitCode}`),
      };
    // Cut off in the middle: what it had done by then was not observed (D-9).
    case 'signaled':
      return { outcome: 'ERROR', effect: 'UNKNOWN', content: tell(`ended by signal ${result.signal}`) };
    case 'timedOut':
      return {
        outcome: 'ERROR',
        effect: 'UNKNOWN',
        content: tell(
          `timed out after ${timeoutSeconds} s and was ended; it may have done a part of its work`,
        ),
      };
    case 'aborted':
      return {
        outcome: 'CANCELED',
        effect: 'UNKNOWN',
        content: tell('stopped on request; it may have done a part of its work'),
      };
    case 'notStarted':
      return signal.aborted
        ? canceledBeforeStart
        : failed(result.message ?? 'The command could not be started.');
  }
}
