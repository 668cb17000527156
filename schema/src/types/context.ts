/** Owns: how full the context of the model is, on the wire: as it is shown, and as it is folded (D-39). */
import { builder } from '../builder.ts';
import {
  isEstimated,
  isNearlyFull,
  usedOf,
  type Checkpoint as CheckpointModel,
  type ContextMark as Mark,
  type Context as FoldedContext,
  type Counted as CountedModel,
} from '../projection/index.ts';
import { CompactionTrigger } from './turn.ts';

export interface ContextValue {
  readonly mark: Mark;
  readonly checkpoint: CheckpointModel | null;
}

const Counted = builder.objectRef<CountedModel>('Counted').implement({
  description: 'What a provider counted last, for what the model was told up to and with its answer.',
  fields: (t) => ({
    tokens: t.field({
      type: 'Tokens',
      description:
        'Tokens read and written, those for thinking left out where the model is not told them again.',
      resolve: (c) => c.tokens,
    }),
    told: t.field({
      type: 'Tokens',
      description: 'Of `ContextMark.told`, what it covers, in our estimate.',
      resolve: (c) => c.told,
    }),
  }),
});

const markText = {
  told: 'Estimated tokens of all entries the model is told now: the sum of their `tokens`.',
  counted: 'What the provider counted; null: none has counted what the model is told now.',
  scale:
    'Tokens that the provider of the chosen model counts for each one of our estimate, 0.5 to 4: what it has not counted is estimated so. 1: not known yet.',
  overhead: 'Estimated tokens of the system prompt and the definitions of the tools; 0: not known yet.',
  window:
    'Tokens that the chosen model can read at once, or a larger one that answered last in its place; null: not known.',
} as const;

/** How to make of a mark what a person is shown. */
const usedText =
  'Tokens used are, without `counted`, (`overhead` + `told`) × `scale`; else `counted.tokens` + (`told` - `counted.told`) × ' +
  '`scale`, rounded, never below 0, and exact only while `told` is `counted.told`.';

export const ContextMark = builder.objectRef<Mark>('ContextMark').implement({
  description: `How full the context of the model is after an entry, as whole values. ${usedText}`,
  fields: (t) => ({
    told: t.field({ type: 'Tokens', description: markText.told, resolve: (m) => m.told }),
    counted: t.field({
      type: Counted,
      nullable: true,
      description: markText.counted,
      resolve: (m) => m.counted,
    }),
    scale: t.exposeFloat('scale', { description: markText.scale }),
    overhead: t.field({ type: 'Tokens', description: markText.overhead, resolve: (m) => m.overhead }),
    window: t.field({
      type: 'Tokens',
      nullable: true,
      description: markText.window,
      resolve: (m) => m.window,
    }),
  }),
});

export const ProjectionContext = builder.objectRef<FoldedContext>('ProjectionContext').implement({
  description: `How full the context is, and what was done about it, as it is folded: see \`Projection\`. ${usedText}`,
  fields: (t) => ({
    told: t.field({ type: 'Tokens', description: markText.told, resolve: (c) => c.told }),
    counted: t.field({
      type: Counted,
      nullable: true,
      description: markText.counted,
      resolve: (c) => c.counted,
    }),
    scale: t.exposeFloat('scale', { description: markText.scale }),
    overhead: t.field({ type: 'Tokens', description: markText.overhead, resolve: (c) => c.overhead }),
    window: t.field({
      type: 'Tokens',
      nullable: true,
      description: markText.window,
      resolve: (c) => c.window,
    }),
    advised: t.exposeBoolean('advised', {
      description: 'In this turn the model was advised to wind down, and no compaction was tried since.',
    }),
    tried: t.field({
      type: CompactionTrigger,
      nullable: true,
      description:
        'Why a compaction was tried last since the last answer of the model, or since another was chosen; null: none was. There is at most one between two answers, and one more by OVERFLOW.',
      resolve: (c) => c.tried,
    }),
    failures: t.exposeInt('failures', {
      description:
        'Compactions tried in this turn that came to nothing, since one came to something. After two the turn goes on without, unless the conversation does not fit at all.',
    }),
  }),
});

export const Checkpoint = builder.objectRef<CheckpointModel>('Checkpoint').implement({
  description: 'The summary that the model is told in the place of older history.',
  fields: (t) => ({
    id: t.exposeID('id', { description: '`Entry.entryId` of its CheckpointEntry.' }),
    revision: t.field({
      type: 'Revision',
      description: 'Revision of its CheckpointEntry.',
      resolve: (c) => c.revision,
    }),
    watermark: t.field({
      type: 'Revision',
      description: 'The model is told the summary in the place of every entry up to here.',
      resolve: (c) => c.watermark,
    }),
  }),
});

export const Context = builder.objectRef<ContextValue>('Context').implement({
  description:
    'How full the context of the model is: what it is told with its next call, of what it can read at once.',
  fields: (t) => ({
    used: t.field({
      type: 'Tokens',
      description: 'Tokens the model is told now: conversation, system prompt and tools.',
      resolve: ({ mark }) => usedOf(mark),
    }),
    window: t.field({
      type: 'Tokens',
      nullable: true,
      description:
        'Tokens it can read at once: those of the chosen model, or of a larger one that answered last in its place; before ' +
        'the first answer, and after another model was chosen, as the chosen one is set up. Null: not known.',
      resolve: ({ mark }) => mark.window,
    }),
    estimated: t.boolean({
      description: 'True while a part of `used` is our estimate, which the provider has not counted yet.',
      resolve: ({ mark }) => isEstimated(mark),
    }),
    warning: t.boolean({
      description: 'True when more than 80 % of the window is used: older history will be summarised soon.',
      resolve: ({ mark }) => isNearlyFull(mark),
    }),
    told: t.field({
      type: 'Tokens',
      description: 'Of `used`, our estimate for the conversation alone.',
      resolve: ({ mark }) => mark.told,
    }),
    overhead: t.field({
      type: 'Tokens',
      description:
        'Of `used`, our estimate for the system prompt and the definitions of the tools; 0: not known yet.',
      resolve: ({ mark }) => mark.overhead,
    }),
    checkpoint: t.field({
      type: Checkpoint,
      nullable: true,
      description: 'The summary the model is told first; null: nothing was summarised.',
      resolve: (c) => c.checkpoint,
    }),
  }),
});
