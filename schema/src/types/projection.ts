/** Owns: the fold's value on the wire, complete, under the fold's own names. */
import { builder } from '../builder.ts';
import type {
  Lifecycle as LifecycleValue,
  Projection as ProjectionModel,
  Span as SpanModel,
} from '../projection/index.ts';
import { ApprovalCycle } from './approval-cycle.ts';
import { Batch } from './batch.ts';
import { Configuration } from './configuration.ts';
import { Checkpoint, ProjectionContext } from './context.ts';
import { enumOf } from './enum.ts';
import { Origin } from './origin.ts';
import { Queue } from './queue.ts';
import { Turn } from './turn.ts';
import { WatchRecord } from './watch-record.ts';

export const Lifecycle = enumOf<LifecycleValue>('Lifecycle', 'Whether a workstream takes commands.', {
  CREATING: 'It is being made; nobody sees it yet.',
  OPEN: 'It takes commands.',
  CLOSED: 'It can be read and followed; it takes no commands but `openWorkstream` and `deleteWorkstream`.',
});

/** How to read `superseded`, wherever it stands. */
export const supersededText =
  'What rewinds, retries and edits took out of the conversation: ascending, neither overlapping nor touching one another, ' +
  'usually few. The model does not see the messages, answers and results in these spans. Nothing is deleted: `history` ' +
  'still has these entries, each in its place. To show it, leave out the conversation entries (USER, ASSISTANT, TOOL, SYSTEM, ' +
  'CANCELLATION) whose revision lies in a span, or fold them away behind a mark at the RewindEntry that says who went back ' +
  'and why; an open page does the same when a RewindEntry arrives. What control entries in a span set (configuration, ' +
  'queue, lifecycle) still holds, so does a CheckpointEntry in one, and files in the workspace stay as the calls left them. A RewindEntry adds the span ' +
  'from its `after` to the revision before its own, made one with all spans it covers or touches.';

export const SupersededSpan = builder.objectRef<SpanModel>('SupersededSpan').implement({
  description:
    'A stretch of the journal that is not part of the conversation any more: `after` < revision ≤ `through`.',
  fields: (t) => ({
    after: t.field({
      type: 'Revision',
      description: 'The last entry before it, which stays; 0 when none does.',
      resolve: (s) => s.after,
    }),
    through: t.field({ type: 'Revision', description: 'The last entry in it.', resolve: (s) => s.through }),
  }),
});

export const Projection = builder.objectRef<ProjectionModel>('Projection').implement({
  description:
    'What follows from the entries 1 to `revision`: the open parts of a workstream, without the transcript. A client ' +
    'that folds the entries after `revision` over it gets what the server has. How each entry changes it: LIFECYCLE, ' +
    'CONFIGURATION, TURN, QUEUE replace their part; FORK sets the origin; a settled TURN also empties batch and cycles; ASSISTANT empties the ' +
    'cycles, and opens the batch if it has calls; TOOL_STARTED and TOOL_SETTLED mark a call of it; TOOL removes a call, ' +
    'the last one closes the batch; WATCH takes the place of the watch with its id, or comes last if there is none, and takes it away when it is ENDED; APPROVAL puts its cycle last in place of the one with its id; REWIND makes the turn ' +
    'null and supersedes what lies between its `after` and itself. And of the context: each entry adds its `tokens` to ' +
    '`told`; then ASSISTANT, CHECKPOINT and REWIND replace told, counted, scale, overhead and window by those of their `context`, if they ' +
    'have one; ASSISTANT makes `tried` null; CHECKPOINT sets `failures` to 0 and is the checkpoint; SYSTEM of source ' +
    'COMPACTION_ADVICE makes `advised` true; a TURN that is COMPACTING with a compaction of another id than the turn before it ' +
    'makes `advised` false and `tried` its trigger and adds 1 to `failures`; a settled TURN makes `advised` false, `tried` null and `failures` 0; ' +
    'CONFIGURATION with another model makes counted and window null and scale 1, with another `tokenBudget` makes that the budgetLimit; ' +
    'APPROVAL of a cycle with a `budget` whose item is APPROVED makes `budget.spent` + `budget.grant` the budgetLimit, if there is one and it is less.',
  fields: (t) => ({
    revision: t.field({
      type: 'Revision',
      description: 'Revision of the last entry in it; 0 before the first.',
      resolve: (p) => p.revision,
    }),
    epoch: t.exposeInt('epoch', { description: 'Highest epoch among its entries.' }),
    generation: t.exposeInt('generation', { description: 'Highest generation among its entries.' }),
    lifecycle: t.field({
      type: Lifecycle,
      description: 'Whether it takes commands.',
      resolve: (p) => p.lifecycle,
    }),
    configuration: t.field({
      type: Configuration,
      description: 'What it is set to.',
      resolve: (p) => p.configuration,
    }),
    turn: t.field({
      type: Turn,
      nullable: true,
      description:
        'The live turn, or else the last one; null before the first, and after a rewind until the next one.',
      resolve: (p) => p.turn,
    }),
    batch: t.field({
      type: Batch,
      nullable: true,
      description: 'The calls that are not answered yet; null when there are none.',
      resolve: (p) => p.batch,
    }),
    cycles: t.field({
      type: [ApprovalCycle],
      description: 'Cycles of the open batch, settled and superseded ones included.',
      resolve: (p) => p.cycles,
    }),
    queue: t.field({ type: Queue, description: 'Messages that wait.', resolve: (p) => p.queue }),
    watches: t.field({
      type: [WatchRecord],
      description: 'Its watches that have not ended, oldest first, at most 5.',
      resolve: (p) => p.watches,
    }),
    origin: t.field({
      type: Origin,
      nullable: true,
      description: 'Where it was forked from; null when it is no fork.',
      resolve: (p) => p.origin,
    }),
    superseded: t.field({
      type: [SupersededSpan],
      description: supersededText,
      resolve: (p) => p.superseded,
    }),
    context: t.field({
      type: ProjectionContext,
      description: 'How full the context of the model is, and what was done about it.',
      resolve: (p) => p.context,
    }),
    checkpoint: t.field({
      type: Checkpoint,
      nullable: true,
      description: 'The latest summary; null: nothing was summarised.',
      resolve: (p) => p.checkpoint,
    }),
    budgetLimit: t.field({
      type: 'Tokens',
      nullable: true,
      description:
        'Tokens spent from which on a person is asked for more (see `Workstream.usage`); null: any number may be spent.',
      resolve: (p) => p.budgetLimit,
    }),
    updatedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the last entry was accepted; null before the first.',
      resolve: (p) => p.updatedAt,
    }),
  }),
});
