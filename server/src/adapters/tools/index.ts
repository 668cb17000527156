/**
 * Owns: the built-in tools as one registry: what there is, checking a call's arguments, and the promise never to throw.
 * Does not own: whether a person is asked (core), or process groups (the `Processes` port).
 *
 * Invariants: arguments are checked strictly, at `prepare` and again at `run`; `prepare` changes nothing; a failure
 * that is known to have changed nothing says NONE, one that is not known says UNKNOWN (D-9).
 */
import * as z from 'zod';
import { cut } from '../../core/kit/cut.ts';
import type { Processes } from '../../ports/processes.ts';
import type { PreparedCall, ToolCall, Tools } from '../../ports/tools.ts';
import { type ToolResult, visibleLine } from 'schema/projection';
import { argumentsHash } from './arguments-hash.ts';
import { createEditFile } from './edit-file.ts';
import { defaultLimits, type ToolLimits } from './limits.ts';
import { createListFiles } from './list-files.ts';
import { createReadFile } from './read-file.ts';
import { createShell } from './shell.ts';
import { failed, isRefusal, refuse, type Refusal, type Tool } from './tool.ts';
import { createWatch, type WatchToolDeps } from './watch.ts';
import { createWriteFile } from './write-file.ts';

export interface ToolsDeps {
  readonly processes: Processes;
  /** Left out: there is no tool to make watches with. */
  readonly watches?: WatchToolDeps;
  readonly limits?: Partial<ToolLimits>;
}

export function createTools({ processes, watches, limits }: ToolsDeps): Tools {
  const bounds = { ...defaultLimits, ...limits };
  const tools = [
    register(createReadFile(bounds), bounds),
    register(createListFiles(bounds), bounds),
    register(createWriteFile(bounds), bounds),
    register(createEditFile(bounds), bounds),
    register(createShell({ processes }, bounds), bounds),
    ...(watches === undefined ? [] : [register(createWatch(watches), bounds)]),
  ];
  const toolByName = new Map(tools.map((tool) => [tool.definition.name, tool]));
  const unknown = ({ name }: ToolCall): string =>
    `There is no tool "${visibleLine(cut(name, 100))}". There are: ${[...toolByName.keys()].join(', ')}.`;

  return {
    definitions: tools.map((tool) => tool.definition),
    prepare: async (call) =>
      (await toolByName.get(call.name)?.prepare(call)) ?? { type: 'invalid', message: unknown(call) },
    run: async (call, signal, onOutput) =>
      (await toolByName.get(call.name)?.run(call, signal, onOutput)) ?? failed(unknown(call)),
  };
}

interface Registered extends Pick<Tools, 'prepare' | 'run'> {
  readonly definition: Tools['definitions'][number];
}

function register<Arguments>(tool: Tool<Arguments>, limits: ToolLimits): Registered {
  const { $schema: _, ...parameters } = z.toJSONSchema(tool.schema, { io: 'input' });
  return {
    definition: { name: tool.name, description: tool.description, access: tool.access, parameters },
    async prepare(call): Promise<PreparedCall> {
      try {
        const args = argumentsOf(tool, call, limits);
        if (isRefusal(args)) return { type: 'invalid', message: args.refused };
        const previewed = await tool.preview(args.value, call.workspace, call.workstreamId);
        if (isRefusal(previewed)) return { type: 'invalid', message: previewed.refused };
        return {
          type: 'ready',
          access: tool.access,
          argumentsHash: argumentsHash(call.name, call.arguments),
          ...previewed,
        };
      } catch (error) {
        return { type: 'invalid', message: `${tool.name} could not be prepared (${faultOf(error)}).` };
      }
    },
    async run(call, signal, onOutput): Promise<ToolResult> {
      try {
        const args = argumentsOf(tool, call, limits);
        if (isRefusal(args)) return failed(args.refused);
        return await tool.run(args.value, { ...call, signal, onOutput });
      } catch (error) {
        return {
          outcome: 'ERROR',
          effect: tool.access === 'READ' ? 'NONE' : 'UNKNOWN',
          content: `${tool.name} failed (${faultOf(error)}).`,
        };
      }
    },
  };
}

/** An error's code says enough; its message may hold paths of the machine. */
const faultOf = (error: unknown): string =>
  error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.name) : 'unknown';

function argumentsOf<Arguments>(
  tool: Tool<Arguments>,
  call: ToolCall,
  { maxArgumentsBytes }: ToolLimits,
): { value: Arguments } | Refusal {
  // Before anything is made of them: parsing and comparing a huge text would hold up every other workstream.
  if (call.arguments.length > maxArgumentsBytes || Buffer.byteLength(call.arguments) > maxArgumentsBytes) {
    return refuse(
      `The arguments of ${tool.name} are longer than the ${maxArgumentsBytes} bytes one call may have, so nothing was done. ` +
        'Write the content in parts: the first one with write_file, and each further one at the end with edit_file.',
    );
  }
  let json: unknown;
  try {
    json = JSON.parse(call.arguments);
  } catch {
    return refuse(
      `The arguments of ${tool.name} are not valid JSON (${call.arguments.length} characters). Send one JSON object.`,
    );
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    return refuse(`The arguments of ${tool.name} must be one JSON object, such as {"path": "notes.txt"}.`);
  }
  const parsed = tool.schema.safeParse(json);
  if (parsed.success) return { value: parsed.data };
  const issues = parsed.error.issues
    .slice(0, 5)
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`));
  return refuse(visibleLine(`The arguments of ${tool.name} are not right: ${issues.join('; ')}.`));
}
