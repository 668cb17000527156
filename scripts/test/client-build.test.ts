import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { newest } from '../lib/client-build.ts';

const folder = mkdtempSync(join(tmpdir(), 'client-'));
const then = 1_000_000;

const write = (path: string): void => {
  const full = join(folder, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, '');
};

afterAll(() => {
  rmSync(folder, { recursive: true });
});

it('knows when something was written to what a client is built of, or taken from it, and of nothing else (broke: what was taken away stayed in the client)', () => {
  for (const path of ['src/lib/a.ts', 'src/lib/b.ts', 'node_modules/a/b.js', 'dist/index.html']) write(path);
  for (const path of ['src/lib/a.ts', 'src/lib/b.ts', 'src/lib', 'src'])
    utimesSync(join(folder, path), then, then);
  expect(newest([folder])).toBe(then * 1_000);
  rmSync(join(folder, 'src/lib/b.ts'));
  expect(newest([folder])).toBeGreaterThan(then * 1_000);
  utimesSync(join(folder, 'src/lib'), then, then);
  write('dist-next-1/index.html');
  expect(newest([folder])).toBe(then * 1_000);
  utimesSync(join(folder, 'src/lib/a.ts'), then + 1, then + 1);
  expect(newest([folder, join(folder, 'src/lib/a.ts')])).toBe((then + 1) * 1_000);
});
