/**
 * Owns: which folder a workstream works in: one under the allowed roots, by resolved path, or one made for it.
 */
import { mkdir, realpath, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { quote } from '../../core/kit/quote.ts';
import type { Workspaces } from '../../ports/workspaces.ts';
import { contains } from './contains.ts';

export { readAgents } from './guidance.ts';

export async function createWorkspaces(options: {
  readonly roots: readonly string[];
  /** Weir's own, `workspaces` in which is where folders are made for workstreams that chose none. */
  readonly dataDir: string;
  /** They are moved and copied together with all that names them; else others may have made some in another place. */
  readonly moves: boolean;
}): Promise<Workspaces> {
  const { dataDir } = options;
  const ownRoot = join(dataDir, 'workspaces');
  // Once: a data folder that vanishes later is not to come back empty, as one that was never used.
  // Why that fails is said to whoever asks for a folder in it.
  await makeOwn(ownRoot).catch(() => undefined);
  const roots = await Promise.all(options.roots.map((root) => realpath(root)));
  const reached = (): Promise<string | null> => realpath(ownRoot).catch(() => null);
  return {
    roots,
    async choose(workstreamId, asked) {
      if (asked === null) {
        const own = join(ownRoot, workstreamId);
        try {
          await makeOwn(own);
          return { type: 'chosen', path: await realpath(own) };
        } catch (error) {
          return {
            type: 'refused',
            problem: `No folder can be made in ${quote(ownRoot)} (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'}). Choose one under ${roots.join(' or ')}, or see what became of that folder.`,
          };
        }
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
      if (!(await stat(path)).isDirectory())
        return { type: 'refused', problem: `${quote(wanted)} is not a folder.` };
      const isMade = isMadeIn(basename(ownRoot), path);
      if (isMade && dirname(path) === (await reached())) return { type: 'chosen', path };
      // Whatever is chosen in there would be moved and copied without anybody's knowing where it is then.
      if (contains(await realpath(dataDir).catch(() => dataDir), path))
        return {
          type: 'refused',
          problem: `The folder ${quote(wanted)} is in Weir's own data. Choose one outside of ${quote(dataDir)}, or the whole folder of a workstream.`,
        };
      // It would be taken for the one of that name here.
      if (isMade && options.moves)
        return {
          type: 'refused',
          problem: `The folder ${quote(wanted)} was made for a workstream, by its name, and not by this server. Choose another, or give it another name.`,
        };
      return { type: 'chosen', path };
    },
    async abandon(path) {
      // A person may have made one there by another name.
      if (!madeName.test(basename(path))) return null;
      if (dirname(path) !== (await reached())) return null;
      return rmdir(path).then(
        () => null,
        (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? null : path),
      );
    },
    async at(path) {
      if (!options.moves || !isMadeIn(basename(ownRoot), path)) return path;
      const root = await reached();
      return root === null ? path : join(root, basename(path));
    },
    own: async (workstreamId) => join((await reached()) ?? ownRoot, workstreamId),
    ownRoot: reached,
    async writtenBelow() {
      const root = await reached();
      return root === null ? null : options.moves ? '' : `${root}/`;
    },
  };
}

/** Of the folders made here: ids of workstreams. */
const madeName = /^[0-9a-f]{32}$/;

/** By its name, made in a folder called `root`, wherever that is. */
const isMadeIn = (root: string, path: string): boolean =>
  madeName.test(basename(path)) && basename(dirname(path)) === root;

/** Not `recursive`: it never returns where folders vanish as they are made (/proc). */
async function makeOwn(path: string): Promise<void> {
  await mkdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}
