/**
 * Owns: reading `AGENTS.md` of a workspace, which anybody may have put there.
 *
 * Invariants: only a regular file inside of the workspace is read, a link to one included; no more of it than a bound;
 * whatever is in the way (a pipe, a device, a folder, no permission) is as if there were none.
 */
import { constants } from 'node:fs';
import { lstat, open, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { contains } from './contains.ts';

const fileName = 'AGENTS.md';
/** Bytes. */
const most = 131_072;
const readOnly = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The text, or null. Never rejects. */
export async function readAgents(workspace: string): Promise<string | null> {
  try {
    const root = await realpath(workspace);
    const path = await realpath(join(root, fileName));
    // Looked at before it is opened: opening alone does something to a device or to the writer of a pipe.
    if (!contains(root, path) || !(await lstat(path)).isFile()) return null;
    await using handle = await open(path, readOnly);
    if (!(await handle.stat()).isFile()) return null;
    if (process.platform === 'linux' && !contains(root, await readlink(`/proc/self/fd/${handle.fd}`)))
      return null;
    const buffer = Buffer.alloc(most);
    const { bytesRead } = await handle.read(buffer, 0, most, 0);
    // What is cut within a character ends in a replacement character.
    return buffer
      .subarray(0, bytesRead)
      .toString('utf8')
      .replace(/\uFFFD$/, '');
  } catch {
    return null;
  }
}
