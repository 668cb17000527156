/**
 * Owns: the folder a command runs in, held open so that it is the one that was given, and not what a link put in its
 * place leads to.
 *
 * On Linux the opened folder itself is asked where it is and handed on, so replacing it afterwards changes nothing.
 * Elsewhere the path is looked at right before the command starts, which leaves a very small window.
 */
import { constants } from 'node:fs';
import { open, readlink, realpath } from 'node:fs/promises';

export interface WorkingFolder {
  /** For `spawn`, until `close`; not a path to show. */
  readonly path: string;
  close(): Promise<void>;
}

/** `path`: absolute and real. Null when a link, or a folder above that is one, now leads elsewhere. Rejects as `open`. */
export async function openWorkingFolder(path: string): Promise<WorkingFolder | null> {
  if (process.platform !== 'linux') {
    return (await realpath(path)) === path ? { path, close: () => Promise.resolve() } : null;
  }
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  const byDescriptor = `/proc/self/fd/${handle.fd}`;
  let isRight = false;
  try {
    isRight = (await readlink(byDescriptor)) === path;
  } finally {
    if (!isRight) await handle.close();
  }
  // The child has the descriptor under the same number until it becomes the shell.
  return isRight ? { path: byDescriptor, close: () => handle.close() } : null;
}
