/** Owns: ApprovalEntry. */
import { ApprovalCycle } from '../approval-cycle.ts';
import { entryInterfaces, entryRef } from './entry.ts';

export const ApprovalEntry = entryRef('APPROVAL').implement({
  description: 'An approval cycle was opened, an item of it decided, or it was superseded.',
  interfaces: entryInterfaces,
  fields: (t) => ({
    cycle: t.field({
      type: ApprovalCycle,
      description: 'The cycle from here on.',
      resolve: (e) => e.entry.cycle,
    }),
  }),
});
