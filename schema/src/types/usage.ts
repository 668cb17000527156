/**
 * Owns: what model calls cost, on the wire: sums, groups of sums, and each call.
 * Does not own: how a call is counted, or what it is priced at (the server).
 */
import { builder } from '../builder.ts';
import type { ModelCallModel, UsageGroupModel, UsageKey as Key, UsageTotalModel } from '../model/index.ts';
import { Usage } from './entries/assistant.ts';
import { enumOf } from './enum.ts';
import { workstreamGlobalId, workstreamIdOf } from './global-id.ts';
import { badArgument, badCursor, defaultPageSize, pageArgs, pageComplexity, pageSize } from './page.ts';
import { Workstream } from './workstream.ts';

const UsageTotal = builder.objectRef<UsageTotalModel>('UsageTotal').implement({
  description:
    'Sums over model calls: for turns, summaries and titles, also of calls that failed or were given up. Each call is ' +
    'counted once.',
  fields: (t) => ({
    calls: t.exposeInt('calls', { description: 'How many calls.' }),
    inputTokens: t.field({
      type: 'Tokens',
      description: 'Tokens read, those from a cache included.',
      resolve: (u) => u.inputTokens,
    }),
    cachedInputTokens: t.field({
      type: 'Tokens',
      description: 'Of the tokens read: from the provider’s cache, as far as it says so.',
      resolve: (u) => u.cachedInputTokens,
    }),
    outputTokens: t.field({
      type: 'Tokens',
      description: 'Tokens written, reasoning included.',
      resolve: (u) => u.outputTokens,
    }),
    reasoningTokens: t.field({
      type: 'Tokens',
      description: 'Of the tokens written: thinking, as far as the provider says so.',
      resolve: (u) => u.reasoningTokens,
    }),
    cost: t.exposeFloat('cost', {
      nullable: true,
      description:
        'United States dollars, at the price each model had when it was called; calls without a price are left out. Null: no call had one.',
    }),
    estimatedCalls: t.exposeInt('estimatedCalls', {
      description: 'Of the calls, those whose tokens the provider did not count, so that they are estimated.',
    }),
  }),
});

const UsageKey = enumOf<Key>('UsageKey', 'What sums of usage are told apart by.', {
  DAY: 'The day in UTC on which a call ended.',
  WORKSTREAM: 'The workstream it was for.',
  MODEL: 'The alias of the model that was asked.',
});

const UsageGroup = builder.objectRef<UsageGroupModel>('UsageGroup').implement({
  description: 'What the calls of one day, workstream or model cost, as far as they were told apart.',
  fields: (t) => ({
    day: t.field({
      type: 'Date',
      nullable: true,
      description: 'The day, in UTC; null when DAY was not asked for.',
      resolve: (g) => g.day,
    }),
    workstreamId: t.id({
      nullable: true,
      description: 'Global id of the workstream, which may be gone; null when WORKSTREAM was not asked for.',
      resolve: (g) => (g.workstreamId === null ? null : workstreamGlobalId(g.workstreamId)),
    }),
    title: t.exposeString('title', {
      nullable: true,
      description: 'Title the workstream has now; null when it is gone, or WORKSTREAM was not asked for.',
    }),
    alias: t.exposeString('alias', {
      nullable: true,
      description: 'Alias of the model, which may be gone; null when MODEL was not asked for.',
    }),
    total: t.field({ type: UsageTotal, description: 'The sums.', resolve: (g) => g }),
  }),
});

builder.queryField('usage', (t) =>
  t.field({
    type: [UsageGroup],
    description:
      'What model calls cost over a time, told apart by day, workstream or model: the newest day first, then the most tokens. ' +
      'What was spent for a workstream stays when it is deleted. Calls that are not stored yet are left out.',
    args: {
      from: t.arg({ type: 'Date', required: true, description: 'The first day, in UTC.' }),
      through: t.arg({ type: 'Date', description: 'The last day, in UTC, included; null: up to now.' }),
      workstreamId: t.arg.id({
        description:
          'Global id of the one workstream, which may be gone; null: all. Of one that never was there is nothing.',
      }),
      by: t.arg({
        type: [UsageKey],
        required: true,
        description: 'What to tell apart, each at most once; none: one group, the sum of all.',
      }),
      first: t.arg.int({ description: 'Most groups, 1 to 200; 50 when null.' }),
    },
    complexity: ({ first }) => ({ field: 50, multiplier: first ?? defaultPageSize }),
    resolve: (_root, { from, through, workstreamId, by, first }, { services }) => {
      if (through != null && through < from)
        throw badArgument('through', '`through` must not be before `from`.');
      if (new Set(by).size < by.length)
        throw badArgument('by', '`by` names something twice. Name each thing to tell apart once.');
      return services.usage.groups({
        from,
        through: through ?? null,
        workstreamId: workstreamId == null ? null : (workstreamIdOf(workstreamId) ?? ''),
        by,
        first: pageSize('first', first, defaultPageSize),
      });
    },
  }),
);

