/** Owns: ToolStartedEntry. */
import { entryInterfaces, entryRef } from './entry.ts';

export const ToolStartedEntry = entryRef('TOOL_STARTED').implement({
  description:
    'A call is about to run. Written and safe before it does, so that a lost call is never taken for one that did not start.',
  interfaces: entryInterfaces,
  fields: (t) => ({
    callId: t.id({ description: 'The call.', resolve: (e) => e.entry.callId }),
    name: t.string({ description: 'Name of the tool.', resolve: (e) => e.entry.name }),
  }),
});
