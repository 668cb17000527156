/**
 * Owns: how a benchmark is found and started: each file of server/bench (parts from within) and e2e/bench (the whole
 * from outside) is one, by its name. Does not own: what it measures.
 * Exit codes: 0 without a name, which lists them; 2 for a name there is none of; else that of the benchmark.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join, parse } from 'node:path';
import { argv, execPath, exit } from 'node:process';

const folders = ['../server/bench', '../e2e/bench'].map((folder) => join(import.meta.dirname, folder));
const files = new Map(
  folders.flatMap((folder) => readdirSync(folder).map((file) => [parse(file).name, join(folder, file)])),
);
const list = `There are:\n${[...files.keys()].map((one) => `  pnpm bench ${one}`).join('\n')}`;
const [name, ...rest] = argv.slice(2);

if (name === undefined) {
  console.log(`Which benchmark? ${list}`);
  exit(0);
}
const file = files.get(name);
if (file === undefined) {
  console.error(`There is no benchmark "${name}". ${list}`);
  exit(2);
}
const { status } = spawnSync(execPath, [file, ...rest], { stdio: 'inherit' });
exit(status ?? 1);
