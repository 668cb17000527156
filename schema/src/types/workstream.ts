/** Owns: Workstream on the wire, finding one, and making one. */
import { builder } from '../builder.ts';
import type { WorkstreamModel } from '../model/index.ts';
import {
  activityOf,
  hasFailed,
  isCompacting,
  isSettled,
  isStopping,
  liveTurn,
  openCycles,
  type Activity as ActivityValue,
  type WorkstreamState as State,
} from '../projection/index.ts';
import type { CreateWorkstreamOutcome } from '../services.ts';
import { ApprovalCycle } from './approval-cycle.ts';
import { Author } from './author.ts';
import {
  ApprovalMode,
  Configuration,
  Effort,
  instructionsText,
  TitleSource,
  tokenBudgetText,
} from './configuration.ts';
import { Context } from './context.ts';
import { Accepted } from './durability.ts';
import { Entry, entryNode } from './entries/entry.ts';
import { enumOf } from './enum.ts';
import { workstreamGlobalId, workstreamIdOf } from './global-id.ts';
import { HistoryConnection, historyOf, historySize } from './history.ts';
import { Origin } from './origin.ts';
import { Overlay } from './overlay.ts';
import { Persistence } from './persistence.ts';
import { Lifecycle, Projection, SupersededSpan, supersededText } from './projection.ts';
import { Queue } from './queue.ts';
import { InvalidInput, KeyReused, resultOf, ShuttingDown, StorageUnavailable } from './rejection.ts';
import { Turn } from './turn.ts';

export const WorkstreamState = enumOf<State>(
  'WorkstreamState',
  'What a workstream is doing. Follows from its entries alone; the first that fits, in this order: CREATING, CLOSED, ATTENTION, RUNNING, THINKING, ERROR, IDLE.',
  {
    CREATING: 'It is being made; nobody sees it yet.',
    CLOSED: 'It is closed.',
    ATTENTION: 'Its live turn waits for a person.',
    RUNNING: 'Its live turn runs tools.',
    THINKING: 'Its live turn waits for the model.',
    ERROR: 'No turn runs and the last one failed. A summary by hand that came to nothing leaves it IDLE.',
    IDLE: 'No turn runs.',
  },
);

const Activity = enumOf<ActivityValue>('Activity', 'What a live turn is busy with.', {
  MODEL: 'The model writes.',
  TOOLS: 'Tools run.',
  COMPACTING: 'Older history is being summarised.',
  APPROVAL: 'A person is asked about calls.',
  BUDGET: 'A person is asked whether more tokens may be spent.',
});

interface Flags {
  readonly stopping: boolean;
  readonly compacting: boolean;
}

const WorkstreamFlags = builder.objectRef<Flags>('WorkstreamFlags').implement({
  description: 'What goes on beside the state.',
  fields: (t) => ({
    stopping: t.exposeBoolean('stopping', {
      description: 'Stop was accepted, and the turn has not ended yet.',
    }),
    compacting: t.exposeBoolean('compacting', { description: 'Older history is being summarised.' }),
  }),
});

const flagsOf = ({ projection }: WorkstreamModel): Flags => ({
  stopping: isStopping(projection),
  compacting: isCompacting(projection),
});

interface LastError {
  readonly reason: string;
  readonly message: string;
}

const WorkstreamError = builder.objectRef<LastError>('WorkstreamError').implement({
  description: 'What went wrong last.',
  fields: (t) => ({
    reason: t.exposeString('reason', {
      description: 'A word for programs: `QUARANTINED`, or the `reason` of the outcome of the failed turn.',
    }),
    message: t.exposeString('message', {
      description: 'One sentence for a person: what happened and what to try.',
    }),
  }),
});

function lastErrorOf({ quarantine, projection }: WorkstreamModel): LastError | null {
  if (quarantine !== null) return { reason: 'QUARANTINED', message: quarantine };
  return hasFailed(projection) ? (projection.turn?.outcome ?? null) : null;
}

