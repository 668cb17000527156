/**
 * Owns: which absolute paths are the system itself, a whole disk or the environment of a process, also where they are written as patterns.
 * Does not own: what a word of the line means as a path (`shell-state.ts`).
 *
 * Invariant: what is not known is none of them.
 */
import { ANY, STAR, UNKNOWN, UNSET } from './shell-signs.ts';

/** Folders that a system cannot be without. */
const folders: readonly (readonly string[])[] = [
  ...'bin boot dev etc home lib lib32 lib64 proc root sbin sys usr var'.split(' '),
  // Of macOS
  ...'Applications Library System Users private'.split(' '),
  ...'usr/bin usr/lib usr/lib64 usr/sbin'.split(' '),
].map((path) => path.split('/'));

const exactly = new Set(folders.map((folder) => folder.join('/')));

const isPattern = (path: string): boolean => path.includes(STAR) || path.includes(ANY);

const allOfIt = new RegExp(`^[.${ANY}]*${STAR}[.${ANY}${STAR}]*$`);

const namesOf = (path: string): readonly string[] => path.slice(1).split('/');

/** The root, or all that is in it. */
export const isRoot = (path: string | null): boolean =>
  path !== null && (path === '/' || (namesOf(path).length === 1 && allOfIt.test(path.slice(1))));

/** The root, a folder that a system cannot be without, all that is in one of them, or what may be one. */
export function isSystem(path: string | null): boolean {
  if (path === null) return false;
  if (!isPattern(path)) return path === '/' || exactly.has(path.slice(1));
  if (isRoot(path)) return true;
  const names = namesOf(path);
  return folders.some(
    (folder) =>
      folder.every((name, index) => mayBe(names[index] ?? '', name)) &&
      (names.length === folder.length ||
        (names.length === folder.length + 1 && allOfIt.test(names.at(-1) ?? ''))),
  );
}

const isHome = /^\/(?:home|root|Users)(?:\/|$)/;

/** A folder of the system, or all that is in it, that is nobody's home. */
export const isSystemsOwn = (path: string | null): boolean =>
  path !== null && isSystem(path) && !isHome.test(path);

/** All that is in such a folder, as a pattern; what is in the root are only folders again. */
export const holdsFiles = (path: string | null): boolean =>
  path !== null && namesOf(path).length > 1 && allOfIt.test(namesOf(path).at(-1) ?? '') && isSystemsOwn(path);

export const isDisk = (path: string | null): boolean =>
  path !== null &&
  /^\/dev\/(?:(?:sd|nvme|vd|xvd|hd|dm-|md|loop|mmcblk|r?disk)[^/]*|(?:disk|mapper)\/.+)$/.test(path);

/** Where what is written stops the machine. */
export const isSwitch = (path: string | null): boolean => path === '/proc/sysrq-trigger';

export const isDevice = (path: string | null): boolean => path?.startsWith('/dev/') === true;

const isProcess = new RegExp(`^(?:\\d+|self|thread-self|.*[${ANY}${STAR}${UNKNOWN}${UNSET}].*)$`, 's');

/** `/proc/1/environ`, or what may be it. */
export function isEnvironment(path: string | null): boolean {
  if (path === null) return false;
  const [proc = '', process = '', ...rest] = namesOf(path);
  const [last = ''] = rest.length === 3 && mayBe(rest[0] ?? '', 'task') ? rest.slice(2) : rest;
  return (
    (rest.length === 1 || rest.length === 3) &&
    mayBe(proc, 'proc') &&
    isProcess.test(process) &&
    mayBe(last, 'environ')
  );
}

/** Where the environment of a process lies, among others. */
export function holdsEnvironment(path: string | null): boolean {
  if (path === null) return false;
  const [proc = '', process = '', ...rest] = namesOf(path);
  return rest.length === 0 && mayBe(proc, 'proc') && isProcess.test(process);
}

/** Whether a pattern may stand for a name. What stood behind the last star is tried again one character later. */
function mayBe(pattern: string, name: string): boolean {
  let at = 0;
  let star = -1;
  let tried = 0;
  let index = 0;
  while (index < name.length) {
    const sign = pattern[at];
    if (sign === STAR) {
      star = at++;
      tried = index;
    } else if (sign === ANY || sign === name[index]) {
      at++;
      index++;
    } else if (star >= 0) {
      at = star + 1;
      index = ++tried;
    } else return false;
  }
  while (pattern[at] === STAR) at++;
  return at === pattern.length;
}
