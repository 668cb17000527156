/** Owns: what a connection's arguments may be, and how a page becomes a connection. */
import { GraphQLError } from 'graphql';
import { maxPageSize } from '../builder.ts';
import type { Page, PageRange } from '../model/index.ts';

/** An argument that can never be accepted; `argument` is its name. */
export const badArgument = (argument: string, message: string): GraphQLError =>
  new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT', argument } });

/** The page size asked for, or `otherwise`; throws when it is not 1 to 200. */
export function pageSize(argument: string, value: number | null | undefined, otherwise: number): number {
  const size = value ?? otherwise;
  if (size < 1 || size > maxPageSize)
    throw badArgument(argument, `\`${argument}\` must be 1 to ${maxPageSize}; it is ${size}.`);
  return size;
}

export interface ForwardArgs {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
}

/** Cursors of id-ordered lists are the ids themselves, which is nobody's business but ours. */
export function pageRange(args: ForwardArgs): PageRange {
  const after = args.after ?? null;
  if (after !== null && !/^[\w-]{1,64}$/.test(after))
    throw badArgument('after', '`after` is not a cursor of this connection.');
  return { first: pageSize('first', args.first, defaultPageSize), after };
}

export const defaultPageSize = 50;

export function toConnection<T, N, E extends object>(
  page: Page<T>,
  after: string | null | undefined,
  edge: (item: T) => E & { readonly cursor: string; readonly node: N },
) {
  const edges = page.items.map(edge);
  return {
    edges,
    totalCount: page.totalCount,
    pageInfo: {
      hasNextPage: page.hasNext,
      hasPreviousPage: after != null,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}