builder.queryField('turnUsage', (t) =>
  t.field({
    type: UsageTotal,
    description:
      'What the model calls of one turn cost, its summaries included; zeroes when there was no such turn, or nothing of it is stored yet.',
    args: {
      workstreamId: t.arg.id({ required: true, description: 'Global id of the workstream; it may be gone.' }),
      turnId: t.arg.id({ required: true, description: '`Turn.id`.' }),
    },
    complexity: { field: 10 },
    resolve: (_root, { workstreamId, turnId }, { services }) =>
      services.usage.ofTurn(workstreamIdOf(workstreamId) ?? '', turnId),
  }),
);

const CallPurpose = enumOf<ModelCallModel['purpose']>('ModelCallPurpose', 'What a model was called for.', {
  TURN: 'To answer, in a turn.',
  SUMMARY: 'To summarise older history.',
  TITLE: 'To name the workstream.',
});

const CallOutcome = enumOf<ModelCallModel['outcome']>('ModelCallOutcome', 'How a model call ended.', {
  ANSWERED: 'With an answer.',
  FAILED: 'It failed; what was read and written until then counts all the same.',
  ABORTED: 'It was given up on the way, for example by a stop.',
});

const ModelCall = builder.objectRef<ModelCallModel>('ModelCall').implement({
  description: 'One call of a model that has ended, and what it cost.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the call.' }),
    purpose: t.field({ type: CallPurpose, description: 'What for.', resolve: (c) => c.purpose }),
    turnId: t.exposeID('turnId', { nullable: true, description: 'Id of its turn; null: of none.' }),
    alias: t.exposeString('alias', { description: 'Alias of the model that was asked.' }),
    model: t.exposeString('model', { description: 'That model, as its provider names it.' }),
    usage: t.field({ type: Usage, description: 'Tokens read and written.', resolve: (c) => c.usage }),
    estimated: t.exposeBoolean('estimated', {
      description: 'True: the provider did not count, so `usage` is our estimate.',
    }),
    outcome: t.field({ type: CallOutcome, description: 'How it ended.', resolve: (c) => c.outcome }),
    cost: t.exposeFloat('cost', {
      nullable: true,
      description: 'United States dollars, at the price the model had then; null: no price was set.',
    }),
    at: t.field({ type: 'DateTime', description: 'When it ended.', resolve: (c) => c.at }),
  }),
});

const ModelCallConnection = builder.connectionObject(
  {
    type: ModelCall,
    name: 'ModelCallConnection',
    description:
      'A page of model calls, newest first. There is no total: `Workstream.usage` has the number of calls.',
  },
  { name: 'ModelCallEdge', description: 'A model call and its place in the list.' },
);

builder.objectFields(Workstream, (t) => ({
  usage: t.field({
    type: UsageTotal,
    description:
      'What its model calls cost, ever; those that are not stored yet are left out. `Query.turnUsage` has that of one turn.',
    complexity: { field: 10 },
    resolve: (w, _args, { services }) => services.usage.ofWorkstream(w.id),
  }),
  modelCalls: t.field({
    type: ModelCallConnection,
    description: 'Its model calls, newest first; those that are not stored yet are left out.',
    args: pageArgs,
    complexity: pageComplexity,
    resolve: async (w, args, { services }) => {
      const first = pageSize('first', args.first, defaultPageSize);
      const after = args.after == null ? null : decodeCall(args.after);
      const { items, hasNext } = await services.usage.calls(w.id, { first, after });
      const edges = items.map((node) => ({ cursor: encodeCall(node), node }));
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
}));

const encodeCall = ({ id }: ModelCallModel): string => Buffer.from(`c${id}`).toString('base64url');

function decodeCall(cursor: string): string {
  const match = /^c([\x21-\x7e]{1,200})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'));
  if (!match) throw badCursor('after');
  return match[1]!;
}
