/**
 * Owns: the check that the printed schema is current: printing it again changes nothing. Whatever it finds, the file is
 * left as it was.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exit } from 'node:process';

const root = join(import.meta.dirname, '..');
const file = join(root, 'schema/schema.graphql');
if (!existsSync(file)) {
  console.error('schema/schema.graphql is missing. Run "pnpm schema:print" and commit it.');
  exit(1);
}

const committed = readFileSync(file, 'utf8');
let printed: string;
try {
  const { status } = spawnSync('pnpm', ['run', '--silent', 'schema:print'], { cwd: root, stdio: 'inherit' });
  if (status !== 0) exit(1);
  printed = readFileSync(file, 'utf8');
} finally {
  writeFileSync(file, committed);
}

if (printed === committed) {
  console.log('schema/schema.graphql is what the code says.');
} else {
  const [before, after] = [committed.split('\n'), printed.split('\n')];
  const line = before.findIndex((text, index) => text !== after[index]);
  console.error(`schema/schema.graphql is not what the code says, from line ${line + 1} on:`);
  console.error(`  in the file: ${before[line] ?? '(end)'}\n  in the code: ${after[line] ?? '(end)'}`);
  console.error('Run "pnpm schema:print" and commit the result.');
  exit(1);
}
