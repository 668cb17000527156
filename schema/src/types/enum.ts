/** Owns: making a GraphQL enum out of a TypeScript union, each value described; drift is a compile error. */
import type { EnumRef } from '@pothos/core';
import { builder } from '../builder.ts';

export function enumOf<Value extends string>(
  name: string,
  description: string,
  values: Readonly<Record<Value, string>>,
): EnumRef<(typeof builder)['$inferSchemaTypes'], Value> {
  const entries = Object.entries<string>(values).map(([value, text]) => [
    value,
    { value, description: text },
  ]);
  return builder.enumType(name, {
    description,
    values: Object.fromEntries(entries) as Record<Value, { value: Value; description: string }>,
  }) as EnumRef<(typeof builder)['$inferSchemaTypes'], Value>;
}
