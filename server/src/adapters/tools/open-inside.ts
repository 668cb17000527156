/**
 * Owns: opening what `confine.ts` found, so that a link put there in between cannot lead outside.
 *
 * The last name is opened without following links; then the opened thing itself is asked where it is. On Linux folders
 * are used by their open descriptor from then on, so moving or replacing them changes nothing. Elsewhere the path is
 * checked again after opening, which narrows the window and does not close it.
 */
import { constants } from 'node:fs';
import { lstat, open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { isWithin } from './confine.ts';
import { refuse, type Refusal } from './tool.ts';
import { visibleLine } from './visible.ts';

/** An open folder of the workspace. `close` it. */
export interface Folder {
  readonly handle: FileHandle;
  /** Put names behind this to reach what is in the folder; not a path to show. */
  readonly base: string;
}

const readOnly = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Opens a regular file for reading. `label` is how to call it. */
export async function openFile({
  root,
  path,
  label,
}: {
  readonly root: string;
  readonly path: string;
  readonly label: string;
}): Promise<FileHandle | Refusal> {
  const shown = `"${visibleLine(label)}"`;
  try {
    // Looked at before it is opened: opening alone does something to a device or to the writer of a pipe.
    const kind = kindOf(await lstat(path));
    if (kind !== 'file') return refuse(notAFile(shown, kind));
    const handle = await open(path, readOnly);
    const isRight = async (): Promise<boolean> =>
      (await handle.stat()).isFile() && (await isInside(handle, root, path));
    return (await keptIf(handle, isRight)) ? handle : refuse(replaced(shown));
  } catch (error) {
    return refuse(whyNot(shown, error as NodeJS.ErrnoException));
  }
}

/** Opens a folder: a path inside `root`, or a name behind the `base` of an open folder. */
export async function openFolder({
  root,
  path,
  label,
}: {
  readonly root: string;
  readonly path: string;
  readonly label: string;
}): Promise<Folder | Refusal> {
  const shown = `"${visibleLine(label)}"`;
  try {
    const handle = await open(path, readOnly | constants.O_DIRECTORY);
    return (await keptIf(handle, () => isInside(handle, root, path)))
      ? { handle, base: byDescriptor(handle) ?? path }
      : refuse(replaced(shown));
  } catch (error) {
    return refuse(whyNot(shown, error as NodeJS.ErrnoException));
  }
}

/** Closes what is not right, also when it cannot be found out. */
async function keptIf(handle: FileHandle, isRight: () => Promise<boolean>): Promise<boolean> {
  let keep = false;
  try {
    keep = await isRight();
  } finally {
    if (!keep) await handle.close();
  }
  return keep;
}

const replaced = (shown: string): string => `${shown} was replaced while it was opened. Try again.`;

const byDescriptor = (handle: FileHandle): string | null =>
  process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : null;

async function isInside(handle: FileHandle, root: string, path: string): Promise<boolean> {
  const descriptor = byDescriptor(handle);
  if (descriptor !== null) return isWithin(root, await readlink(descriptor));
  const real = await realpath(path);
  const [now, opened] = [await lstat(real), await handle.stat()];
  return isWithin(root, real) && now.ino === opened.ino && now.dev === opened.dev;
}

type Kind = 'file' | 'folder' | 'link' | 'other';

function kindOf(stat: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }): Kind {
  return stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : stat.isSymbolicLink() ? 'link' : 'other';
}

function notAFile(shown: string, kind: Exclude<Kind, 'file'>): string {
  switch (kind) {
    case 'folder':
      return `${shown} is a folder. Use list_files to see what is in it, or name a file.`;
    case 'link':
      return replaced(shown);
    case 'other':
      return `${shown} is a device, a pipe or a socket, not a file with text.`;
  }
}

/** One sentence for the model, without paths of the machine. */
export function whyNot(shown: string, error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'ENOENT':
      return `There is no ${shown}. Use list_files to see what there is.`;
    case 'ENOTDIR':
      return `${shown} is not a folder.`;
    case 'EACCES':
    case 'EPERM':
      return `The server has no permission for ${shown}.`;
    case 'ELOOP':
      return replaced(shown);
    case 'ENOSPC':
    case 'EDQUOT':
      return `The disk is full, so ${shown} was not written.`;
    case 'EROFS':
      return `${shown} is on a read-only file system.`;
    case 'ENAMETOOLONG':
      return `The name ${shown} is too long.`;
    default:
      return `${shown} could not be used (${error.code ?? error.message}).`;
  }
}
