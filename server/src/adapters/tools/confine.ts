/**
 * Owns: the border of the workspace. A path as a model wrote it becomes a real place inside, or a refusal.
 *
 * Invariants: the real path (every symbolic link followed) of what is touched lies in the real path of the workspace,
 * and in no folder that is closed to it; nothing else is opened or listed, and a refusal is the same whether something
 * is there or not. The workspace is given as a real path; when that path leads elsewhere by now, it was swapped, and
 * everything is refused.
 * Links can change after this looked: who opens or writes a place checks again (`open-inside.ts`).
 */
import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { quote } from '../../core/kit/quote.ts';
import { isRefusal, refuse, type Refusal } from './tool.ts';
import { visibleLine } from 'schema/projection';

/** Where the tools of one workspace may go. */
export interface Ground {
  /** Real path of the workspace. */
  readonly root: string;
  /** Real paths of folders, in it or above it, in which nothing may be touched. */
  readonly closed: readonly string[];
}

/** A path as a model wrote it, once it is known to be inside. */
export interface ResolvedPath extends Ground {
  /** Real path of the nearest part that exists: the place itself, or a folder above it. */
  readonly nearest: string;
  /** Names below `nearest` that do not exist yet; empty when the place exists. */
  readonly missing: readonly string[];
  /** For people and models: path from the workspace, `.` for itself; follows links. */
  readonly label: string;
}

/** What Linux takes. Asked before anything is made: folders of a path that is too long in the end must not be begun. */
const maxPathBytes = 4_095;
const maxNameBytes = 255;

/**
 * `closedFolders`: real paths. Each is closed to every workspace that is not a folder below it: the server makes some of
 * its workspaces in its own data folder.
 */
export async function resolveInside(
  workspace: string,
  path: string,
  closedFolders: readonly string[],
): Promise<ResolvedPath | Refusal> {
  const shown = `"${visibleLine(quote(path))}"`;
  if (path === '')
    return refuse('The path is empty. Give a path relative to the workspace, such as "src/main.ts".');
  if (path.includes('\0') || !path.isWellFormed())
    return refuse(`The path ${shown} holds characters no path may have.`);
  const root = await rootOf(workspace);
  if (isRefusal(root)) return root;
  const ground = { root, closed: closedFolders.filter((c) => c === root || !isWithin(c, root)) };

  const outside = refuse(
    `The path ${shown} leads outside the workspace, where nothing may be read or written. Use a path relative to the workspace, without "..".`,
  );
  const whole = resolve(root, path);
  if (!isWithin(root, whole)) return outside;

  const escaping = refuse(
    `The path ${shown} goes through a symbolic link that leaves the workspace or leads nowhere. Use another path.`,
  );

  if (
    Buffer.byteLength(whole) > maxPathBytes ||
    whole.split(sep).some((name) => Buffer.byteLength(name) > maxNameBytes)
  ) {
    return refuse(
      `The path ${shown} is too long: a name may have ${maxNameBytes} bytes, a path ${maxPathBytes}.`,
    );
  }

  const missing: string[] = [];
  for (let part = whole; ; part = dirname(part)) {
    const found = await look(part);
    if ('real' in found) {
      if (!isWithin(root, found.real)) return escaping;
      if (isClosed(ground, join(found.real, ...missing))) return refuse(closedTo(shown));
      if (missing.length > 0 && !found.isFolder) {
        return refuse(
          `"${visibleLine(relative(root, found.real))}" is not a folder, so ${shown} cannot be in it.`,
        );
      }
      const label = relative(root, join(found.real, ...missing)) || '.';
      return { ...ground, nearest: found.real, missing, label };
    }
    switch (found.code) {
      case 'ENOENT':
        // Also ends at the root, which is there.
        missing.unshift(basename(part));
        continue;
      case 'ENOTDIR':
        return refuse(`A part of ${shown} is a file, not a folder.`);
      case 'ENAMETOOLONG':
        return refuse(`The path ${shown} is too long.`);
      case 'ELOOP':
        return refuse(`The path ${shown} goes in circles through symbolic links.`);
      case 'DANGLING':
        return escaping;
      default:
        return refuse(`The path ${shown} cannot be looked at (${found.code}).`);
    }
  }
}

/**
 * The workspace, when it still is the folder that was given. A path that now goes through a link would make whatever
 * is behind it the workspace, and reading there asks nobody.
 */
export async function rootOf(workspace: string): Promise<string | Refusal> {
  const real = await realpath(workspace).catch(() => null);
  if (real === null)
    return refuse(
      `The workspace folder ${quote(workspace)} is not there any more. A person can make it again, or fork this workstream into another one.`,
    );
  if (real === workspace) return real;
  return refuse(
    'The workspace folder, or one above it, was replaced by a symbolic link, so nothing was done: ' +
      'nothing is read, written or run until a person has put the folder back.',
  );
}

/** Whether a real path lies in a folder that is closed to this workspace. */
export const isClosed = ({ closed }: Ground, real: string): boolean => closed.some((c) => isWithin(c, real));

export const closedTo = (shown: string): string =>
  `${shown} lies in the data folder of the Weir server, where file tools may read and write nothing. Use another path.`;

/** True for `root` itself and what lies below. Both must be absolute and normalised. */
export function isWithin(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

type Found = { readonly real: string; readonly isFolder: boolean } | { readonly code: string };

async function look(path: string): Promise<Found> {
  try {
    const real = await realpath(path);
    return { real, isFolder: (await lstat(real)).isDirectory() };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    if (code !== 'ENOENT') return { code };
  }
  // A link to nowhere is there, although its end is not: creating "it" would create that end.
  const isLink = await lstat(path).then(
    (stat) => stat.isSymbolicLink(),
    () => false,
  );
  return { code: isLink ? 'DANGLING' : 'ENOENT' };
}
