/**
 * Owns: reading a small file that somebody names: the models, a key.
 *
 * Invariant: whatever stands at the path, reading it ends at once and takes little memory.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** More than any such file needs, bytes. */
const maxBytes = 1024 * 1024;

/** Its text; throws an error with a code when it cannot be read: also what is no plain file (EISDIR, ENXIO …), or too large (EFBIG). */
export function readSmallFile(path: string): string {
  // Opening a named pipe would wait for whoever writes to it.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) throw refused(stat.isDirectory() ? 'EISDIR' : 'ENXIO', 'is no plain file');
    if (stat.size > maxBytes) throw refused('EFBIG', 'is larger than 1 MiB');
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

const refused = (code: string, why: string): Error => Object.assign(new Error(why), { code });
