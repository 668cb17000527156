/** Owns: which database a data folder belongs to, where two come to it at once. Over servers: `database-url.test.ts`. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { claimFolder, faultOfFolder } from '../../src/data-folder.ts';

let dataDir: string;
beforeEach(() => void (dataDir = mkdtempSync(join(tmpdir(), 'weir-folder-'))));
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const mark = (): string => join(dataDir, 'database-id');
const makeDatabase = (): void => {
  mkdirSync(join(dataDir, 'postgres'));
  writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '18\n');
};

it('it belongs to who came first, as often as that one comes', () => {
  expect(faultOfFolder(dataDir, false)).toBeNull();
  expect(claimFolder(dataDir, '7/5')).toBeNull();
  expect(claimFolder(dataDir, '7/5')).toBeNull();
  expect(claimFolder(dataDir, '7/6')).toContain(`delete ${mark()}`);
});

it('who finds that one was made in it meanwhile takes back what it said, and goes', () => {
  expect(faultOfFolder(dataDir, false)).toBeNull();
  makeDatabase();
  expect(claimFolder(dataDir, '7/5')).toContain('belongs to the database in it');
  expect(existsSync(mark())).toBe(false);
  expect(claimFolder(dataDir, null)).toBeNull();
});

it('who made one in it finds who claimed it meanwhile, and goes', () => {
  expect(faultOfFolder(dataDir, true)).toBeNull();
  expect(claimFolder(dataDir, '7/5')).toBeNull();
  makeDatabase();
  expect(claimFolder(dataDir, null)).toContain('belongs to a database elsewhere');
});

it.each([
  ['a folder', (path: string) => mkdirSync(path)],
  ['a link to nowhere', (path: string) => symlinkSync('nowhere', path)],
  [
    'a link to what would do',
    (path: string) => (writeFileSync(`${path}2`, '7/5\n'), symlinkSync(`${path}2`, path)),
  ],
  ['an empty file', (path: string) => writeFileSync(path, '')],
  ['a large file', (path: string) => writeFileSync(path, '7/5\n'.repeat(100_000))],
])('%s in place of what says it is believed by nobody, and left there', (_, put) => {
  put(mark());
  expect(claimFolder(dataDir, '7/5')).toContain(`delete ${mark()}`);
  expect(faultOfFolder(dataDir, true)).toContain('belongs to a database elsewhere');
});
