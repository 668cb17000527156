/**
 * Owns: what a connection's arguments may be, how a page becomes a connection, and the cursors of lists.
 *
 * Invariant: a cursor carries the place of its item, so that paging goes on from there when the item is gone.
 */
import { GraphQLError } from 'graphql';
import { builder, maxPageSize } from '../builder.ts';
import type { Page, PageRange, Place } from '../model/index.ts';

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

/** A cursor that Weir did not give out. */
export const badCursor = (argument: string): GraphQLError =>
  badArgument(
    argument,
    `\`${argument}\` is not a cursor of this connection. Give one as \`cursor\` or \`pageInfo\` answered it, unchanged, or leave it out.`,
  );

export const defaultPageSize = 50;

/** The arguments of a list that is read forward, from the newest. */
export const pageArgs = builder.args((t) => ({
  first: t.int({ description: `Page size, 1 to ${maxPageSize}; ${defaultPageSize} when null.` }),
  after: t.string({
    description:
      'Cursor of the last item of the page before, which need not be there any more; null: from the newest.',
  }),
}));

interface PageArgs {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
}

export const pageComplexity = ({ first }: PageArgs) => ({ field: 5, multiplier: first ?? defaultPageSize });

export const pageRange = (args: PageArgs): PageRange => ({
  first: pageSize('first', args.first, defaultPageSize),
  after: args.after == null ? null : decodePlace(args.after),
});

/** The cursor of what stands there. */
export const encodePlace = ({ at, id }: Place): string => `${Date.parse(at)}.${id}`;

function decodePlace(cursor: string): Place {
  const match = /^(\d{1,13})\.([\w-]{1,64})$/.exec(cursor);
  if (!match) throw badCursor('after');
  return { at: new Date(Number(match[1])).toISOString(), id: match[2]! };
}

/** `place` says where an item stands, `edge` what its edge carries beside the cursor. */
export function toConnection<T, E extends object>(
  page: Page<T>,
  after: string | null | undefined,
  place: (item: T) => Place,
  edge: (item: T) => E,
) {
  const edges = page.items.map((item) => ({ cursor: encodePlace(place(item)), ...edge(item) }));
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
