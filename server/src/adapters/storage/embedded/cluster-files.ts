/**
 * Owns: the files of the cluster on the disk: making a folder for them, and whether what stands at the path is still what
 * was opened. A server goes on writing to files that were deleted or moved under it; the next one would find nothing.
 */
import { closeSync, fstatSync, mkdirSync, openSync, statSync, type BigIntStats } from 'node:fs';
import { dirname, join } from 'node:path';

/** Files and folders that stay the same from the making of a cluster to its end, and without which it is lost. */
const landmarks = ['PG_VERSION', 'global/pg_control', 'pg_wal', 'pg_xact', 'base'];

export interface ClusterFiles {
  /** False once one was deleted, moved or replaced. About 6 µs. */
  areThere(): boolean;
  /** Lets go of them. */
  close(): void;
}

/** Those of the cluster in this folder, as they are now. Throws, in words for a person, when one is missing. */
export function holdFiles(clusterDir: string): ClusterFiles {
  // Held open: as long as somebody has the file, no other one gets its number.
  const held: { readonly path: string; readonly handle: number; readonly is: BigIntStats }[] = [];
  const close = (): void => {
    for (const { handle } of held.splice(0)) closeSync(handle);
  };
  try {
    for (const name of landmarks) {
      const path = join(clusterDir, name);
      const handle = openSync(path, 'r');
      held.push({ path, handle, is: fstatSync(handle, { bigint: true }) });
    }
  } catch (error) {
    const missing = landmarks[held.length];
    close();
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new Error(
      `The database in ${clusterDir} is not whole: ${missing} is missing. Put the folder back from a copy, or set WEIR_DATA to another one.`,
      { cause: error },
    );
  }
  return { areThere: () => held.every(({ path, is }) => isStill(path, is)), close };
}

function isStill(path: string, is: BigIntStats): boolean {
  try {
    const now = statSync(path, { throwIfNoEntry: false, bigint: true });
    return now !== undefined && now.ino === is.ino && now.dev === is.dev;
  } catch {
    // Not to be seen at the moment (rights, a disk that fails) is no proof that it is gone.
    return true;
  }
}

/**
 * Makes the folder and those above it. Step by step: Node's own recursive mkdir never returns where folders vanish as
 * they are made (/proc). Throws Node's error.
 */
export function makeFolder(path: string): void {
  if (isFolder(path)) return;
  makeFolder(dirname(path));
  try {
    // Others may pass through, because PostgreSQL may run as another account, but not look around.
    mkdirSync(path, { mode: 0o711 });
  } catch (error) {
    // Another process that starts at the same time may have been quicker.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isFolder(path)) throw error;
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
