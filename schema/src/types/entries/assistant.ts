/** Owns: AssistantEntry. */
import { builder } from '../../builder.ts';
import type { Finish as FinishValue, Usage as UsageModel } from '../../projection/index.ts';
import { Call } from '../batch.ts';
import { ContextMark } from '../context.ts';
import { enumOf } from '../enum.ts';
import { entryInterfaces, entryRef } from './entry.ts';

const Finish = enumOf<FinishValue>(
  'Finish',
  'Why the model stopped writing, as the provider says. Calls run because they are there, not because of it.',
  {
    STOP: 'It had nothing more to say.',
    TOOL_CALLS: 'It wants tools to run.',
    LENGTH: 'The answer was cut off at the length limit; its calls were thrown away.',
    CONTENT_FILTER: 'The provider filtered the answer.',
    OTHER: 'Another reason, or none given.',
  },
);

export const Usage = builder.objectRef<UsageModel>('Usage').implement({
  description:
    'Tokens of one model call, as the provider counted them; estimated where it did not and `ModelCall.estimated` says so.',
  fields: (t) => ({
    inputTokens: t.exposeInt('inputTokens', { description: 'Tokens read.' }),
    outputTokens: t.exposeInt('outputTokens', { description: 'Tokens written, reasoning included.' }),
    cachedInputTokens: t.int({
      nullable: true,
      description: 'Of the tokens read: from the provider’s cache; null when it does not say.',
      resolve: (u) => u.cachedInputTokens ?? null,
    }),
    reasoningTokens: t.int({
      nullable: true,
      description: 'Of the tokens written: thinking; null when the provider does not say.',
      resolve: (u) => u.reasoningTokens ?? null,
    }),
  }),
});

export const AssistantEntry = entryRef('ASSISTANT').implement({
  description:
    'A finished answer of the model. When it has calls, a batch is open until each has its TOOL entry.',
  interfaces: entryInterfaces,
  fields: (t) => ({
    text: t.string({ description: 'What the model wrote; may be empty.', resolve: (e) => e.entry.text }),
    reasoning: t.string({
      description: 'What it showed of its reasoning; may be empty.',
      resolve: (e) => e.entry.reasoning,
    }),
    calls: t.field({
      type: [Call],
      description: 'The calls it declared, in order.',
      resolve: (e) => e.entry.calls,
    }),
    finish: t.field({ type: Finish, description: 'Why it stopped writing.', resolve: (e) => e.entry.finish }),
    model: t.string({
      description: 'The model that wrote it, as its provider named it.',
      resolve: (e) => e.entry.model,
    }),
    alias: t.string({
      nullable: true,
      description:
        'Alias of that model: the one the workstream is set to, or one of its fallbacks. Null in entries of earlier builds.',
      resolve: (e) => e.entry.alias ?? null,
    }),
    usage: t.field({
      type: Usage,
      nullable: true,
      description: 'Tokens used; null when the provider did not say.',
      resolve: (e) => e.entry.usage,
    }),
    context: t.field({
      type: ContextMark,
      nullable: true,
      description: 'How full the context is with this answer in it; null in entries of earlier builds.',
      resolve: (e) => e.entry.context ?? null,
    }),
    discarded: t.stringList({
      description:
        'Names of calls that are not run: all of them when the answer was cut off or filtered (`finish` LENGTH or CONTENT_FILTER), else those after the 128th. At most 20 names, then how many more.',
      resolve: (e) => e.entry.discarded,
    }),
  }),
});
