/**
 * Owns: how a benchmark is found and started: each file of server/bench is one, by its name. Does not own: what it measures.
 * Exit codes: 0 without a name, which lists them; 2 for a name there is none of; else that of the benchmark.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { argv, execPath, exit } from 'node:process';

const folder = join(import.meta.dirname, '../server/bench');
const files = existsSync(folder) ? readdirSync(folder) : [];
const names = files.filter((file) => file.endsWith('.ts')).map((file) => file.slice(0, -'.ts'.length));
const list = `There are:\n${names.map((one) => `  pnpm bench ${one}`).join('\n') || '  none yet'}`;
const [name, ...rest] = argv.slice(2);

if (name === undefined) {
  console.log(`Which benchmark? ${list}`);
  exit(0);
}
if (!names.includes(name)) {
  console.error(`There is no benchmark "${name}". ${list}`);
  exit(2);
}
const { status } = spawnSync(execPath, [join(folder, `${name}.ts`), ...rest], { stdio: 'inherit' });
exit(status ?? 1);
