/**
 * Owns: that there is a built client, no older than what it is made of.
 *
 * Invariants: it is built beside and then put in its place, so that a server that runs never finds half of one, and two that
 * build at once do not disturb each other.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Builds it when it is older than its sources. */
export function buildClient(): void {
  const client = join(root, 'client');
  const sources = [client, join(root, 'schema'), join(root, 'pnpm-lock.yaml')];
  renew(client, sources, (next) => {
    execFileSync(join(client, 'node_modules/.bin/vite'), ['build', '--logLevel', 'warn', '--outDir', next], {
      cwd: client,
      // As people get it. A NODE_ENV of tests would build Svelte for development, which keeps all it ever drew.
      env: { ...process.env, NODE_ENV: 'production' },
      stdio: 'inherit',
    });
  });
}

/** Has `dist` of this folder built when it is older than `sources`, of which the folder is one: in `next`, beside it. */
export function renew(folder: string, sources: readonly string[], build: (next: string) => void): void {
  const dist = join(folder, 'dist');
  const made = statSync(join(dist, 'index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (newest(sources) <= made) return;
  const begun = new Date();
  const held = sourcesIn(folder).join();
  const [next, old] = [`${dist}-next-${process.pid}`, `${dist}-old-${process.pid}`];
  try {
    build(next);
    // It is as old as what it was made of: what was written while it was built may not be in it.
    utimesSync(join(next, 'index.html'), begun, begun);
    putInPlace(next, dist, old);
  } finally {
    for (const rest of [next, old]) rmSync(rest, { recursive: true, force: true });
  }
  // To put it there was to write the folder, which says nothing of its sources, unless one was taken from it meanwhile.
  if (sourcesIn(folder).join() !== held) return;
  try {
    utimesSync(folder, begun, begun);
  } catch (error) {
    // A folder of somebody else's: it is built once more at the next start.
    if (!hasCode(error, 'EPERM')) throw error;
  }
}

function putInPlace(next: string, dist: string, old: string): void {
  try {
    renameSync(dist, old);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
  try {
    renameSync(next, dist);
  } catch (error) {
    // Another one was quicker.
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
  }
}

const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  codes.includes((error as NodeJS.ErrnoException).code ?? '');

/** When the youngest of these was written, or of what is in them. A folder is written when something is taken from it. */
const newest = (paths: readonly string[]): number =>
  Math.max(
    ...paths
      .flatMap((path) => [
        path,
        ...(statSync(path).isDirectory() ? sourcesIn(path, true).map((inside) => join(path, inside)) : []),
      ])
      .map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0),
  );

/** What is in a folder, but for what is built or installed there. */
const sourcesIn = (folder: string, recursive = false): readonly string[] =>
  readdirSync(folder, { recursive, encoding: 'utf8' }).filter(
    (inside) => !/(?:^|\/)(?:node_modules|dist[^/]*)(?:\/|$)/.test(inside),
  );
