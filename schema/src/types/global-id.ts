/**
 * Owns: global ids. One is base64url of `Type:raw id`, which is nobody's business outside this file.
 *
 * Invariant: text that is no global id of ours decodes to null, never to a crash.
 */
import type { WorkstreamNotFound } from '../outcome.ts';
import type { Entry } from '../projection/index.ts';

export type NodeRef =
  | { readonly type: 'Workstream'; readonly workstreamId: string }
  | { readonly type: 'Watch'; readonly watchId: string }
  | {
      readonly type: 'Entry';
      readonly workstreamId: string;
      readonly revision: number;
      readonly entryId: string;
    };

export const workstreamGlobalId = (workstreamId: string): string => encode(`Workstream:${workstreamId}`);

export const watchGlobalId = (watchId: string): string => encode(`Watch:${watchId}`);

/** Tells which entry by its random id; the revision only says where to look for it. */
export const entryGlobalId = (workstreamId: string, entry: Entry): string =>
  encode(`Entry:${workstreamId}:${entry.revision}:${entry.id}`);

export function decodeGlobalId(text: string): NodeRef | null {
  if (!/^[\w-]{1,300}$/.test(text)) return null;
  const plain = Buffer.from(text, 'base64url').toString('utf8');
  const workstream = /^Workstream:([\w-]{1,64})$/.exec(plain);
  if (workstream) return { type: 'Workstream', workstreamId: workstream[1]! };
  const watch = /^Watch:([\w-]{1,64})$/.exec(plain);
  if (watch) return { type: 'Watch', watchId: watch[1]! };
  const entry = /^Entry:([\w-]{1,64}):(\d{1,15}):([\w-]{1,64})$/.exec(plain);
  return entry
    ? { type: 'Entry', workstreamId: entry[1]!, revision: Number(entry[2]), entryId: entry[3]! }
    : null;
}

/** The raw id of a workstream, or null when the text is not the global id of one. */
export function workstreamIdOf(globalId: string): string | null {
  const ref = decodeGlobalId(globalId);
  return ref?.type === 'Workstream' ? ref.workstreamId : null;
}

/** The raw id of a watch, or null when the text is not the global id of one. */
export function watchIdOf(globalId: string): string | null {
  const ref = decodeGlobalId(globalId);
  return ref?.type === 'Watch' ? ref.watchId : null;
}

/** Gives the raw id to a command, or refuses when there can be no such workstream. */
export function onWorkstream<T>(
  globalId: string,
  command: (workstreamId: string) => T,
): T | WorkstreamNotFound {
  const workstreamId = workstreamIdOf(globalId);
  return workstreamId === null
    ? {
        type: 'Rejected',
        code: 'WORKSTREAM_NOT_FOUND',
        message: 'There is no workstream with this id.',
        retryable: false,
      }
    : command(workstreamId);
}

const encode = (plain: string): string => Buffer.from(plain, 'utf8').toString('base64url');
