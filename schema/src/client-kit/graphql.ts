/**
 * Owns: the typed `graphql()` tag of this client: documents are checked against the printed schema, whose types are
 * generated into `graphql-env.d.ts` (`pnpm --filter schema types`). A field that does not exist fails `gql.tada check`.
 */
import { initGraphQLTada } from 'gql.tada';
import type { introspection } from './graphql-env.d.ts';

export const graphql = initGraphQLTada<{
  introspection: introspection;
  disableMasking: true;
  scalars: {
    DateTime: string;
    Revision: number;
    FeedCursor: string;
    IdempotencyKey: string;
    Tokens: number;
    Date: string;
  };
}>();
