/** Owns: creating a file or replacing all of it. */
import * as z from 'zod';
import { counted } from './counted.ts';
import { previewChange, runChange, type Changing } from './change-file.ts';
import type { ToolLimits } from './limits.ts';
import type { Tool } from './tool.ts';

interface Arguments {
  readonly path: string;
  readonly content: string;
}

export function createWriteFile(limits: ToolLimits): Tool<Arguments> {
  return {
    name: 'write_file',
    access: 'WRITE',
    description: [
      'Create a text file in the workspace, or replace the whole content of one. Missing folders are created.',
      'To change a part of a file use edit_file.',
    ].join(' '),
    schema: z.strictObject({
      path: z.string().describe('Path of the file, relative to the workspace folder.'),
      content: z.string().describe('The whole new content.'),
    }),
    preview: ({ path, content }, workspace) => previewChange(limits, path, workspace, writing(content)),
    run: ({ path, content }, context) => runChange(limits, path, context, writing(content)),
  };
}

const writing =
  (content: string): Changing =>
  (file, label) => ({
    after: content,
    report: `${file.bytes === null ? 'Created' : 'Replaced'} "${label}" (${counted(Buffer.byteLength(content), 'byte')}).`,
  });
