/** Owns: LifecycleEntry. */
import { Author } from '../author.ts';
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
    by: t.field({
      type: Author,
      nullable: true,
      description: 'Who made, opened or closed it; null: the server.',
      resolve: (e) => e.entry.by,
    }),
  }),
});
