/**
 * Owns: what every end-to-end run needs first: the client, built when it is older than its sources, and the server's
 * code compiled once, for the sake of the many starts.
 * Does not own: the browser. A spec that needs one asks `findBrowser` (scripts/), so that the others run without.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { compileCache, serverMain } from './support/weir.ts';

const root = join(import.meta.dirname, '..');
const sources = ['client', 'schema/src', 'schema/schema.graphql'];
const built = 'client/dist/index.html';

export default function setup(): void {
  buildClient();
  execFileSync(process.execPath, [serverMain, '--help'], {
    env: { NODE_COMPILE_CACHE: compileCache },
    stdio: 'ignore',
  });
}

function buildClient(): void {
  const made = statSync(join(root, built), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (!existsSync(join(root, 'client/vite.config.ts')) || newest(sources) <= made) return;
  execFileSync('vite', ['build', '--logLevel', 'warn'], {
    cwd: join(root, 'client'),
    // As people get it. The test runner's NODE_ENV would build Svelte for development, which keeps all it ever drew.
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: 'inherit',
  });
}

/** When the youngest of these files, or of those in these folders, was written. */
function newest(paths: readonly string[]): number {
  const times = paths.flatMap((path) => {
    const full = join(root, path);
    if (!statSync(full).isDirectory()) return [statSync(full).mtimeMs];
    return readdirSync(full, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile() && !/(?:^|\/)(?:node_modules|dist)(?:\/|$)/.test(file.parentPath))
      .map((file) => statSync(join(file.parentPath, file.name)).mtimeMs);
  });
  return Math.max(...times);
}
