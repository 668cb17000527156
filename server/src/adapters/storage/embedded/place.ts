/**
 * Owns: making the folder in which the data is to stand.
 */
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

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
