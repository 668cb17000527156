/** Owns: LifecycleEntry. */
import { Lifecycle } from '../projection.ts';
import { entryInterfaces, entryRef } from './entry.ts';

export const LifecycleEntry = entryRef('LIFECYCLE').implement({
  description: 'The workstream was opened or closed.',
  interfaces: entryInterfaces,
  fields: (t) => ({
    lifecycle: t.field({
      type: Lifecycle,
      description: 'What it is from here on.',
      resolve: (e) => e.entry.lifecycle,
    }),
  }),
});
