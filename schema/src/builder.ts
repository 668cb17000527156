/**
 * Owns: the Pothos builder and its plugins. Defines no types. Does not own: the limits of an operation (`limits.ts`).
 *
 * Invariant: fields and list items are non-null unless they say otherwise.
 */
import SchemaBuilder from '@pothos/core';
import ComplexityPlugin from '@pothos/plugin-complexity';
import RelayPlugin from '@pothos/plugin-relay';
import type { Context } from './context.ts';

/** The most items one page, and the most ids one lookup, may ask for. */
export const maxPageSize = 200;

export const builder = new SchemaBuilder<{
  Context: Context;
  DefaultFieldNullability: false;
  DefaultEdgesNullability: false;
  DefaultNodeNullability: false;
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: string; Output: string };
    Revision: { Input: number; Output: number };
    FeedCursor: { Input: string; Output: string };
    IdempotencyKey: { Input: string; Output: string };
    Tokens: { Input: number; Output: number };
    Date: { Input: string; Output: string };
  };
}>({
  plugins: [RelayPlugin, ComplexityPlugin],
  defaultFieldNullability: false,
  relay: {
    cursorType: 'String',
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    nodeTypeOptions: {
      description:
        'Anything that can be fetched again by a global id. Global ids are opaque, safe in URLs, and never reused.',
    },
    idFieldOptions: { description: 'Global id: opaque, unique over all types, never reused.' },
    pageInfoTypeOptions: { description: 'Where a page stands in its connection.' },
    hasNextPageFieldOptions: { description: 'True when there are items after the last one of this page.' },
    hasPreviousPageFieldOptions: {
      description: 'True when there are items before the first one of this page.',
    },
    startCursorFieldOptions: {
      description: 'Cursor of the first item, for `before`; null when the page is empty.',
    },
    endCursorFieldOptions: {
      description: 'Cursor of the last item, for `after`; null when the page is empty.',
    },
    edgesFieldOptions: {
      nullable: false,
      description: 'The items of this page, in the order of the connection.',
      complexity: { field: 1, multiplier: 1 },
    },
    nodeFieldOptions: { nullable: false, description: 'The item.' },
    cursorFieldOptions: { description: 'Opaque place of this item, for `after` and `before`.' },
    pageInfoFieldOptions: { description: 'Where this page stands in the connection.' },
  },
});

builder.queryType({
  description:
    'Reading. Every query needs a token. Nothing here starts, loads or changes a workstream. ' +
    'A query that cannot be answered in full fails with an error whose `extensions.code` says why; it never answers in part.',
});
builder.mutationType({
  description:
    'Commands. Each takes one `input` with a `key`, made once per intent: repeating the same key with the same input ' +
    'answers the same and does nothing twice, so every mutation may be retried after a lost answer. ' +
    'Each answers a union of its payload and the rejections it can give; a rejection changed nothing. ' +
    'No mutation waits for a model, a tool or a person; only `closeWorkstream` and `deleteWorkstream` wait for what runs to ' +
    'stop, at most 10 s.',
});
builder.subscriptionType({
  description:
    'Following. Over WebSocket (subprotocol `graphql-transport-ws`, the token as `connectionParams.token`) or as ' +
    'server-sent events on the same path.',
});
