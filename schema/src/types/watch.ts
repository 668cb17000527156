/** Owns: Watch on the wire, with how its polls go, and finding watches. Does not own: commanding them (`watch-commands.ts`). */
import { builder } from '../builder.ts';
import type { WatchModel, WatchPollModel } from '../model/index.ts';
import { watchGlobalId, watchIdOf, workstreamGlobalId, workstreamIdOf } from './global-id.ts';
import { badCursor, defaultPageSize, pageArgs, pageComplexity, pageSize } from './page.ts';
import { WatchFacts } from './watch-record.ts';
import { Workstream } from './workstream.ts';

const WatchPoll = builder.objectRef<WatchPollModel>('WatchPoll').implement({
  description: 'One poll of a watch.',
  fields: (t) => ({
    poll: t.exposeInt('poll', { description: 'Its number, 1 for the first.' }),
    at: t.field({ type: 'DateTime', description: 'When it was done.', resolve: (p) => p.at }),
    durationMs: t.exposeInt('durationMs', { description: 'How long the command ran, milliseconds.' }),
    exitCode: t.exposeInt('exitCode', {
      nullable: true,
      description: 'Of the command; null: it did not end by itself, or was not run.',
    }),
    fired: t.exposeBoolean('fired', { description: 'Whether the watch had something to say after it.' }),
    error: t.exposeString('error', {
      nullable: true,
      description:
        'One sentence: why the command could not run or the condition not be judged, or that the poll was cut short; null: nothing was wrong.',
    }),
    outputTail: t.exposeString('outputTail', {
      description: 'The end of what the command put out, at most 2,000 characters.',
    }),
  }),
});

/** Watches that have ended and are told with their workstream. */
const endedShown = 50;

/** Polls that are kept of a watch. */
const pollsKept = 200;

export const Watch = builder.objectRef<WatchModel>('Watch').implement({
  description:
    'A watch as it is now, with how its polls go. What its workstream has written down comes from its journal (follow ' +
    '`workstreamFeed`: a WatchEntry says when that changes); how its polls go is kept beside it and changes with each poll, ' +
    'of which the feed tells nothing until the watch fires: ask again, `nextPollAt` says when that is worth it.',
  interfaces: [builder.nodeInterfaceRef(), WatchFacts],
  fields: (t) => ({
    id: t.id({
      description: 'Global id, for `Query.watch` and `Query.node`.',
      resolve: (w) => watchGlobalId(w.id),
    }),
    workstreamId: t.id({
      description: 'Global id of its workstream.',
      resolve: (w) => workstreamGlobalId(w.workstreamId),
    }),
    polls: t.exposeInt('polls', { description: 'How often it was polled since it was made. 0: never.' }),
    fires: t.exposeInt('fires', {
      description:
        'How often it fired, an end without firing not counted. 0 with `polls` above 0: it polls, and waits.',
    }),
    nextPollAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it is polled next, by the clock of the database; null: it is not ACTIVE.',
      resolve: (w) => w.nextPollAt,
    }),
    lastPollAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it was polled last; null: never.',
      resolve: (w) => w.lastPollAt,
    }),
    lastExitCode: t.exposeInt('lastExitCode', {
      nullable: true,
      description: 'Exit code of the last poll; null: its command did not end by itself, or there was none.',
    }),
    lastOutput: t.exposeString('lastOutput', {
      nullable: true,
      description:
        'What its command put out when it ran last, at most 64 KiB; null: it has not run yet. Show it as text.',
    }),
    lastError: t.exposeString('lastError', {
      nullable: true,
      description: 'What was wrong with the last poll, one sentence; null: nothing, or there was none.',
    }),
    history: t.field({
      type: [WatchPoll],
      description: `Its polls, newest first. The last ${pollsKept} are kept, also when it has ended, until the workstream is deleted.`,
      args: {
        first: t.arg.int({ description: 'Most polls, 1 to 200; 50 when null.' }),
        before: t.arg.int({
          description: 'Only polls with a lower number than this; null: from the newest.',
        }),
      },
      complexity: ({ first }) => ({ field: 10, multiplier: first ?? defaultPageSize }),
      resolve: (w, { first, before }, { services }) =>
        services.watches.polls(w.id, {
          first: pageSize('first', first, defaultPageSize),
          before: before ?? null,
        }),
    }),
  }),
});

const WatchConnection = builder.connectionObject(
  {
    type: Watch,
    name: 'WatchConnection',
    description: 'A page of watches, newest first. There is no total: `Server.watches` counts them.',
  },
  { name: 'WatchEdge', description: 'A watch and its place in the list.' },
);

const WatchFilter = builder.inputType('WatchFilter', {
  description: 'Which watches; fields that are null leave nothing out.',
  fields: (t) => ({
    workstreamId: t.id({
      description: 'Global id of the one workstream; null: all. Of one that is not there is nothing.',
    }),
    ended: t.boolean({
      description: 'True: also those that have ended. False or null: only ACTIVE and PAUSED ones.',
    }),
  }),
});

builder.queryField('watches', (t) =>
  t.field({
    type: WatchConnection,
    description:
      'The watches of all workstreams, newest first, as far as they are stored. A watch that was accepted a moment ago and is ' +
      'still PENDING is in `Workstream.watches` only.',
    args: {
      ...pageArgs,
      filter: t.arg({ type: WatchFilter, description: 'Which ones; null: all that have not ended.' }),
    },
    complexity: pageComplexity,
    resolve: async (_root, args, { services }) => {
      const { filter } = args;
      const ended = filter?.ended ?? false;
      const after = args.after == null ? null : decodeWatch(args.after);
      const { items, hasNext } = await services.watches.list({
        workstreamId: filter?.workstreamId == null ? null : (workstreamIdOf(filter.workstreamId) ?? ''),
        ended,
        first: pageSize('first', args.first, defaultPageSize),
        after,
      });
      const edges = items.map((node) => ({ cursor: encodeWatch(node), node }));
      return {
        edges,
        pageInfo: {
          hasNextPage: hasNext,
          hasPreviousPage: after !== null,
          startCursor: edges[0]?.cursor ?? null,
          endCursor: edges.at(-1)?.cursor ?? null,
        },
      };
    },
  }),
);

builder.queryField('watch', (t) =>
  t.field({
    type: Watch,
    nullable: true,
    description: 'A watch by its global id, ended or not; null when none is stored under it.',
    args: { id: t.arg.id({ required: true, description: '`Watch.id`.' }) },
    complexity: { field: 10 },
    resolve: (_root, { id }, { services }) => {
      const watchId = watchIdOf(id);
      return watchId === null ? null : services.watches.get(watchId);
    },
  }),
);

builder.objectFields(Workstream, (t) => ({
  watches: t.field({
    type: [Watch],
    description:
      'Its watches that have not ended, pending ones included, oldest first, at most 5; what its journal says of them is part of ' +
      'the same read, how their polls go is read a moment later. With `ended`: then the last 50 that have ended, newest first ' +
      '(`Query.watches` has them all).',
    args: { ended: t.arg.boolean({ description: 'True: also those that have ended. Null: false.' }) },
    complexity: ({ ended }) => ({ field: 10, multiplier: ended ? 5 + endedShown : 5 }),
    resolve: (w, { ended }, { services }) =>
      services.watches.ofWorkstream(w.id, w.projection.watches, ended ?? false),
  }),
}));

const encodeWatch = ({ id }: WatchModel): string => Buffer.from(`w${id}`).toString('base64url');

function decodeWatch(cursor: string): string {
  const match = /^w([\w-]{1,64})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'));
  if (!match) throw badCursor('after');
  return match[1]!;
}
