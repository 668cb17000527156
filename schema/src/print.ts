/**
 * Owns: the printed schema, `schema/schema.graphql`, which is the product's public contract.
 * `node print.ts` writes it; `node print.ts --check` exits 1 when it is stale.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { schema } from './schema.ts';

export const schemaFile = fileURLToPath(new URL('../schema.graphql', import.meta.url));

/** The schema in the order that does not depend on how it was put together. */
export const printedSchema = (): string => `${printSchema(lexicographicSortSchema(schema))}\n`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (!process.argv.includes('--check')) writeFileSync(schemaFile, printedSchema());
  else if (readFileSync(schemaFile, 'utf8') !== printedSchema()) {
    console.error('schema/schema.graphql is stale; run: pnpm --filter schema print');
    process.exitCode = 1;
  }
}
