/** Owns: that a file somebody names is read at once or refused at once, whatever it is. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readSmallFile } from '../../../src/adapters/model/file/text.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-small-file-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

it('gives the text of a plain file, also behind a link', () => {
  const path = join(folder, 'plain');
  writeFileSync(path, 'text');
  symlinkSync(path, join(folder, 'link'));
  expect([readSmallFile(path), readSmallFile(join(folder, 'link'))]).toEqual(['text', 'text']);
});

it.runIf(process.platform !== 'win32')(
  'refuses a named pipe, and does not wait for anybody who writes to it',
  () => {
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', [path]);
    expect(() => readSmallFile(path)).toThrow(expect.objectContaining({ code: 'ENXIO' }));
  },
);

it('refuses a folder, what is too large, and what is not there', () => {
  const large = join(folder, 'large');
  writeFileSync(large, '');
  truncateSync(large, 1024 * 1024 + 1);
  expect(() => readSmallFile(folder)).toThrow(expect.objectContaining({ code: 'EISDIR' }));
  expect(() => readSmallFile(large)).toThrow(expect.objectContaining({ code: 'EFBIG' }));
  expect(() => readSmallFile(join(folder, 'nothing'))).toThrow(expect.objectContaining({ code: 'ENOENT' }));
});
