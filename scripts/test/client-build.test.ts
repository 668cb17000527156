/** That a client is built when something was written to what it is made of, or taken from it, and else is left alone. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { renew } from '../lib/client-build.ts';

const files = ['client/index.html', 'client/extra.js', 'client/src/lib/a.ts', 'client/src/lib/b.ts'];
const others = ['schema/extra.json', 'schema/src/c.ts', 'client/node_modules/a/b.js', 'lock.yaml'];
const folders = ['client/src/lib', 'client/src', 'client', 'schema/src', 'schema'];
let root: string;

const at = (path: string): string => join(root, path);
const write = (path: string): void => {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), '');
};

/** How many it took: none, or one. `meanwhile`: happens while it is built. */
function builds(meanwhile = (): void => undefined): number {
  let built = 0;
  renew(at('client'), ['client', 'schema', 'lock.yaml'].map(at), (next) => {
    built += 1;
    mkdirSync(next);
    writeFileSync(join(next, 'index.html'), '');
    meanwhile();
  });
  return built;
}

// What is written was so at 1,000 s, and what is built at 2,000 s; what a test does is done now, which is later.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: 2_000_000 });
  root = mkdtempSync(join(tmpdir(), 'client-'));
  for (const path of [...files, ...others]) write(path);
  for (const path of [...files, ...others, ...folders]) utimesSync(at(path), 1_000, 1_000);
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(root, { recursive: true });
});

it('is built once of what stays as it is', () => {
  expect([builds(), builds(), builds()]).toEqual([1, 0, 0]);
});

it.each([...files, ...others.filter((path) => !path.includes('node_modules'))])(
  'is built anew after %s was written',
  (path) => {
    builds();
    utimesSync(at(path), 3_000, 3_000);
    expect(builds()).toBe(1);
  },
);

it.each([
  ['deep in a folder', 'client/src/lib/b.ts'],
  ['at the top of the client', 'client/extra.js'],
  ['at the top of the schema', 'schema/extra.json'],
])('is built anew after a file %s was only taken away (broke: it stayed in the client)', (_, path) => {
  builds();
  rmSync(at(path));
  expect(builds()).toBe(1);
});

it.each(['client/extra.js', 'client/src/lib/b.ts', 'schema/extra.json'])(
  'is built anew where %s was taken away while it was built',
  (path) => {
    builds(() => {
      rmSync(at(path));
    });
    expect(builds()).toBe(1);
  },
);

it('is not built anew for what was installed, or built by another one', () => {
  builds();
  write('client/node_modules/a/c.js');
  write('client/dist/more.js');
  expect(builds()).toBe(0);
});