export const Workstream = builder.objectRef<WorkstreamModel>('Workstream').implement({
  description:
    'One durable conversation with an agent that uses tools. All fields of one operation come from one read at one ' +
    '`revision`; pending entries are included, except in `durable`. To follow it: take what you show, `durable`, ' +
    '`pending` and `history` in one operation, subscribe to `workstreamFeed(after: feedCursor)`, and fold what comes. ' +
    'Reading it does not load it.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.id({
      description: 'Global id, as every `workstreamId` of an input takes it.',
      resolve: (w) => workstreamGlobalId(w.id),
    }),
    title: t.string({
      description: 'Name for people, at most 200 characters.',
      resolve: (w) => w.projection.configuration.title,
    }),
    titleSource: t.field({
      type: TitleSource,
      description: 'Who gave the title.',
      resolve: (w) => w.projection.configuration.titleSource,
    }),
    origin: t.field({
      type: Origin,
      nullable: true,
      description: 'Where it was forked from; null when it is no fork.',
      resolve: (w) => w.projection.origin,
    }),
    lifecycle: t.field({
      type: Lifecycle,
      description: 'Whether it takes commands.',
      resolve: (w) => w.projection.lifecycle,
    }),
    state: t.field({ type: WorkstreamState, description: 'What it is doing.', resolve: (w) => w.state }),
    activity: t.field({
      type: Activity,
      nullable: true,
      description: 'What its live turn is busy with; null without one.',
      resolve: (w) => activityOf(w.projection),
    }),
    flags: t.field({
      type: WorkstreamFlags,
      description: 'What goes on beside the state.',
      resolve: flagsOf,
    }),
    liveTurn: t.field({
      type: Turn,
      nullable: true,
      description: 'The turn that runs; null when none does. There is at most one.',
      resolve: (w) => liveTurn(w.projection),
    }),
    lastTurn: t.field({
      type: Turn,
      nullable: true,
      description:
        'The turn that settled last; null before the first, while a turn runs, and after a rewind. Its id is what ' +
        '`rewindWorkstream`, `resendMessage` and `retryTurn` take as `turnId`.',
      resolve: ({ projection: { turn } }) => (turn && isSettled(turn) ? turn : null),
    }),
    revision: t.field({
      type: 'Revision',
      description: 'Revision of its last entry, pending ones included: the revision of this read.',
      resolve: (w) => w.projection.revision,
    }),
    durableThrough: t.field({
      type: 'Revision',
      description: 'Entries up to here are committed; those above, up to `revision`, are pending.',
      resolve: (w) => w.durableThrough,
    }),
    epoch: t.exposeInt('epoch', {
      description: 'Number of the current ownership by one process; grows with each load and takeover.',
    }),
    generation: t.int({
      description: 'Number of the current claim to write; grows with each turn and each recovery.',
      resolve: (w) => w.projection.generation,
    }),
    owner: t.exposeID('owner', {
      nullable: true,
      description: 'Id of the server process that runs it; null when it is not loaded anywhere.',
    }),
    durable: t.field({
      type: Projection,
      description:
        'What follows from its committed entries alone: `durable.revision` = `durableThrough`. Fold `pending` over it to get ' +
        'what the other fields show. Kept apart because a follower must be able to go back to it: on `EpochStarted` ' +
        'pending entries vanish.',
      resolve: (w) => w.durable,
    }),
    pending: t.field({
      type: [Entry],
      description: 'The entries above `durableThrough`, in order; normally none. They are in `history`, too.',
      resolve: (w) => w.pending.map((entry) => entryNode(w.id, entry, false)),
    }),
    history: t.field({
      type: HistoryConnection,
      description:
        'Its journal, by pages: the newest entries without arguments, older ones with `last` and `before`, newer ones with ' +
        '`first` and `after`. Edges are always oldest first. Part of the same read: no entry is above `revision`, and the ' +
        'feed from `feedCursor` brings whatever came after, once. (Should the server be replaced between two steps of this ' +
        'very read, pages may end below `revision`; the feed from `feedCursor` then begins with `EpochStarted`, which sets ' +
        'it right.) Fails as a whole when committed entries cannot be read.',
      args: {
        first: t.arg.int({ description: 'Page size reading forward, 1 to 200. Not together with `last`.' }),
        after: t.arg.string({
          description: 'With `first`: only entries after this cursor; null: from the first entry.',
        }),
        last: t.arg.int({
          description: 'Page size reading backward, 1 to 200; 50 when `first` is null, too.',
        }),
        before: t.arg.string({
          description: 'Reading backward: only entries before this cursor; null: from the newest.',
        }),
      },
      complexity: (args) => ({ field: 10, multiplier: historySize(args) }),
      resolve: (w, args, context) => historyOf(w, args, context),
    }),
    overlay: t.field({
      type: Overlay,
      description: 'The answer being written and the output of running tools.',
      resolve: (w) => w.overlay,
    }),
    approvals: t.field({
      type: [ApprovalCycle],
      description: 'Cycles that wait for a person, oldest first.',
      resolve: (w) => openCycles(w.projection),
    }),
    queue: t.field({ type: Queue, description: 'Messages that wait.', resolve: (w) => w.projection.queue }),
    model: t.string({
      description: 'Alias of the model that serves the next call; see `Query.models`.',
      resolve: (w) => w.projection.configuration.model,
    }),
    workspace: t.string({
      description: 'Absolute path, on the server, of the folder the tools work in.',
      resolve: (w) => w.projection.configuration.workspace,
    }),
    approvalMode: t.field({
      type: ApprovalMode,
      description: 'What a person is asked about, for calls that are prepared from now on.',
      resolve: (w) => w.projection.configuration.approvalMode,
    }),
    approvalModeBy: t.field({
      type: Author,
      description: 'Who set the mode: whose word it is when it answers in place of a person.',
      resolve: (w) => w.projection.configuration.approvalModeBy,
    }),
    configuration: t.field({
      type: Configuration,
      description: 'All it is set to, pending settings included.',
      resolve: (w) => w.projection.configuration,
    }),
    context: t.field({
      type: Context,
      description: 'How full the context of the model is.',
      resolve: (w) => ({ mark: w.context, checkpoint: w.projection.checkpoint }),
    }),
    systemPrompt: t.string({
      description:
        'What the model is told first, as it would be sent now: what the server and its operator tell every model, the ' +
        '`AGENTS.md` of the workspace, and the `instructions` of the workstream. Read from files when it is asked for.',
      complexity: { field: 10 },
      resolve: (w, _args, { services }) => services.workstreams.systemPrompt(w.projection.configuration),
    }),
    superseded: t.field({
      type: [SupersededSpan],
      description: supersededText,
      resolve: (w) => w.projection.superseded,
    }),
    persistence: t.field({
      type: Persistence,
      description: 'How storing its entries is going.',
      resolve: (w) => w.persistence,
    }),
    lastError: t.field({
      type: WorkstreamError,
      nullable: true,
      description: 'Why it is in ERROR or quarantined; null when it is neither.',
      resolve: lastErrorOf,
    }),
    createdAt: t.field({ type: 'DateTime', description: 'When it was made.', resolve: (w) => w.createdAt }),
    updatedAt: t.field({
      type: 'DateTime',
      description: 'When its last entry was accepted.',
      resolve: (w) => w.updatedAt,
    }),
    feedCursor: t.field({
      type: 'FeedCursor',
      description: 'Where to start `workstreamFeed` to get everything after this read, without a gap.',
      resolve: (w) => w.cursor,
    }),
  }),
});

