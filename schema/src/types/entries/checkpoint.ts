/** Owns: CheckpointEntry. */
import { builder } from '../../builder.ts';
import type { CarriedRequest as CarriedRequestModel } from '../../projection/index.ts';
import { Author } from '../author.ts';
import { ContextMark } from '../context.ts';
import { CompactionTrigger } from '../turn.ts';
import { entryInterfaces, entryRef } from './entry.ts';

const CarriedRequest = builder.objectRef<CarriedRequestModel>('CarriedRequest').implement({
  description:
    'A request that is still being worked on, word for word, where the message itself is summarised.',
  fields: (t) => ({
    messageId: t.exposeID('messageId', {
      description:
        '`Entry.entryId` of the latest message of it; in a fork, of the workstream it was taken from.',
    }),
    text: t.exposeString('text', {
      description: 'What was asked for; the middle of a very long one is left out, and it says so.',
    }),
    author: t.field({ type: Author, description: 'Who asked.', resolve: (r) => r.author }),
  }),
});

export const CheckpointEntry = entryRef('CHECKPOINT').implement({
  description:
    'Older history was summarised: from here on the model is told `summary` in the place of every entry up to `watermark`. ' +
    'Nothing is deleted: `history` still has these entries. What lies up to the watermark cannot be taken back any more; ' +
    'fork at that place instead. It holds whatever a rewind takes back, also when it lies in a superseded span.',
  interfaces: entryInterfaces,
  fields: (t) => ({
    summary: t.string({
      description: 'What the model is told of what was summarised. Written by a model.',
      resolve: (e) => e.entry.summary,
    }),
    watermark: t.field({
      type: 'Revision',
      description: 'The last entry that is summarised, with all before it.',
      resolve: (e) => e.entry.watermark,
    }),
    request: t.field({
      type: CarriedRequest,
      nullable: true,
      description:
        'What the model is told beside the summary: what it is working on. Null: nothing was being worked on, or its message is not summarised.',
      resolve: (e) => e.entry.request,
    }),
    trigger: t.field({
      type: CompactionTrigger,
      description: 'Why it was summarised.',
      resolve: (e) => e.entry.trigger,
    }),
    tokensBefore: t.field({
      type: 'Tokens',
      description: 'Tokens the model was told before it.',
      resolve: (e) => e.entry.before,
    }),
    tokensAfter: t.field({
      type: 'Tokens',
      description: 'Tokens the model is told after it.',
      resolve: (e) => e.entry.after,
    }),
    model: t.string({
      description: 'The model that wrote the summary, as its provider named it.',
      resolve: (e) => e.entry.model,
    }),
    alias: t.string({
      // Never: as `AssistantEntry.alias`, so that both can be selected in one operation.
      nullable: true,
      description: 'Alias of that model.',
      resolve: (e) => e.entry.alias,
    }),
    context: t.field({
      type: ContextMark,
      // Never: as `AssistantEntry.context`.
      nullable: true,
      description: 'How full the context is with the summary in it.',
      resolve: (e) => e.entry.context,
    }),
  }),
});
