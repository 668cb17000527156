/**
 * Owns: reading text, as much as a model can use at once, with the way to the rest.
 *
 * Lines are not numbered: small models copy the numbers into `edit_file`, where the text must match exactly.
 */
import type { FileHandle } from 'node:fs/promises';
import * as z from 'zod';
import { resolveInside } from './confine.ts';
import { counted } from './counted.ts';
import { textOf } from './file-content.ts';
import type { ToolLimits } from './limits.ts';
import { openFile } from './open-inside.ts';
import { canceledBeforeStart, failed, isRefusal, type Tool } from './tool.ts';
import { visibleLine } from 'schema/projection';

/** Bytes read past the last line returned, to say how many lines there are. */
const countAheadBytes = 16_777_216;

export function createReadFile(
  limits: ToolLimits,
): Tool<{ path: string; offset?: number | undefined; limit?: number | undefined }> {
  return {
    name: 'read_file',
    access: 'READ',
    description: [
      'Read a text file of the workspace. Returns its text as it is;',
      `of more than ${limits.maxReadBytes} bytes the first part, and how to read on.`,
      'Binary files are refused.',
    ].join(' '),
    schema: z.strictObject({
      path: z.string().describe('Path of the file, relative to the workspace folder.'),
      offset: z.int().min(1).optional().describe('First line to read, counted from 1; 1 if left out.'),
      limit: z.int().min(1).optional().describe('Most lines to read; as many as fit if left out.'),
    }),
    async preview({ path, offset, limit }, workspace) {
      const resolved = await resolveInside(workspace, path, limits.closedFolders);
      if (isRefusal(resolved)) return resolved;
      const lines =
        offset === undefined && limit === undefined
          ? ''
          : `From line ${offset ?? 1}${limit === undefined ? '' : `, at most ${limit} lines`}\n`;
      return { preview: { kind: 'TEXT', title: visibleLine(resolved.label), body: lines }, basis: null };
    },
    async run({ path, offset = 1, limit = Number.MAX_SAFE_INTEGER }, { workspace, signal }) {
      if (signal.aborted) return canceledBeforeStart;
      const resolved = await resolveInside(workspace, path, limits.closedFolders);
      if (isRefusal(resolved)) return failed(resolved.refused);
      const handle = await openFile({ ...resolved, path: [resolved.nearest, ...resolved.missing].join('/') });
      if (isRefusal(handle)) return failed(handle.refused);
      try {
        const part = await readLines(handle, { offset, limit, maxBytes: limits.maxReadBytes, signal });
        if (part === null) return canceledBeforeStart;
        if (part.bytes.includes(0)) return failed(`"${resolved.label}" is a binary file, not text.`);
        if (part.lines < offset && part.bytes.length === 0 && offset > 1) {
          return failed(
            `"${resolved.label}" has ${counted(part.lines, 'line')}; there is no line ${offset}.`,
          );
        }
        return { outcome: 'OK', effect: 'NONE', content: tell(part, offset, resolved.label) };
      } finally {
        await handle.close();
      }
    },
  };
}

interface Part {
  readonly bytes: Buffer;
  /** Last line that is in `bytes`, whole or in part; 0 when none. */
  readonly lastLine: number;
  /** The last line did not fit and is there in part. */
  readonly lineIsCut: boolean;
  /** Lines of the file, as far as it was read. */
  readonly lines: number;
  /** The end of the file was not reached. */
  readonly goesOn: boolean;
}

/** Null when stopped. */
async function readLines(
  handle: FileHandle,
  ask: {
    readonly offset: number;
    readonly limit: number;
    readonly maxBytes: number;
    readonly signal: AbortSignal;
  },
): Promise<Part | null> {
  const kept = Buffer.allocUnsafe(ask.maxBytes);
  const chunk = Buffer.allocUnsafe(65_536);
  let length = 0;
  /** Bytes of whole lines in `kept`. */
  let wholeLength = 0;
  let wholeLine = 0;
  let isFull = false;
  let line = 1;
  let lineIsEmpty = true;
  let ahead = 0;
  for (let position = 0; ;) {
    if (ask.signal.aborted) return null;
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    for (let from = 0; from < bytesRead;) {
      const newline = chunk.subarray(0, bytesRead).indexOf(10, from);
      const to = newline === -1 ? bytesRead : newline + 1;
      if (!isFull && line >= ask.offset && line - ask.offset < ask.limit) {
        const room = ask.maxBytes - length;
        length += chunk.copy(kept, length, from, Math.min(to, from + room));
        isFull = to - from > room;
        if (newline !== -1 && !isFull) [wholeLength, wholeLine] = [length, line];
      }
      if (newline !== -1) line++;
      lineIsEmpty = newline !== -1;
      from = to;
    }
    if (isFull || line - ask.offset >= ask.limit) ahead += bytesRead;
    if (ahead > countAheadBytes) break;
  }
  const goesOn = ahead > countAheadBytes;
  const lines = lineIsEmpty ? line - 1 : line;
  // What did not fit is left out by whole lines, unless already the first one is too long.
  const lineIsCut = isFull && wholeLength === 0;
  if (lineIsCut) return { bytes: kept.subarray(0, length), lastLine: ask.offset, lineIsCut, lines, goesOn };
  if (isFull) return { bytes: kept.subarray(0, wholeLength), lastLine: wholeLine, lineIsCut, lines, goesOn };
  const lastLine = length > wholeLength ? lines : wholeLine;
  return { bytes: kept.subarray(0, length), lastLine, lineIsCut, lines, goesOn };
}

function tell(part: Part, offset: number, label: string): string {
  if (part.bytes.length === 0) return '(the file is empty)';
  const notes: string[] = [];
  const total = part.goesOn ? `more than ${part.lines}` : `${part.lines}`;
  if (part.lineIsCut) {
    notes.push(
      `line ${offset} of ${total} is longer than what is returned at once; it is shown up to byte ${part.bytes.length}; ` +
        `the rest of it: sed -n ${offset}p FILE | tail -c +${part.bytes.length + 1} in the shell`,
    );
  } else if (offset > 1 || part.lastLine < part.lines || part.goesOn) {
    notes.push(`lines ${offset} to ${part.lastLine} of ${total}`);
  }
  if (part.lastLine < part.lines || part.goesOn) notes.push(`read on with offset ${part.lastLine + 1}`);

  const strict = textOf(part.bytes);
  // A cut line may end inside a character; that alone does not make the file another encoding.
  if (strict === null && !part.lineIsCut) {
    notes.push(`"${label}" is not valid UTF-8: bytes that are not are shown as �, and edit_file refuses it`);
  }
  const text = strict ?? part.bytes.toString('utf8').replace(part.lineIsCut ? /\uFFFD$/ : /$^/, '');
  return notes.length === 0 ? text : `${text.replace(/\n$/, '')}\n[${notes.join('; ')}]`;
}
