/**
 * Owns: History on the wire, as a part of one read of a workstream (D-53, D-58).
 *
 * Invariant: without `before`, no entry above the workstream's own `revision` is given, and `cursor` is the workstream's:
 * what was accepted between the two reads reaches the client by the feed, once.
 */
import { builder } from '../builder.ts';
import type { Context } from '../context.ts';
import type { HistoryRange, WorkstreamModel } from '../model/index.ts';
import { Entry, entryNode, type EntryNode } from './entries/entry.ts';
import { badArgument, badCursor, defaultPageSize, pageSize } from './page.ts';

interface HistoryArgs {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

/** A connection shape plus the marks of the read it belongs to. */
interface HistoryValue {
  readonly edges: readonly { readonly cursor: string; readonly node: EntryNode }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
  readonly workstream: WorkstreamModel;
}

const marksOf = (connection: unknown): WorkstreamModel => (connection as HistoryValue).workstream;

export const HistoryConnection = builder.connectionObject(
  {
    type: Entry,
    name: 'HistoryConnection',
    description:
      'A page of the journal: durable entries and then pending ones, oldest first, contiguous in revision, each once, ' +
      'in place. It belongs to the read of its workstream: no entry is above that `revision`. It has fewer edges than were ' +
      'asked for when they would be more than about 2 MiB, and always at least one when there is any: `hasNextPage` and ' +
      '`hasPreviousPage` say whether there are more.',
    fields: (t) => ({
      revision: t.field({
        type: 'Revision',
        description:
          'Revision of the last entry there was; equals `Workstream.revision` of the same operation.',
        resolve: (c) => marksOf(c).projection.revision,
      }),
      durableThrough: t.field({
        type: 'Revision',
        description: 'Entries up to here were committed; those above were pending.',
        resolve: (c) => marksOf(c).durableThrough,
      }),
      epoch: t.int({
        description: 'The ownership that was current; equals `Workstream.epoch`.',
        resolve: (c) => marksOf(c).epoch,
      }),
      cursor: t.field({
        type: 'FeedCursor',
        description:
          'Where to start `workstreamFeed` to get everything after this read; equals `Workstream.feedCursor` of the same ' +
          'operation. If you take the workstream and its history in two operations, start from the lower revision of the two.',
        resolve: (c) => marksOf(c).cursor,
      }),
    }),
  },
  {
    name: 'HistoryEdge',
    description: 'An entry and its place.',
  },
);

/** Reads the page that the arguments name, within the read that `workstream` is. */
export async function historyOf(
  workstream: WorkstreamModel,
  args: HistoryArgs,
  { services }: Context,
): Promise<HistoryValue> {
  const head = workstream.projection.revision;
  const page = await services.history.page(workstream.id, historyRange(args, head));
  const entries = page?.entries.filter((e) => e.revision <= head) ?? [];
  const edges = entries.map((entry) => ({
    cursor: encodeRevision(entry.revision),
    node: entryNode(workstream.id, entry, entry.revision <= workstream.durableThrough),
  }));
  const newest = entries.at(-1);
  return {
    edges,
    pageInfo: {
      hasNextPage: (page?.hasNewer ?? false) && (newest === undefined || newest.revision < head),
      hasPreviousPage: page?.hasOlder ?? false,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
    workstream,
  };
}

/** Most items the arguments can give, for pricing; wrong ones are refused when they are resolved. */
export const historySize = (args: HistoryArgs): number => args.first ?? args.last ?? defaultPageSize;

function historyRange(args: HistoryArgs, head: number): HistoryRange {
  if (args.first != null && args.last != null)
    throw badArgument('first', 'Give `first` or `last`, not both.');
  if (args.first != null) {
    if (args.before != null) throw badArgument('before', '`before` goes with `last`, not with `first`.');
    const after = args.after == null ? 0 : decodeRevision('after', args.after);
    return { direction: 'forward', count: pageSize('first', args.first, defaultPageSize), after };
  }
  if (args.after != null) throw badArgument('after', '`after` goes with `first`.');
  const before = args.before == null ? head + 1 : Math.min(decodeRevision('before', args.before), head + 1);
  return { direction: 'backward', count: pageSize('last', args.last, defaultPageSize), before };
}

/** The cursor of the entry with this revision; opaque to clients. */
export const encodeRevision = (revision: number): string => Buffer.from(`r${revision}`).toString('base64url');

function decodeRevision(argument: string, cursor: string): number {
  const match = /^r(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'));
  if (!match) throw badCursor(argument);
  return Number(match[1]);
}
