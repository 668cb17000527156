/** Owns: RecoveryEntry. */
import { entryInterfaces, entryRef } from './entry.ts';

export const RecoveryEntry = entryRef('RECOVERY').implement({
  description:
    'The workstream was carried on after the process that ran it was lost, or after entries that could not be stored were ' +
    'discarded.',
  interfaces: entryInterfaces,
  fields: (t) => ({
    reason: t.string({
      description:
        'Why it was needed, a word for programs: `DISCARDED` by discardUnsaved; others after a lost process.',
      resolve: (e) => e.entry.reason,
    }),
    message: t.string({
      description: 'One sentence for a person: what was lost and how it goes on.',
      resolve: (e) => e.entry.message,
    }),
  }),
});
