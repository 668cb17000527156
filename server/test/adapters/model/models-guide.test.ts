/**
 * Owns: that `docs/guide/models.md` and `weir.config.example.json` say what is so: the settings, the files they show, and
 * what follows from each kind of fault.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { modelFileSchema } from '../../../src/adapters/model/file/format.ts';
import { readModels } from '../../../src/adapters/model/file/read.ts';
import { remedies } from '../../../src/core/models/fault.ts';

const text = (path: string): string => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');
const guide = text('docs/guide/models.md');
const files = [...guide.matchAll(/```json\n(.*?)```/gs)].map((block) => block[1]!);

/** Every key that a file names is there. */
const read = (file: string) => {
  const env = Object.fromEntries([...file.matchAll(/"env": "(\w+)"/g)].map(([, name]) => [name!, 'a-key']));
  return readModels(file, { env, folder: '/', readText: () => 'a-key' });
};

/** Names of all properties, at any depth. */
function namesIn(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties = {} } = schema as { readonly properties?: Readonly<Record<string, unknown>> };
  const below = Object.entries(schema).flatMap(([name, inner]) =>
    name === 'properties' ? [] : namesIn(inner),
  );
  return [...Object.keys(properties), ...Object.values(properties).flatMap(namesIn), ...below];
}

it('the example is a file that is taken', () => {
  expect(read(text('weir.config.example.json'))).toMatchObject({ type: 'read', default: 'coder' });
});

it('the guide shows files that are taken', () => {
  expect(files.length).toBeGreaterThan(5);
  expect(files.map(read).filter((one) => one.type !== 'read')).toEqual([]);
});

it('the guide names every setting, and shows each in use', () => {
  const names = [...new Set(namesIn(modelFileSchema()))];
  expect(names).toContain('reasoningStartsOpen');
  expect(
    names.filter((name) => !guide.includes(`\`${name}\``) && !['$schema', 'env', 'file'].includes(name)),
  ).toEqual([]);
  expect(names.filter((name) => !guide.includes(`"${name}":`))).toEqual([]);
});

it('the guide says of every kind of fault what follows, as it does (D-37)', () => {
  const rows = [...guide.matchAll(/^\| `([A-Z_]+)` .*\| `([A-Z]+)` +\|$/gm)].map(([, kind, remedy]) => [
    kind,
    remedy,
  ]);
  expect(Object.fromEntries(rows)).toEqual(remedies);
  expect(rows).toHaveLength(Object.keys(remedies).length);
});
