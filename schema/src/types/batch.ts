/** Owns: calls the model declared, and the open batch of them. */
import { builder } from '../builder.ts';
import type {
  Batch as BatchModel,
  BatchCall as BatchCallModel,
  Call as CallModel,
} from '../projection/index.ts';
import { ToolResult } from './tool-result.ts';

export const Call = builder.objectRef<CallModel>('Call').implement({
  description: 'One call of a tool that the model declared.',
  fields: (t) => ({
    callId: t.exposeID('callId', {
      description: 'Our id of the call, unique over everything; the only one the API takes.',
    }),
    providerId: t.exposeString('providerId', {
      description: 'What the model provider called it; not unique.',
    }),
    name: t.exposeString('name', { description: 'Name of the tool, as the model wrote it.' }),
    arguments: t.exposeString('arguments', {
      description: 'The arguments as the model wrote them: JSON text, not necessarily valid.',
    }),
  }),
});

const BatchCall = builder.objectRef<BatchCallModel>('BatchCall').implement({
  description: 'A call of the open batch, and how far it has come.',
  fields: (t) => ({
    call: t.field({ type: Call, description: 'The call.', resolve: (c) => c.call }),
    started: t.exposeBoolean('started', { description: 'True once it may have begun to run.' }),
    result: t.field({
      type: ToolResult,
      nullable: true,
      description: 'How it ended; null until then.',
      resolve: (c) => c.result,
    }),
  }),
});

export const Batch = builder.objectRef<BatchModel>('Batch').implement({
  description:
    'The calls of one answer, from its ASSISTANT entry until a TOOL entry has answered each of them.',
  fields: (t) => ({
    messageId: t.exposeID('messageId', {
      description: '`Entry.entryId` of the ASSISTANT entry that declared them.',
    }),
    calls: t.field({
      type: [BatchCall],
      description: 'The calls without a TOOL entry, in the order the model declared them.',
      resolve: (b) => b.calls,
    }),
  }),
});
