/**
 * Owns: Search on the wire, and its cursor. Does not own: what a text finds (the server).
 */
import { GraphQLError } from 'graphql';
import { builder } from '../builder.ts';
import type { SearchHitModel, SearchPlace, SnippetSegment as SegmentModel } from '../model/index.ts';
import { Entry, entryNode } from './entries/entry.ts';
import { workstreamGlobalId, workstreamIdOf } from './global-id.ts';
import { encodeRevision } from './history.ts';
import { badArgument, badCursor, defaultPageSize, pageSize } from './page.ts';

const SnippetSegment = builder.objectRef<SegmentModel>('SnippetSegment').implement({
  description: 'A piece of a snippet. Plain text: show it as text, whatever stands in it.',
  fields: (t) => ({
    text: t.exposeString('text', {
      description: 'The piece, as it stands in the entry; line breaks included.',
    }),
    hit: t.exposeBoolean('hit', { description: 'True when it is what was searched for.' }),
  }),
});

const SearchHit = builder.objectRef<SearchHitModel>('SearchHit').implement({
  description: 'An entry that was found.',
  fields: (t) => ({
    workstreamId: t.id({
      description: 'Global id of the workstream it is in.',
      resolve: (hit) => workstreamGlobalId(hit.workstreamId),
    }),
    title: t.exposeString('title', { description: 'Title of that workstream.' }),
    entry: t.field({
      type: Entry,
      description:
        'The entry: a UserEntry, AssistantEntry, ToolEntry, SystemEntry or CancellationEntry. Always durable.',
      resolve: (hit) => entryNode(hit.workstreamId, hit.entry, true),
    }),
    superseded: t.exposeBoolean('superseded', {
      description: 'A rewind took it out of the conversation: the model does not see it any more.',
    }),
    snippet: t.field({
      type: [SnippetSegment],
      description:
        'What stands around the first hit, about 280 characters. The pieces make one continuous text; it begins and ends ' +
        'with an ellipsis where it was cut.',
      resolve: (hit) => hit.snippet,
    }),
    historyCursor: t.string({
      description:
        'Its place in `Workstream.history`, to jump there: `history(last: 50, before: $historyCursor)` reads what came before ' +
        'it and `history(first: 50, after: $historyCursor)` what came after it, both in one operation under two aliases; the ' +
        'entry itself is `entry`.',
      resolve: (hit) => encodeRevision(hit.entry.revision),
    }),
  }),
});

const SearchConnection = builder.connectionObject(
  {
    type: SearchHit,
    name: 'SearchConnection',
    description:
      'A page of what was found, newest first. What is added meanwhile moves no item from one page to another. There is no ' +
      'total: counting would cost as much as reading all of it. It has fewer edges than were asked for when the entries are ' +
      'long, and always at least one when there is any: `hasNextPage` says whether there are more.',
  },
  { name: 'SearchEdge', description: 'An entry that was found, and its place among the others.' },
);

builder.queryField('search', (t) =>
  t.field({
    type: SearchConnection,
    description:
      'Finds entries by their words, over all workstreams: messages of people and of the system, answers of the model ' +
      '(finished or not, without its reasoning), and results of tools; of each the first 256 KiB. Superseded entries are ' +
      'found, too, and say so. Pending entries are not found before they are durable. Fails with BAD_USER_INPUT when there ' +
      'is no word to find, and with SEARCH_TOO_BROAD when it took too long: then narrow it.',
    args: {
      text: t.arg.string({
        required: true,
        description:
          'Words, at most 1,000 characters. An entry has all of them, each at the beginning of a word of its own: `conf` finds ' +
          '"configuration". `"in this order"` finds a phrase of whole words, `-word` and `-"phrase"` leave out what has it ' +
          '(`--word` does not). Case, accents and width do not count. What holds together without spaces, as `foo_bar.baz`, is found as ' +
          'its words in a row; in Chinese, Japanese, Thai, Lao, Khmer and Burmese any part of a text is found.',
      }),
      workstreamId: t.arg.id({
        description:
          'Global id of the one workstream to search; null: all. Nothing is found in one that is not there.',
      }),
      first: t.arg.int({ description: 'Page size, 1 to 200; 50 when null.' }),
      after: t.arg.string({
        description: 'Cursor of the last item of the page before; null: from the newest.',
      }),
    },
    complexity: ({ first }) => ({ field: 50, multiplier: first ?? defaultPageSize }),
    resolve: async (_root, args, { services }) => {
      const first = pageSize('first', args.first, defaultPageSize);
      const after = args.after == null ? null : decodePlace(args.after);
      const workstreamId = args.workstreamId == null ? null : (workstreamIdOf(args.workstreamId) ?? '');
      const outcome = await services.search.find({ text: args.text, workstreamId, first, after });
      if (outcome.type === 'Invalid') throw badArgument('text', outcome.message);
      if (outcome.type === 'TooBroad')
        throw new GraphQLError(outcome.message, { extensions: { code: 'SEARCH_TOO_BROAD' } });
      const edges = outcome.items.map((node) => ({ cursor: encodePlace(node), node }));
      return {
        edges,
        pageInfo: {
          hasNextPage: outcome.hasNext,
          hasPreviousPage: after !== null,
          startCursor: edges[0]?.cursor ?? null,
          endCursor: edges.at(-1)?.cursor ?? null,
        },
      };
    },
  }),
);

const encodePlace = ({ entry, workstreamId }: SearchHitModel): string =>
  Buffer.from(`s${entry.at} ${entry.revision} ${workstreamId}`).toString('base64url');

function decodePlace(cursor: string): SearchPlace {
  const match = /^s(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (\d{1,15}) ([\w-]{1,64})$/.exec(
    Buffer.from(cursor, 'base64url').toString('latin1'),
  );
  if (!match || !isTime(match[1]!)) throw badCursor('after');
  return { at: match[1]!, revision: Number(match[2]), workstreamId: match[3]! };
}

/** A day that there is: JavaScript takes November 31 for December 1, and a year 0, which the database has not. */
function isTime(text: string): boolean {
  const time = new Date(text);
  return !Number.isNaN(time.valueOf()) && time.toISOString() === text && !text.startsWith('0000');
}
