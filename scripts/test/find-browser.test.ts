import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { findBrowser } from '../find-browser.ts';

const folder = mkdtempSync(join(tmpdir(), 'browser-'));
const program = join(folder, 'my-chromium');

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(program, { force: true });
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe('finding a browser', () => {
  it('takes the one CHROMIUM names', async () => {
    writeFileSync(program, '#!/bin/sh\n');
    chmodSync(program, 0o755);
    vi.stubEnv('CHROMIUM', program);
    expect(await findBrowser()).toBe(program);
  });

  it('does not look elsewhere when the one CHROMIUM names cannot be started, and says so', async () => {
    writeFileSync(program, 'not a program');
    vi.stubEnv('CHROMIUM', program);
    await expect(findBrowser()).rejects.toThrow(`CHROMIUM is ${program}, and that is not a program`);
  });
});
