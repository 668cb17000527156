/** Owns: RecoveryEntry. */
import { entryInterfaces, entryRef } from './entry.ts';

export const RecoveryEntry = entryRef('RECOVERY').implement({
  description: 'The workstream was carried on after the process that ran it was lost.',
  interfaces: entryInterfaces,
  fields: (t) => ({
    reason: t.string({
      description: 'Why it was needed, a word for programs.',
      resolve: (e) => e.entry.reason,
    }),
    message: t.string({
      description: 'One sentence for a person: what was lost and how it goes on.',
      resolve: (e) => e.entry.message,
    }),
  }),
});
