/**
 * Owns: which folder a workstream works in: one under the allowed roots, by resolved path, or one made for it.
 */
import { mkdir, realpath, rmdir, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { quote } from '../../core/kit/quote.ts';
import type { Workspaces } from '../../ports/workspaces.ts';

export async function createWorkspaces(options: {
  readonly roots: readonly string[];
  /** Where folders are made for workstreams that chose none. */
  readonly ownRoot: string;
}): Promise<Workspaces> {
  const roots = await Promise.all(options.roots.map((root) => realpath(root)));
  return {
    roots,
    async choose(workstreamId, asked) {
      if (asked === null) {
        const own = join(options.ownRoot, workstreamId);
        await mkdir(own, { recursive: true });
        return { type: 'chosen', path: await realpath(own) };
      }
      if (asked.includes('\0'))
        return { type: 'refused', problem: 'The workspace path has a NUL character.' };
      // Relative to what would be a guess, and "" would choose a whole root.
      if (!isAbsolute(asked))
        return {
          type: 'refused',
          problem: `Give the whole path of the folder, under ${roots.join(' or ')}.`,
        };
      const wanted = resolve(asked);
      const path = await realpath(wanted).catch(() => null);
      if (path === null)
        return {
          type: 'refused',
          problem: `The folder ${quote(wanted)} does not exist. Make it first, or choose another.`,
        };
      if (!roots.some((root) => contains(root, path)))
        return {
          type: 'refused',
          problem: `The folder ${quote(wanted)} is outside the allowed ones: ${roots.join(', ')}. Set WEIR_WORKSPACES to allow more.`,
        };
      return (await stat(path)).isDirectory()
        ? { type: 'chosen', path }
        : { type: 'refused', problem: `${quote(wanted)} is not a folder.` };
    },
    async abandon(workstreamId) {
      // Not empty, or never made: then there is nothing to take back.
      await rmdir(join(options.ownRoot, workstreamId)).catch(() => undefined);
    },
  };
}

const contains = (root: string, path: string): boolean => {
  const way = relative(root, path);
  return way === '' || (way !== '..' && !way.startsWith('../') && !isAbsolute(way));
};
