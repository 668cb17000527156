/**
 * Owns: how a benchmark is found and started: each file of server/bench is one, by its name. Does not own: what it measures.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { argv, execPath, exit } from 'node:process';

const folder = join(import.meta.dirname, '../server/bench');
const files = existsSync(folder) ? readdirSync(folder) : [];
const names = files.filter((file) => file.endsWith('.ts')).map((file) => file.slice(0, -'.ts'.length));
const [name, ...rest] = argv.slice(2);

if (name === undefined || !names.includes(name)) {
  const list = names.length > 0 ? names.map((one) => `  pnpm bench ${one}`).join('\n') : '  none yet';
  console.error(
    `${name === undefined ? 'Which benchmark?' : `There is no benchmark "${name}".`} There are:\n${list}`,
  );
  exit(2);
}
const { status } = spawnSync(execPath, [join(folder, `${name}.ts`), ...rest], { stdio: 'inherit' });
exit(status ?? 1);
