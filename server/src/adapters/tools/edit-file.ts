/** Owns: replacing an exact piece of a file, and saying what is wrong when it is not there, or there more than once. */
import * as z from 'zod';
import { previewChange, runChange, type Changing } from './change-file.ts';
import { textOf } from './file-content.ts';
import type { ToolLimits } from './limits.ts';
import { refuse, type Tool } from './tool.ts';

interface Arguments {
  readonly path: string;
  readonly old_text: string;
  readonly new_text: string;
  readonly replace_all?: boolean | undefined;
}

export function createEditFile(limits: ToolLimits): Tool<Arguments> {
  return {
    name: 'edit_file',
    access: 'WRITE',
    description: [
      'Replace a piece of a text file of the workspace. "old_text" must be in the file exactly, with every space and line end,',
      'and only once, unless "replace_all" is true: give enough lines around it. Read the file first.',
    ].join(' '),
    schema: z.strictObject({
      path: z.string().describe('Path of the file, relative to the workspace folder.'),
      old_text: z.string().min(1).describe('The exact text to replace.'),
      new_text: z.string().describe('The text to put in its place; may be empty.'),
      replace_all: z.boolean().optional().describe('Replace every occurrence; false if left out.'),
    }),
    preview: (args, workspace) => previewChange(limits, args.path, workspace, editing(args, limits)),
    run: (args, context) => runChange(limits, args.path, context, editing(args, limits)),
  };
}

const editing =
  ({ old_text, new_text, replace_all = false }: Arguments, limits: ToolLimits): Changing =>
  (file, label) => {
    if (file.bytes === null) return refuse(`There is no "${label}". Use write_file to create it.`);
    const before = textOf(file.bytes);
    if (before === null) return refuse(`"${label}" is not UTF-8 text, so it cannot be edited.`);
    if (old_text === new_text)
      return refuse('"old_text" and "new_text" are the same; there is nothing to do.');
    const at = occurrences(before, old_text);
    if (at.length === 0) return refuse(notFound(before, old_text, label));
    const lines = [...new Set(linesOf(before, at.slice(0, 10)))];
    const where = `${lines.length === 1 ? 'line' : 'lines'} ${lines.join(', ')}${at.length > 10 ? ', …' : ''}`;
    if (at.length > 1 && !replace_all) {
      return refuse(
        `"old_text" is in "${label}" ${at.length} times (${where}). ` +
          'Add lines around it until it is unique, or set "replace_all" to true.',
      );
    }
    // Computed before it is made: a small call may ask for a huge text.
    if (before.length + at.length * (new_text.length - old_text.length) > limits.maxFileBytes) {
      return refuse(`The file would have more than the ${limits.maxFileBytes} bytes this tool writes.`);
    }
    const times = at.length === 1 ? '1 occurrence' : `${at.length} occurrences`;
    return {
      after: before.split(old_text).join(new_text),
      report: `Replaced ${times} in "${label}" (${where}).`,
    };
  };

function occurrences(text: string, piece: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(piece); at !== -1; at = text.indexOf(piece, at + piece.length)) found.push(at);
  return found;
}

/** Line numbers, from 1, of ascending places in the text. */
function linesOf(text: string, at: readonly number[]): number[] {
  let line = 1;
  let from = 0;
  return at.map((place) => {
    for (let next = text.indexOf('\n', from); next !== -1 && next < place; next = text.indexOf('\n', from)) {
      line++;
      from = next + 1;
    }
    return line;
  });
}

function notFound(text: string, piece: string, label: string): string {
  const start = `"old_text" is not in "${label}".`;
  if (text.includes('\r\n') && text.includes(piece.replace(/\r?\n/g, '\r\n'))) {
    return `${start} The lines of this file end in CRLF: write \\r\\n where "old_text" and "new_text" have \\n.`;
  }
  const firstLine = piece
    .split('\n')
    .map((line) => line.trim())
    .find((line) => line !== '');
  const alike =
    firstLine === undefined ? -1 : text.split('\n').findIndex((line) => line.trim() === firstLine);
  if (alike !== -1) {
    return `${start} Line ${alike + 1} has its first line, so the white space or a later line differs. Read the file there and copy the text exactly.`;
  }
  return `${start} Read the file and copy the text to replace exactly.`;
}
