/** Owns: ToolSettledEntry. */
import { ToolResult } from '../tool-result.ts';
import { entryInterfaces, entryRef } from './entry.ts';

export const ToolSettledEntry = entryRef('TOOL_SETTLED').implement({
  description:
    'A call ended. The model sees its result only with the TOOL entry, once the whole batch has ended.',
  interfaces: entryInterfaces,
  fields: (t) => ({
    callId: t.id({ description: 'The call.', resolve: (e) => e.entry.callId }),
    name: t.string({ description: 'Name of the tool.', resolve: (e) => e.entry.name }),
    result: t.field({ type: ToolResult, description: 'How it ended.', resolve: (e) => e.entry.result }),
  }),
});
