/** Owns: the fold's value on the wire, complete, under the fold's own names. */
import { builder } from '../builder.ts';
import type {
  Configuration as ConfigurationModel,
  Lifecycle as LifecycleValue,
  Projection as ProjectionModel,
} from '../projection/index.ts';
import { ApprovalCycle } from './approval-cycle.ts';
import { Batch } from './batch.ts';
import { enumOf } from './enum.ts';
import { Queue } from './queue.ts';
import { Turn } from './turn.ts';

export const Lifecycle = enumOf<LifecycleValue>('Lifecycle', 'Whether a workstream takes commands.', {
  CREATING: 'It is being made; nobody sees it yet.',
  OPEN: 'It takes commands.',
  CLOSED: 'It can be read and followed; it takes no commands.',
});

export const Configuration = builder.objectRef<ConfigurationModel>('Configuration').implement({
  description: 'What a workstream is set to.',
  fields: (t) => ({
    title: t.exposeString('title', { description: 'Name for people, at most 200 characters.' }),
    model: t.exposeString('model', {
      description: 'Alias of the model that serves the next call; see `Query.models`.',
    }),
    workspace: t.exposeString('workspace', {
      description: 'Absolute path, on the server, of the folder the tools work in.',
    }),
  }),
});

export const Projection = builder.objectRef<ProjectionModel>('Projection').implement({
  description:
    'What follows from the entries 1 to `revision`: the open parts of a workstream, without the transcript. A client ' +
    'that folds the entries after `revision` over it gets what the server has. How each entry changes it: LIFECYCLE, ' +
    'CONFIGURATION, TURN, QUEUE replace their part; a settled TURN also empties batch and cycles; ASSISTANT empties the ' +
    'cycles, and opens the batch if it has calls; TOOL_STARTED and TOOL_SETTLED mark a call of it; TOOL removes a call, ' +
    'the last one closes the batch; APPROVAL puts its cycle last in place of the one with its id.',
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
      description: 'The live turn, or else the last one; null before the first.',
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
    updatedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the last entry was accepted; null before the first.',
      resolve: (p) => p.updatedAt,
    }),
  }),
});
