/** Owns: how a call ended. */
import { builder } from '../builder.ts';
import type { ToolEffect as Effect, ToolResult as ToolResultModel } from '../projection/index.ts';
import { enumOf } from './enum.ts';

export const ToolOutcome = enumOf<ToolResultModel['outcome']>('ToolOutcome', 'How a call ended.', {
  OK: 'The tool says that it worked.',
  ERROR: 'The tool says that it failed.',
  DENIED: 'A person said no; it did not run.',
  CANCELED: 'It did not run to an end, because the turn was stopped or its process was lost.',
});

export const ToolEffect = enumOf<Effect>('ToolEffect', 'What a call did to the world.', {
  NONE: 'Provably nothing.',
  COMMITTED: 'What it was to do.',
  PARTIAL: 'A part of it.',
  ROLLED_BACK: 'It was undone.',
  UNKNOWN: 'Not observed: it may have done all, a part or nothing.',
});

export const ToolResult = builder.objectRef<ToolResultModel>('ToolResult').implement({
  description: 'How a call ended, and what the model is told of it.',
  fields: (t) => ({
    outcome: t.field({ type: ToolOutcome, description: 'How it ended.', resolve: (r) => r.outcome }),
    effect: t.field({ type: ToolEffect, description: 'What it did to the world.', resolve: (r) => r.effect }),
    content: t.exposeString('content', {
      description: 'What the model is told: text, possibly shortened, and saying so where it is.',
    }),
  }),
});
