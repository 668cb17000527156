/**
 * Owns: the proof that every rule of `.dependency-cruiser.js` fires, and that what "Rooms and doors" allows stays
 * allowed. A small house is built in a temporary folder, with one forbidden and many allowed imports, and cruised once.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forbidden } from '../../.dependency-cruiser.js';

/** For each rule: a file of its room, and what that file must not import. */
const forbiddenImports: Readonly<Record<string, readonly (readonly [from: string, to: string])[]>> = {
  'projection-imports-nothing': [
    ['schema/src/projection/fold.ts', 'schema/src/builder.ts'],
    ['schema/src/projection/clock.ts', 'node:timers'],
  ],
  'client-kit-stays-small': [['schema/src/client-kit/follow.ts', 'schema/src/services.ts']],
  'schema-knows-only-graphql': [
    ['schema/src/types/turn.ts', 'server/src/app/registry.ts'],
    ['schema/src/types/kit.ts', 'schema/src/client-kit/send.ts'],
  ],
  'printer-writes-one-file': [['schema/src/print.ts', 'server/src/core/ids.ts']],
  'migrations-stand-alone': [['migrations/src/Migration1.ts', 'server/src/core/ids.ts']],
  'core-is-true-on-paper': [
    ['server/src/core/step.ts', 'server/src/ports/journal.ts'],
    ['server/src/core/hash.ts', 'node:crypto'],
    ['server/src/core/gql.ts', 'graphql'],
  ],
  'ports-speak-core': [['server/src/ports/tools.ts', 'server/src/app/registry.ts']],
  'app-orders-the-work': [
    ['server/src/app/actor.ts', 'schema/src/builder.ts'],
    ['server/src/app/files.ts', 'node:fs'],
    ['server/src/app/model.ts', 'openai'],
  ],
  'adapter-storage': [['server/src/adapters/storage/orm.ts', 'server/src/adapters/bus/local.ts']],
  'adapter-model': [['server/src/adapters/model/chat.ts', 'server/src/app/registry.ts']],
  'adapter-tools': [['server/src/adapters/tools/shell.ts', 'server/src/adapters/process/spawn.ts']],
  'adapter-conditions': [['server/src/adapters/conditions/cel.ts', 'server/src/adapters/process/spawn.ts']],
  'adapter-process': [['server/src/adapters/process/spawn2.ts', 'openai']],
  'adapter-bus': [['server/src/adapters/bus/local2.ts', 'server/src/app/registry.ts']],
  'adapter-clock': [['server/src/adapters/clock/system.ts', 'server/src/adapters/bus/local.ts']],
  'adapter-random': [['server/src/adapters/random/ids.ts', 'server/src/adapters/bus/local.ts']],
  'adapter-workspaces': [['server/src/adapters/workspaces/folders.ts', 'server/src/app/registry.ts']],
  'adapter-telemetry': [['server/src/adapters/telemetry/log.ts', 'openai']],
  'adapter-is-listed': [['server/src/adapters/mail/send.ts', 'server/src/ports/log.ts']],
  'transport-meets-services-only': [
    ['server/src/transport/http.ts', 'server/src/core/ids.ts'],
    ['server/src/transport/ws.ts', 'server/src/app/registry.ts'],
    ['server/src/transport/db.ts', 'server/src/adapters/bus/local.ts'],
  ],
  'client-sees-the-public-api': [['client/src/main.ts', 'schema/src/services.ts']],
  'e2e-is-a-stranger': [['e2e/specs/stop.test.ts', 'server/src/app/registry.ts']],
  'only-compose-constructs-adapters': [['server/src/main.ts', 'server/src/adapters/bus/local.ts']],
  'nobody-imports-the-top': [['server/src/app/top.ts', 'server/src/config.ts']],
  'product-never-imports-tests': [['server/src/app/fake.ts', 'server/test/support/fake.ts']],
  'no-circles': [['server/src/core/circle-a.ts', 'server/src/core/circle-b.ts']],
  resolvable: [['server/src/core/lost.ts', 'server/src/core/nowhere.ts']],
};

