/** Owns: ApprovalCycle on the wire, the inbox over all workstreams, and deciding. */
import { builder } from '../builder.ts';
import type {
  ApprovalCycle as CycleModel,
  ApprovalItem as ItemModel,
  BudgetQuestion as BudgetModel,
  Preview as PreviewModel,
} from '../projection/index.ts';
import type { DecideApprovalOutcome } from '../services.ts';
import { ApprovalDecision, ApprovalVerdict } from './approval-decision.ts';
import { Accepted } from './durability.ts';
import { enumOf } from './enum.ts';
import { onWorkstream, workstreamGlobalId } from './global-id.ts';
import { pageArgs, pageComplexity, pageRange, toConnection } from './page.ts';
import {
  AlreadyDecided,
  ApprovalGone,
  ArgumentsChanged,
  commandRefusals,
  NotYours,
  resultOf,
} from './rejection.ts';

const PreviewKind = enumOf<PreviewModel['kind']>('PreviewKind', 'How to show a preview.', {
  COMMAND: 'A command for a shell.',
  DIFF: 'A unified diff.',
  TEXT: 'Plain text.',
});

const Preview = builder.objectRef<PreviewModel>('Preview').implement({
  description: 'What to show a person before they decide: all of it, since all of it will run.',
  fields: (t) => ({
    kind: t.field({ type: PreviewKind, description: 'How to show `body`.', resolve: (p) => p.kind }),
    title: t.exposeString('title', {
      description: 'One line, for example the first line of the command or the path that changes.',
    }),
    body: t.exposeString('body', {
      description: 'The full command, the unified diff, or the plain arguments.',
    }),
  }),
});

export const ApprovalItem = builder.objectRef<ItemModel>('ApprovalItem').implement({
  description: 'One call of a cycle, and what was decided about it.',
  fields: (t) => ({
    callId: t.exposeID('callId', { description: 'Id of the call, as `decideApproval` takes it.' }),
    name: t.exposeString('name', { description: 'Name of the tool.' }),
    arguments: t.exposeString('arguments', { description: 'The arguments as JSON text.' }),
    argumentsHash: t.exposeString('argumentsHash', {
      description:
        'SHA-256 in hex over name and arguments. Hand it back to `decideApproval`: what was shown is what runs.',
    }),
    preview: t.field({ type: Preview, description: 'What to show.', resolve: (i) => i.preview }),
    basis: t.exposeString('basis', {
      nullable: true,
      description:
        'What the preview was computed from, for example a hash of the file before the edit; the call fails when that has changed since.',
    }),
    decision: t.field({
      type: ApprovalDecision,
      nullable: true,
      description: 'What was decided; null while it waits.',
      resolve: (i) => i.decision,
    }),
  }),
});

const CycleKind = enumOf<CycleModel['kind']>('ApprovalCycleKind', 'What a cycle asks about.', {
  TOOLS: 'Whether calls of tools may run.',
  BUDGET:
    'Whether more tokens may be spent: `budget` says how many. It has one item, of no tool and without arguments, which no mode answers; approve it to go on, deny it to end the turn.',
});

const CycleStatus = enumOf<CycleModel['status']>('ApprovalCycleStatus', 'Where a cycle stands.', {
  OPEN: 'At least one item waits for a person.',
  SETTLED: 'Each item has a decision.',
  SUPERSEDED: 'The turn was stopped or ended first; it takes no decisions any more.',
});

const BudgetQuestion = builder.objectRef<BudgetModel>('BudgetQuestion').implement({
  description: 'What a person is asked who is asked for more tokens (`Configuration.tokenBudget`).',
  fields: (t) => ({
    spent: t.field({
      type: 'Tokens',
      description: 'Tokens spent for this workstream so far, read and written, by every caller.',
      resolve: (b) => b.spent,
    }),
    limit: t.field({
      type: 'Tokens',
      description: 'Tokens spent from which on the model is not asked any more.',
      resolve: (b) => b.limit,
    }),
    grant: t.field({
      type: 'Tokens',
      description: 'How many more may be spent, from `spent` on, when it is approved.',
      resolve: (b) => b.grant,
    }),
  }),
});

