/** Owns: the list of workstreams, read and followed. */
import { builder } from '../builder.ts';
import type { WorkstreamStateItem as StateItem, WorkstreamSummaryModel } from '../model/index.ts';
import { workstreamGlobalId } from './global-id.ts';
import { pageArgs, pageComplexity, pageRange, toConnection } from './page.ts';
import { Persistence, PersistenceStatus } from './persistence.ts';
import { untilLeft } from './subscribe.ts';
import { WorkstreamState } from './workstream.ts';

export const WorkstreamSummary = builder.objectRef<WorkstreamSummaryModel>('WorkstreamSummary').implement({
  description: 'A row of the list of workstreams: what can be shown of one without reading it.',
  fields: (t) => ({
    id: t.id({
      description: 'Global id of the workstream: `Workstream.id`.',
      resolve: (w) => workstreamGlobalId(w.id),
    }),
    title: t.exposeString('title', { description: 'Name for people, at most 200 characters.' }),
    state: t.field({ type: WorkstreamState, description: 'What it is doing.', resolve: (w) => w.state }),
    stopping: t.exposeBoolean('stopping', {
      description: 'Stop was accepted, and the turn has not ended yet.',
    }),
    model: t.exposeString('model', { description: 'Alias of the model that serves the next call.' }),
    revision: t.field({
      type: 'Revision',
      description:
        'Revision this row was computed at: of two rows of one workstream the higher one is newer.',
      resolve: (w) => w.revision,
    }),
    persistence: t.field({
      type: PersistenceStatus,
      description: 'How storing its entries is going; `Workstream.persistence` says more.',
      resolve: (w) => w.persistence,
    }),
    createdAt: t.field({ type: 'DateTime', description: 'When it was made.', resolve: (w) => w.createdAt }),
    updatedAt: t.field({
      type: 'DateTime',
      description: 'When its last entry was accepted.',
      resolve: (w) => w.updatedAt,
    }),
  }),
});

const WorkstreamConnection = builder.connectionObject(
  {
    type: WorkstreamSummary,
    name: 'WorkstreamConnection',
    description: 'A page of workstreams, newest first.',
    fields: (t) => ({
      totalCount: t.int({
        description: 'How many workstreams there are.',
        resolve: (c) => (c as unknown as { totalCount: number }).totalCount,
      }),
    }),
  },
  { name: 'WorkstreamEdge', description: 'A workstream and its place in the list.' },
);

builder.queryField('workstreams', (t) =>
  t.field({
    type: WorkstreamConnection,
    description: 'All workstreams, the last made first.',
    args: pageArgs,
    complexity: pageComplexity,
    resolve: async (_root, args, { services }) =>
      toConnection(
        await services.workstreams.list(pageRange(args)),
        args.after,
        ({ createdAt, id }) => ({ at: createdAt, id }),
        (node) => ({ node }),
      ),
  }),
);

type Of<T extends StateItem['type']> = Extract<StateItem, { type: T }>;

const StatesSnapshot = builder.objectRef<Of<'StatesSnapshot'>>('StatesSnapshot').implement({
  description:
    'All workstreams as they are now. Comes first, and again whenever changes were lost: replace what you have.',
  fields: (t) => ({
    workstreams: t.field({
      type: [WorkstreamSummary],
      description: 'The newest first.',
      resolve: (item) => item.workstreams,
    }),
  }),
});

export const StateChanged = builder.objectRef<Of<'StateChanged'>>('StateChanged').implement({
  description:
    'A workstream is new or has changed. Changes of one workstream are merged when they come fast. A row of the same ' +
    'revision replaces the one before it: storing goes better or worse without an entry.',
  fields: (t) => ({
    workstream: t.field({
      type: WorkstreamSummary,
      description: 'As it is now.',
      resolve: (item) => item.workstream,
    }),
  }),
});

const ServerPersistenceChanged = builder
  .objectRef<Of<'ServerPersistenceChanged'>>('ServerPersistenceChanged')
  .implement({
    description:
      'How storing is going for the server as a whole: show it to everybody when it is not HEALTHY, since nothing new is ' +
      'safe then. Comes after each snapshot, and whenever it changes; equals `Server.persistence`.',
    fields: (t) => ({
      persistence: t.field({
        type: Persistence,
        description: 'How it is going now, over all workstreams the server runs.',
        resolve: (item) => item.persistence,
      }),
    }),
  });

const StatesHeartbeat = builder.objectRef<Of<'StatesHeartbeat'>>('StatesHeartbeat').implement({
  description: 'Nothing else happened for a while: the connection lives.',
  fields: (t) => ({
    at: t.field({ type: 'DateTime', description: 'The time at the server.', resolve: (item) => item.at }),
  }),
});

const WorkstreamStateItem = builder.unionType('WorkstreamStateItem', {
  description: 'What `workstreamStates` carries. Kinds may be added: skip one you do not know.',
  types: [StatesSnapshot, StateChanged, ServerPersistenceChanged, StatesHeartbeat],
  resolveType: (item) => item.type,
});

builder.subscriptionField('workstreamStates', (t) =>
  t.field({
    type: WorkstreamStateItem,
    description:
      'The list of workstreams, live, and how storing is going at the server. Order: one snapshot and one ' +
      '`ServerPersistenceChanged`, then changes, which for one workstream come in order of its revisions, and a heartbeat ' +
      'every 15 s. Needs no cursor: after a reconnect it begins with a snapshot again.',
    subscribe: (_root, _args, { services }) => untilLeft((signal) => services.workstreams.states(signal)),
    resolve: (item) => item,
  }),
);
