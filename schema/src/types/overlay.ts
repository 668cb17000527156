/** Owns: what is visible and never an entry. */
import { builder } from '../builder.ts';
import type { Overlay as OverlayModel } from '../projection/index.ts';

const OverlayMessage = builder.objectRef<NonNullable<OverlayModel['message']>>('OverlayMessage').implement({
  description: 'The answer that is being written. An entry with `entryId` equal to `id` takes its place.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the message; each attempt has another.' }),
    turnId: t.exposeID('turnId', { description: 'The turn it belongs to.' }),
    text: t.exposeString('text', { description: 'The text so far.' }),
    reasoning: t.exposeString('reasoning', {
      description: 'The reasoning so far; empty when the model shows none.',
    }),
  }),
});

interface ToolOutput {
  readonly callId: string;
  readonly offset: number;
  readonly text: string;
}

const OverlayTool = builder.objectRef<ToolOutput>('OverlayTool').implement({
  description: 'What a running call has put out so far, or the tail of it.',
  fields: (t) => ({
    callId: t.exposeID('callId', { description: 'The call.' }),
    offset: t.exposeInt('offset', {
      description:
        'Where `text` begins in the whole output, in UTF-16 code units; above 0 when only a tail is kept.',
    }),
    text: t.exposeString('text', {
      description: 'The output from `offset` on, at most 65,536 UTF-16 code units.',
    }),
  }),
});

export const Overlay = builder.objectRef<OverlayModel>('Overlay').implement({
  description:
    'What is visible now and never becomes part of the journal as it is. Lost with the process, and sent anew.',
  fields: (t) => ({
    message: t.field({
      type: OverlayMessage,
      nullable: true,
      description: 'The answer that is being written; null when none is.',
      resolve: (o) => o.message,
    }),
    tools: t.field({
      type: [OverlayTool],
      description: 'Output of the running calls, one item for each call that has any.',
      resolve: (o) => Object.entries(o.tools).map(([callId, output]) => ({ callId, ...output })),
    }),
  }),
});
