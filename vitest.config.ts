/**
 * Owns: which tests are a project, and how they share the machine. Two cores are the least we build on: the pure
 * projects run first, then the ones that start databases and processes, then the browser, never side by side.
 * Together the projects take in every `*.test.ts` there is: none falls between them.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { defaultExclude, defineConfig } from 'vitest/config';

const client = new URL('client/vite.config.ts', import.meta.url);

/**
 * As Node itself resolves: Vite would add "development", under which graphql is another copy of itself than the one
 * that Pothos and Yoga load, and refuses its own types.
 */
const asNode = { ssr: { resolve: { conditions: ['module', 'node'] } } };

export default defineConfig({
  test: {
    // An `.only` left behind would silently skip everything beside it.
    allowOnly: false,
    passWithNoTests: false,
    projects: [
      {
        ...asNode,
        test: {
          name: 'core',
          include: ['server/test/core/**/*.test.ts', 'schema/**/*.test.ts'],
          pool: 'threads',
          maxWorkers: 2,
          // Many random lives on a machine that may be busy: a time limit here finds loops, not slowness.
          testTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'habits',
          include: ['scripts/**/*.test.ts'],
          pool: 'forks',
          maxWorkers: 1,
          testTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        ...(existsSync(client) && { extends: './client/vite.config.ts' as const }),
        resolve: { conditions: ['browser'] },
        test: {
          name: 'client',
          root: './client',
          include: ['src/**/*.test.ts'],
          environment: join(import.meta.dirname, 'scripts/lib/runes-environment.ts'),
          pool: 'forks',
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
      {
        ...asNode,
        test: {
          name: 'server',
          include: ['server/**/*.test.ts', 'migrations/**/*.test.ts'],
          exclude: [...defaultExclude, 'server/test/core/**'],
          globalSetup: ['server/test/support/database.ts'],
          pool: 'forks',
          maxWorkers: 2,
          testTimeout: 30_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['e2e/**/*.test.ts'],
          globalSetup: ['e2e/global-setup.ts'],
          pool: 'forks',
          fileParallelism: false,
          expect: { poll: { timeout: 30_000 } },
          testTimeout: 60_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
