/**
 * Owns: opening what `confine.ts` found, so that a link put there in between cannot lead outside.
 *
 * The last name is opened without following links; then the opened thing itself is asked where it is. On Linux folders
 * are used by their open descriptor from then on, so moving or replacing them changes nothing. Elsewhere the path is
 * checked again after opening, which narrows the window and does not close it.
 */
import { constants } from 'node:fs';
import { lstat, open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { closedTo, isClosed, isWithin, type Ground } from './confine.ts';
import { refuse, type Refusal } from './tool.ts';
import { visibleLine } from 'schema/projection';

/** An open folder of the workspace. `close` it. */
export interface Folder {
  readonly handle: FileHandle;
  /** Put names behind this to reach what is in the folder; not a path to show. */
  readonly base: string;
}

const readOnly = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** What is to be opened, and where it must be. */
interface At extends Ground {
  readonly path: string;
  /** How to call it. */
  readonly label: string;
}

/** Opens a regular file for reading. */
export async function openFile(at: At): Promise<FileHandle | Refusal> {
  const { path } = at;
  const shown = `"${visibleLine(at.label)}"`;
  try {
    // Looked at before it is opened: opening alone does something to a device or to the writer of a pipe.
    const kind = kindOf(await lstat(path));
    if (kind !== 'file') return refuse(notAFile(shown, kind));
    const handle = await open(path, readOnly);
    const wrong = await closedIf(handle, async () =>
      (await handle.stat()).isFile() ? whyWrong(handle, at, shown) : replaced(shown),
    );
    return wrong === null ? handle : refuse(wrong);
  } catch (error) {
    return refuse(whyNot(shown, error as NodeJS.ErrnoException));
  }
}

/** Opens a folder: a path inside `root`, or a name behind the `base` of an open folder. */
export async function openFolder(at: At): Promise<Folder | Refusal> {
  const { path } = at;
  const shown = `"${visibleLine(at.label)}"`;
  try {
    const handle = await open(path, readOnly | constants.O_DIRECTORY);
    const wrong = await closedIf(handle, () => whyWrong(handle, at, shown));
    return wrong === null ? { handle, base: byDescriptor(handle) ?? path } : refuse(wrong);
  } catch (error) {
    return refuse(whyNot(shown, error as NodeJS.ErrnoException));
  }
}

/** Closes what is wrong, also when it cannot be found out. */
async function closedIf(
  handle: FileHandle,
  look: () => Promise<string | null> | string,
): Promise<string | null> {
  let keep = false;
  try {
    const wrong = await look();
    keep = wrong === null;
    return wrong;
  } finally {
    if (!keep) await handle.close();
  }
}

const replaced = (shown: string): string => `${shown} was replaced while it was opened. Try again.`;

const byDescriptor = (handle: FileHandle): string | null =>
  process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : null;

/** Why what was opened may not be used, where it really is; null when it may. */
async function whyWrong(handle: FileHandle, at: At, shown: string): Promise<string | null> {
  const real = await whereIs(handle, at.path);
  if (real === null || !isWithin(at.root, real)) return replaced(shown);
  return isClosed(at, real) ? closedTo(shown) : null;
}

/** Null when it is not at its path any more. */
async function whereIs(handle: FileHandle, path: string): Promise<string | null> {
  const descriptor = byDescriptor(handle);
  if (descriptor !== null) return readlink(descriptor);
  const real = await realpath(path);
  const [now, opened] = [await lstat(real), await handle.stat()];
  return now.ino === opened.ino && now.dev === opened.dev ? real : null;
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
