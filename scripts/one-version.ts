/**
 * Owns: the check that the lock file holds one version of every package this repository names itself. Two copies of
 * graphql or of the ORM break `instanceof`; two copies of anything else are weight.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exit } from 'node:process';

const root = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const folders = ['.', 'server', 'client', 'schema', 'migrations', 'e2e'];
const named = new Set(
  folders.flatMap((folder) => {
    const manifest = JSON.parse(read(join(folder, 'package.json'))) as Manifest;
    return Object.entries({
      ...manifest.dependencies,
      ...manifest.devDependencies,
      ...manifest.optionalDependencies,
    })
      .filter(([, range]) => !range.startsWith('workspace:'))
      .map(([name]) => name);
  }),
);

const versions = new Map<string, Set<string>>();
// The lock file's `packages:` section has one key a package and version: "  '@scope/name@1.2.3':".
const section = /^packages:\n([\s\S]*?)^snapshots:/m.exec(
  read('pnpm-lock.yaml').split(/^---$/m).at(-1) ?? '',
)?.[1];
for (const [, name = '', version = ''] of (section ?? '').matchAll(/^ {2}'?(@?[^@'\n]+)@([^:'\n(]+)'?:$/gm)) {
  versions.set(name, (versions.get(name) ?? new Set()).add(version));
}

const unlocked = [...named].filter((name) => !versions.has(name));
const doubled = [...named].filter((name) => (versions.get(name)?.size ?? 0) > 1);
for (const name of unlocked) console.error(`✗ ${name} is not in pnpm-lock.yaml`);
for (const name of doubled)
  console.error(`✗ ${name} has versions ${[...(versions.get(name) ?? [])].join(', ')}`);
console.log(`${named.size} packages named, ${doubled.length} with more than one version`);
exit(unlocked.length + doubled.length === 0 ? 0 : 1);
