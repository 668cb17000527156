/** The printed schema is the public contract: current, valid, and described in full. */
import { readFileSync } from 'node:fs';
import {
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isUnionType,
  validateSchema,
  type GraphQLNamedType,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { printedSchema, schemaFile } from '../src/print.ts';
import { schema } from '../src/schema.ts';

const types = Object.values(schema.getTypeMap()).filter((t) => !t.name.startsWith('__'));
const builtIn = ['Boolean', 'Float', 'ID', 'Int', 'String'];

/** Everything of a type that can carry a description, with its path. */
function describable(type: GraphQLNamedType): [string, string | null | undefined][] {
  const found: [string, string | null | undefined][] = [[type.name, type.description]];
  if (isObjectType(type) || isInterfaceType(type))
    for (const field of Object.values(type.getFields())) {
      found.push([`${type.name}.${field.name}`, field.description]);
      for (const arg of field.args) found.push([`${type.name}.${field.name}(${arg.name})`, arg.description]);
    }
  if (isInputObjectType(type))
    for (const field of Object.values(type.getFields()))
      found.push([`${type.name}.${field.name}`, field.description]);
  if (isEnumType(type))
    for (const value of type.getValues()) found.push([`${type.name}.${value.name}`, value.description]);
  return found;
}

describe('the schema', () => {
  it('is valid', () => {
    expect(validateSchema(schema)).toEqual([]);
  });

  it('is printed as it is: run `pnpm --filter schema print` when this fails', () => {
    expect(readFileSync(schemaFile, 'utf8')).toBe(printedSchema());
  });

  it('describes every type, field, argument, input field and enum value in a sentence', () => {
    const bare = types
      .filter((t) => !builtIn.includes(t.name))
      .flatMap(describable)
      .filter(([, text]) => !text || text.length < 5 || !/[.!:…]\)?$/.test(text.trim()));
    expect(bare).toEqual([]);
  });

  it('gives every mutation one input with a key, and a union of a payload and rejections', () => {
    for (const field of Object.values(schema.getMutationType()!.getFields())) {
      expect(field.args.map((a) => a.name)).toEqual(['input']);
      const input = schema.getType(`${field.name[0]!.toUpperCase()}${field.name.slice(1)}Input`);
      expect(isInputObjectType(input) && String(input.getFields()['key']?.type)).toBe('IdempotencyKey!');
      const result = schema.getType(String(field.type).replace('!', ''));
      expect(isUnionType(result)).toBe(true);
      if (!isUnionType(result)) continue;
      const kinds = result.getTypes().map((t) => t.getInterfaces().map((i) => i.name));
      expect(kinds.filter((names) => names.includes('Accepted'))).toHaveLength(1);
      expect(kinds.filter((names) => names.includes('Rejection'))).toHaveLength(kinds.length - 1);
    }
  });

  it('lets all kinds of an entry be selected at once: no two give one name different types', () => {
    const typesByField = new Map<string, Set<string>>();
    for (const type of schema.getPossibleTypes(schema.getType('Entry') as never))
      for (const f of Object.values(type.getFields()))
        typesByField.set(f.name, (typesByField.get(f.name) ?? new Set()).add(String(f.type)));
    expect([...typesByField].filter(([, set]) => set.size > 1)).toEqual([]);
  });

  it('names the feed items as the projection does, so that conversion is mechanical', () => {
    const names = schema.getPossibleTypes(schema.getType('FeedItem') as never).map((t) => t.name);
    expect(names.toSorted()).toEqual(
      [
        'EntryAdmitted',
        'EntriesDurable',
        'EpochStarted',
        'StreamChunk',
        'StreamReset',
        'ToolOutputChunk',
        'Notice',
        'PersistenceChanged',
        'Synchronized',
        'SnapshotRequired',
        'Heartbeat',
        'Ended',
      ].toSorted(),
    );
  });
});
