/** Owns: ToolEntry. */
import { ToolEffect, ToolOutcome } from '../tool-result.ts';
import { entryInterfaces, entryRef } from './entry.ts';

export const ToolEntry = entryRef('TOOL').implement({
  description:
    'The answer to one call, as the model sees it. Each declared call gets exactly one, in call order.',
  interfaces: entryInterfaces,
  fields: (t) => ({
    callId: t.id({ description: 'The call it answers.', resolve: (e) => e.entry.callId }),
    name: t.string({ description: 'Name of the tool.', resolve: (e) => e.entry.name }),
    outcome: t.field({
      type: ToolOutcome,
      description: 'How the call ended.',
      resolve: (e) => e.entry.outcome,
    }),
    effect: t.field({
      type: ToolEffect,
      description: 'What it did to the world.',
      resolve: (e) => e.entry.effect,
    }),
    content: t.string({
      description: 'What the model is told: text, possibly shortened, and saying so where it is.',
      resolve: (e) => e.entry.content,
    }),
  }),
});