export const ApprovalCycle = builder.objectRef<CycleModel>('ApprovalCycle').implement({
  description:
    'One question to a person, about the calls of one answer of the model or about the budget; or the record of what the ' +
    'mode of the workstream decided about calls in place of a person: then it may be SETTLED from the beginning.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the cycle, as `decideApproval` takes it.' }),
    kind: t.field({ type: CycleKind, description: 'What it asks about.', resolve: (c) => c.kind }),
    budget: t.field({
      type: BudgetQuestion,
      nullable: true,
      description: 'BUDGET: how much was spent, and how much more is asked for. Null for TOOLS.',
      resolve: (c) => c.budget ?? null,
    }),
    turnId: t.exposeID('turnId', { description: 'The turn that waits for it.' }),
    status: t.field({ type: CycleStatus, description: 'Where it stands.', resolve: (c) => c.status }),
    items: t.field({
      type: [ApprovalItem],
      description: 'The calls asked about, in the order the model declared them.',
      resolve: (c) => c.items,
    }),
    openedAt: t.field({ type: 'DateTime', description: 'When it was opened.', resolve: (c) => c.openedAt }),
    closedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it was settled or superseded; null while it is open.',
      resolve: (c) => c.closedAt,
    }),
  }),
});

interface CycleEdge {
  readonly cursor: string;
  readonly node: CycleModel;
  readonly workstreamId: string;
}

const ApprovalCycleEdge = builder.edgeObject({
  type: ApprovalCycle,
  name: 'ApprovalCycleEdge',
  description: 'An open cycle, and whose it is.',
  fields: (t) => ({
    workstreamId: t.id({
      description: 'Global id of the workstream that waits for it.',
      resolve: (edge) => workstreamGlobalId((edge as unknown as CycleEdge).workstreamId),
    }),
  }),
});

const ApprovalCycleConnection = builder.connectionObject(
  {
    type: ApprovalCycle,
    name: 'ApprovalCycleConnection',
    description: 'A page of open approval cycles, newest first.',
    fields: (t) => ({
      totalCount: t.int({
        description: 'How many cycles are open, over all workstreams.',
        resolve: (c) => (c as unknown as { totalCount: number }).totalCount,
      }),
    }),
  },
  ApprovalCycleEdge,
);

builder.queryField('approvals', (t) =>
  t.field({
    type: ApprovalCycleConnection,
    description: 'Everything that waits for a person, over all workstreams, newest first.',
    args: pageArgs,
    complexity: pageComplexity,
    resolve: async (_root, args, { services }) =>
      toConnection(
        await services.approvals.list(pageRange(args)),
        args.after,
        ({ cycle }) => ({ at: cycle.openedAt, id: cycle.id }),
        ({ cycle, workstreamId }) => ({ node: cycle, workstreamId }),
      ),
  }),
);

const DecideApprovalInput = builder.inputType('DecideApprovalInput', {
  description: 'What was decided about which call.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: 'Global id of the workstream.' }),
    cycleId: t.id({ required: true, description: '`ApprovalCycle.id`.' }),
    callId: t.id({ required: true, description: '`ApprovalItem.callId`.' }),
    argumentsHash: t.string({
      required: true,
      description: '`ApprovalItem.argumentsHash` as it was shown to the decider.',
    }),
    verdict: t.field({ type: ApprovalVerdict, required: true, description: 'Whether the call may run.' }),
    feedback: t.string({
      description:
        'What the model should know, at most 10,000 characters; it reaches it after the results of the batch, as a message of the decider. Only for the principal of the turn; null or empty: nothing.',
    }),
  }),
});

type Decided = Extract<DecideApprovalOutcome, { type: 'Accepted' }>;
const DecideApprovalPayload = builder.objectRef<Decided>('DecideApprovalPayload').implement({
  description: 'The decision stands.',
  interfaces: [Accepted],
  fields: (t) => ({
    cycle: t.field({
      type: ApprovalCycle,
      description: 'The cycle with this decision in it.',
      resolve: (p) => p.cycle,
    }),
  }),
});

builder.mutationField('decideApproval', (t) =>
  t.field({
    type: resultOf<DecideApprovalOutcome>('decideApproval', DecideApprovalPayload, {
      ...commandRefusals,
      APPROVAL_GONE: ApprovalGone,
      ALREADY_DECIDED: AlreadyDecided,
      ARGUMENTS_CHANGED: ArgumentsChanged,
      NOT_YOURS: NotYours,
    }),
    description:
      'Approves or denies one call. The first decision wins, whoever else tries. Answers when the decision is safe, ' +
      'not when the call has run; an approved call starts at once, whatever else of its cycle is still open. APPROVAL_GONE: the ' +
      'cycle is not open any more and nothing was approved. ALREADY_DECIDED carries the decision that stands. ' +
      'ARGUMENTS_CHANGED: look again, something else would run. NOT_YOURS: anybody may decide, but only the principal of ' +
      'the turn may say something with it; decide again without `feedback`.',
    args: { input: t.arg({ type: DecideApprovalInput, required: true, description: 'What was decided.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.approvals.decide(viewer, { ...input, workstreamId, feedback: input.feedback ?? null }),
      ),
  }),
);
