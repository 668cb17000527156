/** Owns: the proof that the house rules of `eslint.config.js` fire: each line below is one that must not be written. */
import { ESLint } from 'eslint';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** Rules that need types are left to `pnpm lint`: these texts are not files of a TypeScript project. */
const eslint = new ESLint({
  cwd: root,
  overrideConfig: [
    { files: ['**/*.ts'], languageOptions: { parserOptions: { projectService: false } } },
    {
      files: ['**/*.graphql'],
      languageOptions: {
        parserOptions: { graphQLConfig: { schema: 'type Query { ok: Boolean }', documents: [] } },
      },
    },
  ],
  ruleFilter: ({ ruleId }) => !ruleId.startsWith('@typescript-eslint/') || untyped.has(ruleId),
});
const untyped = new Set(['@typescript-eslint/no-explicit-any', '@typescript-eslint/ban-ts-comment']);

async function rulesBroken(path: string, text: string): Promise<readonly (string | null)[]> {
  const [result] = await eslint.lintText(text, { filePath: join(root, path) });
  return (result?.messages ?? []).map((message) => message.ruleId ?? message.message);
}

const impure: readonly (readonly [text: string, rule: string])[] = [
  ['export const at = () => Date.now();', 'no-restricted-properties'],
  ['export const at = () => new Date();', 'no-restricted-syntax'],
  ['export const at = () => Date();', 'no-restricted-syntax'],
  ['export const dice = () => Math.random();', 'no-restricted-properties'],
  ['export const later = (f: () => void) => setTimeout(f, 1);', 'no-restricted-globals'],
  ['export const id = () => crypto.randomUUID();', 'no-restricted-globals'],
  ['export const env = () => process.env;', 'no-restricted-globals'],
  ['export const say = () => console.log(1);', 'no-restricted-globals'],
  ['export const wait = async () => 1;', 'no-restricted-syntax'],
  ['export type Answer = Promise<number>;', 'no-restricted-syntax'],
  ['export const all = () => Promise.resolve(1);', 'no-restricted-globals'],
  ["import 'node:fs';", 'no-restricted-imports'],
  ["import 'fs';", 'no-restricted-imports'],
  ["export const load = () => import('./x.ts');", 'no-restricted-syntax'],
  ['export class Turn {}', 'no-restricted-syntax'],
  ['let count = 0;\nexport const next = () => (count += 1);', 'no-restricted-syntax'],
];

describe('the purity rule', () => {
  describe.each(['server/src/core/sample.ts', 'schema/src/projection/sample.ts'])('in %s', (path) => {
    it.each(impure)('refuses %j', async (text, rule) => {
      expect(await rulesBroken(path, text)).toContain(rule);
    });

    it('allows a pure function', async () => {
      const text = 'export const later = (at: string) => new Date(at).toISOString();\n';
      expect(await rulesBroken(path, text)).toEqual([]);
    });
  });

  it('leaves the other rooms alone', async () => {
    expect(
      await rulesBroken('server/src/adapters/clock/sample.ts', 'export const at = () => Date.now();'),
    ).toEqual([]);
  });
});

describe('the house rules', () => {
  it('refuse a disabled rule without a reason', async () => {
    const text = 'export const same = (a: unknown) => a == 1; // eslint-disable-line eqeqeq\n';
    expect(await rulesBroken('server/src/app/sample.ts', text)).toEqual([
      '@eslint-community/eslint-comments/require-description',
    ]);
    const reasoned = text.replace('eqeqeq', 'eqeqeq -- the wire sends both');
    expect(await rulesBroken('server/src/app/sample.ts', reasoned)).toEqual([]);
  });

  it('hold in declarations, too', async () => {
    expect(await rulesBroken('server/src/app/sample.d.ts', 'export declare const x: any;')).toEqual([
      '@typescript-eslint/no-explicit-any',
    ]);
  });

  it('refuse any', async () => {
    expect(await rulesBroken('server/src/app/sample.ts', 'export const x = (a: any) => String(a);')).toEqual([
      '@typescript-eslint/no-explicit-any',
    ]);
  });

  it('refuse a test that is left out, or that leaves the others out', async () => {
    const broken = await rulesBroken(
      'server/test/app/sample.test.ts',
      "it.only('a', f); describe.skip('b', f);",
    );
    expect(broken.filter((rule) => rule === 'no-restricted-properties')).toHaveLength(2);
  });
});

describe('the GraphQL rules', () => {
  const described = '"""Is it well?""" type Query { """Yes.""" ok("""How.""" how: How!): Boolean! }\n';
  const cases = [
    ['a type', described.replace('"""Is it well?""" ', '')],
    ['a field', described.replace('"""Yes.""" ', '')],
    ['an argument', described.replace('"""How.""" ', '')],
    ['an enum', 'enum How { """So.""" SO }'],
    ['an enum value', '"""How.""" enum How { SO }'],
    ['an input', 'input Ask { """What.""" what: Int }'],
    ['an input field', '"""Ask.""" input Ask { what: Int }'],
    ['a union', 'union Answer = Query'],
    ['a scalar', 'scalar Revision'],
  ] as const;

  it.each(cases)('refuse %s without a description', async (_, text) => {
    expect(await rulesBroken('schema/schema.graphql', text)).toContain('@graphql-eslint/require-description');
  });

  it('accept what is described in full', async () => {
    const whole = `${described}"""How.""" enum How { """So.""" SO }`;
    expect(await rulesBroken('schema/schema.graphql', whole)).not.toContain(
      '@graphql-eslint/require-description',
    );
  });
});
