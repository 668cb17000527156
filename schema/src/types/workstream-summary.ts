/** Owns: the list of workstreams, read and followed. */
import { builder } from '../builder.ts';
import type {
  OlderWorkstreams as Older,
  WorkstreamStateItem as StateItem,
  WorkstreamSummaryModel,
} from '../model/index.ts';
import type { Lifecycle as LifecycleValue } from '../projection/index.ts';
import type { WorkstreamFilter as Filter } from '../services.ts';
import { workstreamGlobalId } from './global-id.ts';
import { badArgument, encodePlace, pageArgs, pageComplexity, pageRange, toConnection } from './page.ts';
import { Persistence, PersistenceStatus } from './persistence.ts';
import { Lifecycle } from './projection.ts';
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
    lifecycle: t.field({
      type: Lifecycle,
      description: 'Whether it takes commands; never CREATING.',
      resolve: (w) => w.lifecycle,
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
        description: 'How many workstreams there are that the filter lets through.',
        resolve: (c) => (c as unknown as { totalCount: number }).totalCount,
      }),
    }),
  },
  { name: 'WorkstreamEdge', description: 'A workstream and its place in the list.' },
);

const WorkstreamFilter = builder.inputType('WorkstreamFilter', {
  description: 'Which workstreams to list.',
  fields: (t) => ({
    lifecycle: t.field({
      type: Lifecycle,
      description:
        'OPEN: those that take commands. CLOSED: the closed ones. Null: both. CREATING is refused.',
    }),
  }),
});

function filterOf(lifecycle: LifecycleValue | null): Filter {
  if (lifecycle === 'CREATING')
    throw badArgument('filter', 'Nobody sees a workstream that is being made. Ask for OPEN or CLOSED.');
  return { lifecycle };
}

builder.queryField('workstreams', (t) =>
  t.field({
    type: WorkstreamConnection,
    description: 'The workstreams, open and closed, the last made first.',
    args: {
      ...pageArgs,
      filter: t.arg({ type: WorkstreamFilter, description: 'Which ones; null: all.' }),
    },
    complexity: pageComplexity,
    resolve: async (_root, args, { services }) =>
      toConnection(
        await services.workstreams.list(pageRange(args), filterOf(args.filter?.lifecycle ?? null)),
        args.after,
        ({ createdAt, id }) => ({ at: createdAt, id }),
        (node) => ({ node }),
      ),
  }),
);

type Of<T extends StateItem['type']> = Extract<StateItem, { type: T }>;

const OlderWorkstreams = builder.objectRef<Older>('OlderWorkstreams').implement({
  description:
    'The workstreams that were made before the newest ones of a snapshot. Those of them that live are in the snapshot all ' +
    'the same.',
  fields: (t) => ({
    after: t.string({
      description:
        'Cursor to read them with, newest first: `workstreams(after:)`, with any `filter`. Keep rows by id.',
      resolve: (older) => encodePlace(older.after),
    }),
    open: t.exposeBoolean('open', { description: 'Whether any of them is open.' }),
    closed: t.exposeBoolean('closed', { description: 'Whether any of them is closed.' }),
  }),
});

const StatesSnapshot = builder.objectRef<Of<'StatesSnapshot'>>('StatesSnapshot').implement({
  description:
    'Workstreams as they are now: the newest 200, open and closed, and every one that lives, however old: whose turn runs or ' +
    'waits for a person, or that has something that is not stored. `older` tells how to read the rest. Comes first, and again ' +
    'whenever changes were lost: replace what you have.',
  fields: (t) => ({
    workstreams: t.field({
      type: [WorkstreamSummary],
      description:
        'The newest first. Of older ones with a turn at most 1,000, those that wait for a person before the others.',
      resolve: (item) => item.workstreams,
    }),
    older: t.field({
      type: OlderWorkstreams,
      nullable: true,
      description: 'What there is beyond the newest 200; null: no more, so these are all.',
      resolve: (item) => item.older,
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

const WorkstreamDeleted = builder.objectRef<Of<'WorkstreamDeleted'>>('WorkstreamDeleted').implement({
  description:
    'A workstream was deleted, with everything in it. Comes once, after everything else about it: its id never comes back.',
  fields: (t) => ({
    workstreamId: t.id({
      description: 'Global id it had.',
      resolve: (item) => workstreamGlobalId(item.workstreamId),
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
  types: [StatesSnapshot, StateChanged, WorkstreamDeleted, ServerPersistenceChanged, StatesHeartbeat],
  resolveType: (item) => item.type,
});

builder.subscriptionField('workstreamStates', (t) =>
  t.field({
    type: WorkstreamStateItem,
    description:
      'The list of workstreams, live, and how storing is going at the server. Order: one snapshot and one ' +
      '`ServerPersistenceChanged`, then changes of any workstream, also of one that the snapshot left out, which for each ' +
      'come in order of its revisions and end with `WorkstreamDeleted`, and a heartbeat every 15 s. Needs no cursor: after a reconnect it begins with a snapshot again.',
    subscribe: (_root, _args, { services }) => untilLeft((signal) => services.workstreams.states(signal)),
    resolve: (item) => item,
  }),
);