const allowedImports: readonly (readonly [from: string, to: string])[] = [
  ['schema/src/builder.ts', 'graphql'],
  ['schema/src/services.ts', 'schema/src/projection/items.ts'],
  ['schema/src/client-kit/send.ts', 'schema/src/projection/items.ts'],
  ['server/src/core/ids.ts', 'schema/src/projection/items.ts'],
  ['server/src/ports/journal.ts', 'server/src/core/ids.ts'],
  ['server/src/app/registry.ts', 'server/src/ports/journal.ts'],
  ['server/src/app/registry2.ts', 'schema/src/services.ts'],
  ['server/src/adapters/bus/local.ts', 'server/src/ports/journal.ts'],
  ['server/src/adapters/process/spawn.ts', 'node:child_process'],
  ['server/src/adapters/model/responses.ts', 'openai'],
  ['server/src/transport/context.ts', 'schema/src/services.ts'],
  ['server/src/config.ts', 'node:fs'],
  ['server/src/compose.ts', 'server/src/adapters/bus/local.ts'],
  ['server/test/support/fake.ts', 'server/src/adapters/bus/local.ts'],
  ['server/test/core/step.test.ts', 'server/src/app/registry.ts'],
  ['client/src/app.ts', 'schema/src/projection/items.ts'],
  ['e2e/fixtures/model.ts', 'server/test/support/fake.ts'],
];

/** The way back that makes the circle; a circle is reported once. */
const scenery = [['server/src/core/circle-b.ts', 'server/src/core/circle-a.ts']] as const;

interface Violation {
  readonly from: string;
  readonly to: string;
  readonly rule: { readonly name: string };
}

let house = '';
let violations: readonly Violation[] = [];

beforeAll(() => {
  house = mkdtempSync(join(tmpdir(), 'rooms-'));
  const files = new Map<string, string>();
  const known = new Set<string>(['server/src/core/nowhere.ts']);
  for (const [from, to] of [...scenery, ...allowedImports, ...Object.values(forbiddenImports).flat()]) {
    files.set(from, (files.get(from) ?? '') + `import '${specifier(from, to)}';\n`);
    if (to.includes('/') && !known.has(to)) files.set(to, files.get(to) ?? '');
  }
  for (const name of ['graphql', 'openai']) {
    files.set(
      `node_modules/${name}/package.json`,
      JSON.stringify({ name, type: 'module', exports: './dist/index.js' }),
    );
    files.set(`node_modules/${name}/dist/index.js`, 'export {};\n');
  }
  files.set('tsconfig.json', JSON.stringify({ compilerOptions: { module: 'nodenext' } }));
  for (const [file, text] of files) {
    mkdirSync(dirname(join(house, file)), { recursive: true });
    writeFileSync(join(house, file), text);
  }
  violations = cruise(house);
});

afterAll(() => {
  rmSync(house, { recursive: true, force: true });
});

function specifier(from: string, to: string): string {
  if (to.startsWith('node:') || !to.includes('/')) return to;
  const path = relative(dirname(from), to);
  return path.startsWith('.') ? path : `./${path}`;
}

function cruise(cwd: string): readonly Violation[] {
  const root = join(import.meta.dirname, '../..');
  const bin = join(root, 'node_modules/.bin/depcruise');
  const rooms = ['schema', 'server', 'migrations', 'client', 'e2e'];
  const run = spawnSync(
    bin,
    ['--config', join(root, '.dependency-cruiser.js'), '--output-type', 'json', ...rooms],
    {
      cwd,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  if (!run.stdout.startsWith('{')) throw new Error(`dependency-cruiser did not answer: ${run.stderr}`);
  const { summary } = JSON.parse(run.stdout) as { summary: { violations: readonly Violation[] } };
  return summary.violations;
}

/** dependency-cruiser names Node's modules without the prefix, and packages by their file. */
function reaches(violation: Violation, from: string, to: string): boolean {
  const bare = to.replace(/^node:/, '');
  return (
    violation.from === from &&
    (violation.to === to ||
      violation.to === bare ||
      violation.to === specifier(from, to) ||
      violation.to.startsWith(`node_modules/${to}/`))
  );
}

describe('the dependency rules', () => {
  it('each have an import that breaks them', () => {
    expect(Object.keys(forbiddenImports).sort()).toEqual(forbidden.map((rule) => rule.name).sort());
  });

  const broken = Object.entries(forbiddenImports).flatMap(([rule, imports]) =>
    imports.map(([from, to]) => ({ rule, from, to })),
  );
  it.each(broken)('$rule: $from does not import $to', ({ rule, from, to }) => {
    expect(violations.filter((one) => reaches(one, from, to)).map((one) => one.rule.name)).toContain(rule);
  });

  it.each(allowedImports)('%s may import %s', (from, to) => {
    expect(violations.filter((one) => reaches(one, from, to))).toEqual([]);
  });
});