builder.queryField('workstream', (t) =>
  t.field({
    type: Workstream,
    nullable: true,
    description: 'A workstream by its global id; null when there is none.',
    args: { id: t.arg.id({ required: true, description: 'Global id of the workstream.' }) },
    complexity: { field: 10 },
    resolve: (_root, { id }, { services }) => {
      const workstreamId = workstreamIdOf(id);
      return workstreamId === null ? null : services.workstreams.get(workstreamId);
    },
  }),
);

const CreateWorkstreamInput = builder.inputType('CreateWorkstreamInput', {
  description: 'What to make.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    title: t.string({
      description:
        'Name for people, at most 200 characters; null: "New workstream", until the server names it after the first exchange.',
    }),
    model: t.string({ description: 'Alias of a model of `Query.models`; null: the default one.' }),
    temperature: t.float({ description: 'From 0 to 2; null: as the model is set up.' }),
    effort: t.field({ type: Effort, description: 'How hard to think; null: as the model is set up.' }),
    workspace: t.string({
      description:
        'Absolute path, on the server, of an existing folder under one of `Server.workspaceRoots`; null: a folder of its own is made.',
    }),
    approvalMode: t.field({ type: ApprovalMode, description: 'What to ask a person about; null: ASK.' }),
    instructions: t.string({ description: `${instructionsText} Null or empty: nothing.` }),
    tokenBudget: t.int({ description: `${tokenBudgetText} Null or 0: any number.` }),
  }),
});

type Created = Extract<CreateWorkstreamOutcome, { type: 'Accepted' }>;

/** What is answered when a workstream was made, in whichever way. */
export const createdPayload = (name: string, description: string) =>
  builder.objectRef<Created>(name).implement({
    description,
    interfaces: [Accepted],
    fields: (t) => ({
      workstreamId: t.id({
        description: 'Global id of the new workstream.',
        resolve: (p) => workstreamGlobalId(p.workstreamId),
      }),
      workstream: t.field({
        type: Workstream,
        nullable: true,
        description: 'It, as it is now; null when it is gone already.',
        complexity: { field: 10 },
        resolve: (p, _args, { services }) => services.workstreams.get(p.workstreamId),
      }),
    }),
  });

const CreateWorkstreamPayload = createdPayload('CreateWorkstreamPayload', 'The workstream was made.');

builder.mutationField('createWorkstream', (t) =>
  t.field({
    type: resultOf<CreateWorkstreamOutcome>('createWorkstream', CreateWorkstreamPayload, {
      INVALID_INPUT: InvalidInput,
      KEY_REUSED: KeyReused,
      SHUTTING_DOWN: ShuttingDown,
      STORAGE_UNAVAILABLE: StorageUnavailable,
    }),
    description:
      'Makes a workstream, open and idle. Answers when it is safe and can be found; a failure leaves nothing behind, nor does a caller who goes away before. ' +
      'INVALID_INPUT names the field: an unknown model, a folder that is missing or outside of the allowed roots, a title or instructions too long, a budget too small.',
    args: { input: t.arg({ type: CreateWorkstreamInput, required: true, description: 'What to make.' }) },
    resolve: (
      _root,
      {
        input: { key, title, model, temperature, effort, workspace, approvalMode, instructions, tokenBudget },
      },
      { services, viewer, caller },
    ) =>
      services.workstreams.create(
        viewer,
        {
          key,
          title: title ?? null,
          model: model ?? null,
          temperature: temperature ?? null,
          effort: effort ?? null,
          workspace: workspace ?? null,
          approvalMode: approvalMode ?? null,
          instructions: instructions ?? null,
          tokenBudget: tokenBudget ?? null,
        },
        caller,
      ),
  }),
);
