/** Owns: what the tests of tools need: a workspace with something outside of it, and calls as the server makes them. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createProcesses } from '../../../src/adapters/process/index.ts';
import { createTools, type ToolsDeps } from '../../../src/adapters/tools/index.ts';
import type { ToolLimits } from '../../../src/adapters/tools/limits.ts';
import type { PreparedCall, Tools } from '../../../src/ports/tools.ts';
import type { ToolResult } from 'schema/projection';

export interface Bench {
  /** Real path of the workspace. */
  readonly workspace: string;
  /** A folder beside the workspace, with `secret.txt` in it. */
  readonly outside: string;
  readonly prepare: (name: string, args: unknown) => Promise<PreparedCall>;
  readonly run: (
    name: string,
    args: unknown,
    basis: string | null,
    signal?: AbortSignal,
    onOutput?: (text: string) => void,
  ) => Promise<ToolResult>;
  /** Prepares and runs; the refusal when it is not ready. */
  readonly call: (name: string, args: unknown) => Promise<ToolResult | { readonly refused: string }>;
  /** The same tools in another folder, by its real path. */
  readonly at: (workspace: string) => Bench;
  /** Puts files below the workspace. */
  readonly files: (content: Readonly<Record<string, string | Buffer>>) => void;
}

type Limits = Partial<ToolLimits>;

/** `limits` may be made of the real path of the workspace. */
export function createBench(
  limits: Limits | ((workspace: string) => Limits) = {},
  watches?: ToolsDeps['watches'],
): Bench {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'weir-tools-')));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const workspace = join(base, 'work');
  // A name that begins like the workspace's, for checks that compare text instead of folders.
  const outside = join(base, 'work-outside');
  mkdirSync(workspace);
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret.txt'), 'secret\n');

  const tools = createTools({
    processes: createProcesses({ sessionId: 'test' }),
    ...(watches === undefined ? {} : { watches }),
    limits: typeof limits === 'function' ? limits(workspace) : limits,
  });
  return benchIn(tools, workspace, outside);
}

let calls = 0;

function benchIn(tools: Tools, workspace: string, outside: string): Bench {
  const callOf = (name: string, args: unknown) => ({
    callId: `call-${process.pid}-${++calls}`,
    name,
    arguments: typeof args === 'string' ? args : JSON.stringify(args),
    workstreamId: 'workstream-1',
    workspace,
  });
  const bench: Bench = {
    workspace,
    outside,
    prepare: (name, args) => tools.prepare(callOf(name, args)),
    run: (name, args, basis, signal = new AbortController().signal, onOutput = () => {}) =>
      tools.run({ ...callOf(name, args), basis }, signal, onOutput),
    async call(name, args) {
      const prepared = await bench.prepare(name, args);
      return prepared.type === 'ready'
        ? await bench.run(name, args, prepared.basis)
        : { refused: prepared.message };
    },
    at: (other) => benchIn(tools, other, outside),
    files(content) {
      for (const [path, bytes] of Object.entries(content)) {
        mkdirSync(join(workspace, path, '..'), { recursive: true });
        writeFileSync(join(workspace, path), bytes);
      }
    },
  };
  return bench;
}
