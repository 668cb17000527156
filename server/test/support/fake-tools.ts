/**
 * Owns: tools whose runs a test ends by hand. `look` only reads, `write` and `shell` ask a person first. A call with
 * arguments `invalid` cannot be prepared.
 */
import type { ToolResult } from 'schema/projection';
import type { Access, ToolCall, Tools } from '../../src/ports/tools.ts';

export interface FakeRun {
  readonly call: ToolCall & { readonly basis: string | null };
  readonly signal: AbortSignal;
  output(text: string): void;
  /** Ends the run; by default it went well. */
  end(result?: Partial<ToolResult>): void;
  crash(error: Error): void;
}

export interface FakeTools extends Tools {
  readonly runs: readonly FakeRun[];
  /** An abort is not obeyed: a run goes on until the test ends it. */
  ignoreAborts(): void;
}

const accessOf: Readonly<Record<string, Access>> = { look: 'READ', write: 'WRITE', shell: 'EXECUTE' };

export function createFakeTools(): FakeTools {
  const runs: FakeRun[] = [];
  let stubborn = false;
  return {
    runs,
    ignoreAborts: () => void (stubborn = true),
    definitions: Object.entries(accessOf).map(([name, access]) => ({
      name,
      access,
      description: `Test tool ${name}.`,
      parameters: { type: 'object' },
    })),
    async prepare({ callId, name, arguments: args }) {
      const access = accessOf[name];
      return access && args !== 'invalid'
        ? {
            type: 'ready',
            access,
            argumentsHash: `hash-of-${callId}`,
            preview: { kind: 'TEXT', title: name, body: args },
            basis: `basis-of-${callId}`,
          }
        : { type: 'invalid', message: 'There is no such tool.' };
    },
    run: (call, signal, onOutput) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => {
          if (!stubborn) resolve({ outcome: 'CANCELED', effect: 'UNKNOWN', content: 'Ended.' });
        });
        runs.push({
          call,
          signal,
          output: onOutput,
          end: (result = {}) => resolve({ outcome: 'OK', effect: 'COMMITTED', content: 'done', ...result }),
          crash: reject,
        });
      }),
  };
}
