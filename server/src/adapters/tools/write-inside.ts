/**
 * Owns: replacing or creating one file in one move, so that no reader, and no crash, meets half of it.
 *
 * Not done by a library: the ones there are open a temporary file of a name that can be guessed and follow a link
 * found there, which a command running in the same folder could use to write outside the workspace.
 *
 * Invariants: nothing is written through a link; permissions and, where possible, owner are kept (set-id bits are not);
 * right before the move the file is compared with the basis once more; of two writes of this server to one file the
 * second sees what the first did.
 */
import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { access, lstat, mkdir, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { Ground, ResolvedPath } from './confine.ts';
import { basisOf } from './file-content.ts';
import { openFile, openFolder, whyNot, type Folder } from './open-inside.ts';
import { isRefusal } from './tool.ts';
import { visibleLine } from 'schema/projection';

export type WriteOutcome =
  | { readonly type: 'written' }
  /** The file is not what `basis` says. */
  | { readonly type: 'changed' }
  /** One sentence. `madeFolders`: folders above it were created and stay. */
  | { readonly type: 'failed'; readonly message: string; readonly madeFolders: boolean };

export async function writeInside(
  resolved: ResolvedPath,
  bytes: Buffer,
  basis: string,
): Promise<WriteOutcome> {
  const shown = `"${visibleLine(resolved.label)}"`;
  let madeFolders = false;
  let folder: Folder | null = null;
  try {
    const opened = await openFolder({
      ...resolved,
      path: resolved.missing.length === 0 ? dirname(resolved.nearest) : resolved.nearest,
    });
    if (isRefusal(opened)) return { type: 'failed', message: opened.refused, madeFolders };
    folder = opened;
    for (const name of resolved.missing.slice(0, -1)) {
      madeFolders = (await makeFolder(`${folder.base}/${name}`)) || madeFolders;
      const next = await openFolder({ ...resolved, path: `${folder.base}/${name}`, label: name });
      await folder.handle.close();
      folder = null;
      if (isRefusal(next)) return { type: 'failed', message: next.refused, madeFolders };
      folder = next;
    }
    const name = resolved.missing.at(-1) ?? basename(resolved.nearest);
    return { type: await replace({ ...resolved, folder, name }, bytes, basis) };
  } catch (error) {
    return { type: 'failed', message: whyNot(shown, error as NodeJS.ErrnoException), madeFolders };
  } finally {
    await folder?.handle.close();
  }
}

interface Target extends Ground {
  readonly folder: Folder;
  readonly name: string;
  readonly label: string;
}

/** The write to a file that is under way, by folder identity and name. */
const writing = new Map<string, Promise<unknown>>();

async function replace(target: Target, bytes: Buffer, basis: string): Promise<'written' | 'changed'> {
  const { dev, ino } = await target.folder.handle.stat();
  const key = `${dev}/${ino}/${target.name}`;
  const mine = Promise.allSettled([writing.get(key)]).then(() => replaceNow(target, bytes, basis));
  writing.set(key, mine);
  try {
    return await mine;
  } finally {
    if (writing.get(key) === mine) writing.delete(key);
  }
}

async function replaceNow(target: Target, bytes: Buffer, basis: string): Promise<'written' | 'changed'> {
  const { folder, name } = target;
  const path = `${folder.base}/${name}`;
  const before = await lstat(path).catch(orNull);
  // Replacing a file needs no permission on the file itself; asking for it anyway respects who made it read-only.
  if (before?.isFile()) await access(path, constants.W_OK);
  const temporary = `${folder.base}/.weir-${randomBytes(12).toString('hex')}.tmp`;
  await writeNew(temporary, bytes, before);
  let moved = false;
  try {
    if ((await basisNow(target)) !== basis) return 'changed';
    await rename(temporary, path);
    moved = true;
    // Without this a power loss may undo the move. Not every file system can.
    await folder.handle.sync().catch(() => {});
    return 'written';
  } finally {
    if (!moved) await unlink(temporary).catch(() => {});
  }
}

async function writeNew(path: string, bytes: Buffer, like: Stats | null): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const handle = await open(path, flags, like === null ? 0o666 : 0o600);
  try {
    await handle.writeFile(bytes);
    if (like !== null) {
      // Only root may give files away; for others the file becomes the server's, which is what they asked for.
      await handle.chown(like.uid, like.gid).catch(() => {});
      await handle.chmod(like.mode & 0o777);
    }
    await handle.sync();
  } catch (error) {
    await unlink(path).catch(() => {});
    throw error;
  } finally {
    await handle.close();
  }
}

async function basisNow(target: Target): Promise<string | null> {
  const { folder, name, label } = target;
  const path = `${folder.base}/${name}`;
  if ((await lstat(path).catch(orNull)) === null) return basisOf(label, null);
  const handle = await openFile({ ...target, path });
  if (isRefusal(handle)) return null;
  try {
    return basisOf(label, await handle.readFile());
  } finally {
    await handle.close();
  }
}

/** False when it was there already, whatever it is: opening it finds out. */
const makeFolder = (path: string): Promise<boolean> =>
  mkdir(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );

function orNull(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
