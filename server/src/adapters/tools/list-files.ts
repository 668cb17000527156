/**
 * Owns: showing what is in a folder of the workspace. Links are named and not followed.
 */
import { opendir, readlink } from 'node:fs/promises';
import * as z from 'zod';
import { resolveInside, type Ground } from './confine.ts';
import type { ToolLimits } from './limits.ts';
import { openFolder, type Folder } from './open-inside.ts';
import { canceledBeforeStart, failed, isRefusal, type Tool } from './tool.ts';
import { visibleLine } from 'schema/projection';

const defaultDepth = 2;
const maxDepth = 10;
/** Named, but not looked into unless asked for by path: they fill the listing and nobody wants them. */
const skipped: ReadonlySet<string> = new Set(['.git', 'node_modules']);

export function createListFiles(
  limits: ToolLimits,
): Tool<{ path?: string | undefined; depth?: number | undefined }> {
  return {
    name: 'list_files',
    access: 'READ',
    description: [
      'List files and folders of the workspace, one path a line, relative to the workspace; folders end in "/".',
      `At most ${limits.maxEntries} entries. Looks into .git and node_modules only when "path" names them.`,
    ].join(' '),
    schema: z.strictObject({
      path: z
        .string()
        .optional()
        .describe('Folder to list, relative to the workspace folder, which it is if left out.'),
      depth: z
        .int()
        .min(1)
        .max(maxDepth)
        .optional()
        .describe(`How many levels of folders to show; ${defaultDepth} if left out.`),
    }),
    async preview({ path = '.', depth = defaultDepth }, workspace) {
      const resolved = await resolveInside(workspace, path, limits.closedFolders);
      if (isRefusal(resolved)) return resolved;
      const title = visibleLine(resolved.label);
      return { preview: { kind: 'TEXT', title, body: `${depth} levels deep\n` }, basis: null };
    },
    async run({ path: asked = '.', depth = defaultDepth }, { workspace, signal }) {
      if (signal.aborted) return canceledBeforeStart;
      const resolved = await resolveInside(workspace, asked, limits.closedFolders);
      if (isRefusal(resolved)) return failed(resolved.refused);
      const { label } = resolved;
      const path = [resolved.nearest, ...resolved.missing].join('/');
      const folder = await openFolder({ ...resolved, path });
      if (isRefusal(folder)) return failed(folder.refused);
      const listing: Listing = { ground: resolved, signal, room: limits.maxEntries, lines: [], notes: [] };
      const prefix = label === '.' ? '' : `${label}/`;
      await list(listing, folder, prefix, depth).finally(() => folder.handle.close());
      if (signal.aborted) return canceledBeforeStart;
      const lines = listing.lines.length === 0 ? ['(the folder is empty)'] : listing.lines;
      return { outcome: 'OK', effect: 'NONE', content: [...lines, ...listing.notes].join('\n') };
    },
  };
}

interface Listing {
  readonly ground: Ground;
  readonly signal: AbortSignal;
  /** Entries that may still be listed. */
  room: number;
  readonly lines: string[];
  readonly notes: string[];
}

async function list(listing: Listing, folder: Folder, prefix: string, depth: number): Promise<void> {
  const { names, isCut } = await entriesOf(folder, listing.room);
  listing.room -= names.length;
  // Taken before going deeper: what is near comes first when there is not room for all.
  for (const { name, kind } of names) {
    if (listing.signal.aborted) return;
    const shown = visibleLine(`${prefix}${name}`);
    if (kind === 'folder') listing.lines.push(`${shown}/`);
    else if (kind === 'link') listing.lines.push(`${shown} -> ${await targetOf(`${folder.base}/${name}`)}`);
    else listing.lines.push(kind === 'file' ? shown : `${shown} (not a file)`);

    if (kind !== 'folder' || depth === 1 || skipped.has(name)) continue;
    const path = `${folder.base}/${name}`;
    const inner = await openFolder({ ...listing.ground, path, label: `${prefix}${name}` });
    if (isRefusal(inner)) listing.notes.push(`[not listed: ${inner.refused}]`);
    else await list(listing, inner, `${prefix}${name}/`, depth - 1).finally(() => inner.handle.close());
  }
  if (isCut) {
    const where = visibleLine(prefix) || 'the workspace';
    listing.notes.push(`[${where} has more entries than fit here; list it alone, or use find in the shell]`);
  }
}

interface Name {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
}

/** Read one by one, so that a folder with millions of files costs no more than what is shown. */
async function entriesOf(folder: Folder, room: number): Promise<{ names: Name[]; isCut: boolean }> {
  const names: Name[] = [];
  const directory = await opendir(folder.base);
  for await (const entry of directory) {
    if (names.length >= room) return { names: names.sort(byName), isCut: true };
    const kind = entry.isDirectory()
      ? 'folder'
      : entry.isSymbolicLink()
        ? 'link'
        : entry.isFile()
          ? 'file'
          : 'other';
    names.push({ name: entry.name, kind });
  }
  return { names: names.sort(byName), isCut: false };
}

const byName = (a: Name, b: Name): number => (a.name < b.name ? -1 : 1);

const targetOf = (path: string): Promise<string> => readlink(path).then(visibleLine, () => '?');
