import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const bench = (...args: readonly string[]) =>
  spawnSync(process.execPath, [join(import.meta.dirname, '../bench.ts'), ...args], { encoding: 'utf8' });

it('lists the benchmarks when none is named, which is no failure', () => {
  const { status, stdout } = bench();
  expect(stdout).toContain('  pnpm bench append\n');
  expect(status).toBe(0);
});

it('says which benchmarks there are when one is named that there is not', () => {
  const { status, stderr } = bench('apend');
  expect(stderr).toMatch(/^There is no benchmark "apend"\. There are:\n/);
  expect(status).toBe(2);
});
