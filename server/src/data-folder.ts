/**
 * Owns: `WEIR_DATA` as a place: that it can be used and copied as a whole, which node it is, and which database it
 * belongs to: two would each take what the other made in it for their own.
 * Does not own: what is inside `postgres` (`adapters/storage`) or `workspaces` (`adapters/workspaces`).
 *
 * Invariant: it belongs to the database that is in it; to one elsewhere, as `database-id` says, once a server has
 * used it with that. Of two that start at once in a new folder one goes; what it made by then may be left there.
 */
import { existsSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Why it cannot be used, and what to do; null: it can. Throws when that cannot be seen. */
export function faultOfFolder(dataDir: string, embedded: boolean): string | null {
  const linked = ['postgres', 'workspaces']
    .map((name) => join(dataDir, name))
    .find((path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink());
  if (linked !== undefined)
    return `${linked} is a symbolic link, and a copy of ${dataDir} would work in what it leads to. Put the folder itself in its place, or move all of ${dataDir} to where there is room and set WEIR_DATA to that.`;
  return embedded ? belongsElsewhere(dataDir) : hasDatabase(dataDir);
}

/**
 * Says that it belongs to this database, by what its `Storage` says it is; null: to the one that is in it. Answers as
 * `faultOfFolder` does. To be asked when the database is open: another server may have come first.
 */
export function claimFolder(dataDir: string, database: string | null): string | null {
  if (database === null) return belongsElsewhere(dataDir);
  const path = markOf(dataDir);
  const mark = `${database}\n`;
  let isMine = false;
  try {
    writeFileSync(path, mark, { flag: 'wx' });
    isMine = true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (readMark(path) !== mark)
      return `${path} does not name the database at DATABASE_URL, so the data folder ${dataDir} belongs to another one. Set WEIR_DATA to another folder for this one; or, if it took the place of the other and no server uses that any more (a backup that was restored, a cluster that was moved), delete ${path} and start again.`;
  }
  const fault = hasDatabase(dataDir);
  if (fault !== null && isMine) rmSync(path, { force: true });
  return fault;
}

/** The name of the node that uses this folder; made once, so that it is the same for ever. */
export function nodeIdOf(dataDir: string, make: () => string): string {
  const path = join(dataDir, 'node-id');
  try {
    const known = readFileSync(path, 'utf8').trim();
    if (known !== '') return known;
  } catch {
    // First start of this folder.
  }
  const made = make();
  writeFileSync(path, `${made}\n`);
  return made;
}

const markOf = (dataDir: string): string => join(dataDir, 'database-id');

/** Null: whatever is there, no server wrote it. */
function readMark(path: string): string | null {
  const stat = lstatSync(path);
  return stat.isFile() && stat.size < 1_000 ? readFileSync(path, 'utf8') : null;
}

const belongsElsewhere = (dataDir: string): string | null =>
  lstatSync(markOf(dataDir), { throwIfNoEntry: false })
    ? `The data folder ${dataDir} belongs to a database elsewhere, and DATABASE_URL is not set. Set it to that database, or set WEIR_DATA to another folder, in which Weir keeps one of its own; or, if no server uses that database any more, delete ${markOf(dataDir)} and start again.`
    : null;

const hasDatabase = (dataDir: string): string | null =>
  existsSync(join(dataDir, 'postgres', 'PG_VERSION'))
    ? `The data folder ${dataDir} belongs to the database in it, and DATABASE_URL names another one. Set WEIR_DATA to another folder for that one, or leave DATABASE_URL out; or, if nothing was ever kept in it (a start that came to nothing), move ${join(dataDir, 'postgres')} away and start again.`
    : null;
