/**
 * Owns: the check that what is made from the schema and checked in is current: the printed schema, and the types that
 * the client kit reads it by. Writes nothing but a file in `out/`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exit } from 'node:process';

const root = join(import.meta.dirname, '..');
const types = 'schema/src/client-kit/graphql-env.d.ts';
const fresh = 'out/graphql-env.d.ts';
const read = (path: string): string =>
  existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '';

function inSchema(...args: readonly string[]): boolean {
  const { status } = spawnSync('pnpm', ['--silent', '--filter', 'schema', ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return status === 0;
}

mkdirSync(join(root, 'out'), { recursive: true });
const printed = inSchema('print', '--check');
const generated = inSchema('exec', 'gql.tada', 'generate-output', '--output', join(root, fresh));
const typed = generated && read(types) === read(fresh);
if (!typed) console.error(`${types} is not what schema/schema.graphql says.`);
if (!printed || !typed) {
  console.error('Run "pnpm schema:print" and commit the result.');
  exit(1);
}
console.log('The printed schema and the types made from it are current.');
