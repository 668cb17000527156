/** Owns: SystemEntry. */
import { entryInterfaces, entryRef } from './entry.ts';

export const SystemEntry = entryRef('SYSTEM').implement({
  description: 'A message to the model from the server.',
  interfaces: entryInterfaces,
  fields: (t) => ({
    text: t.string({ description: 'What the model is told.', resolve: (e) => e.entry.text }),
    source: t.string({
      description:
        'What part of the server says it, a word for programs: `COMPACTION_ADVICE` advises the model to wind down, because its context is nearly full; more may come.',
      resolve: (e) => e.entry.source,
    }),
  }),
});
