/**
 * Owns: that what works in a folder which was made for a workstream works where that folder is now. It is written down by the
 * whole path it was made at, and the folder of all data may have been moved or copied since: what works in a copy is not to
 * touch the original.
 */
import type { Processes } from '../ports/processes.ts';
import type { Tools } from '../ports/tools.ts';
import type { Workspaces } from '../ports/workspaces.ts';
import type { Prompt } from './actor/prompt.ts';

export function whereFoldersAre({ at }: Pick<Workspaces, 'at'>) {
  const placed = async <T extends { readonly workspace: string }>(call: T): Promise<T> => ({
    ...call,
    workspace: await at(call.workspace),
  });
  return {
    tools: (tools: Tools): Tools => ({
      ...tools,
      prepare: async (call) => tools.prepare(await placed(call)),
      run: async (call, signal, onOutput) => tools.run(await placed(call), signal, onOutput),
    }),
    prompt:
      (prompt: Prompt): Prompt =>
      async (workspace, instructions) =>
        prompt(await at(workspace), instructions),
    processes: (processes: Processes): Processes => ({
      ...processes,
      run: async (command, signal, onOutput) =>
        processes.run({ ...command, cwd: await at(command.cwd) }, signal, onOutput),
    }),
  };
}
