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
const client = join(root, 'client');
const sources = ['client', 'schema', 'pnpm-lock.yaml'].map((path) => join(root, path));

/** Builds it when it is older than its sources. */
export function buildClient(): void {
  const dist = join(client, 'dist');
  const made = statSync(join(dist, 'index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (newest(sources) <= made) return;
  const begun = new Date();
  const [next, old] = [`${dist}-next-${process.pid}`, `${dist}-old-${process.pid}`];
  try {
    execFileSync(join(client, 'node_modules/.bin/vite'), ['build', '--logLevel', 'warn', '--outDir', next], {
      cwd: client,
      // As people get it. A NODE_ENV of tests would build Svelte for development, which keeps all it ever drew.
      env: { ...process.env, NODE_ENV: 'production' },
      stdio: 'inherit',
    });
    // It is as old as what it was made of: what was written while it was built may not be in it.
    utimesSync(join(next, 'index.html'), begun, begun);
    putInPlace(next, dist, old);
  } finally {
    for (const rest of [next, old]) rmSync(rest, { recursive: true, force: true });
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

/**
 * When the youngest of these files, or of what is in these folders, was written. A folder is written when something is taken
 * from it. That of a build is not looked at, nor the one that holds it.
 */
export function newest(paths: readonly string[]): number {
  const times = paths.flatMap((path) => {
    if (!statSync(path).isDirectory()) return [statSync(path).mtimeMs];
    return readdirSync(path, { recursive: true, encoding: 'utf8' })
      .filter((inside) => !/(?:^|\/)(?:node_modules|dist[^/]*)(?:\/|$)/.test(inside))
      .map((inside) => statSync(join(path, inside), { throwIfNoEntry: false })?.mtimeMs ?? 0);
  });
  return Math.max(...times);
}
