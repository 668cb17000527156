/** Owns: SystemEntry. */
import { Fire } from '../watch-record.ts';
import { entryInterfaces, entryRef } from './entry.ts';

export const SystemEntry = entryRef('SYSTEM').implement({
  description: 'A message to the model from the server.',
  interfaces: entryInterfaces,
  fields: (t) => ({
    text: t.string({ description: 'What the model is told.', resolve: (e) => e.entry.text }),
    source: t.string({
      description:
        'What part of the server says it, a word for programs: `COMPACTION_ADVICE` advises the model to wind down, because its context is nearly full, `WATCH` tells it what a watch has said (`fire`); more may come.',
      resolve: (e) => e.entry.source,
    }),
    fire: t.field({
      type: Fire,
      nullable: true,
      description:
        'WATCH: what the watch has said, in parts, to show in place of `text`; null with any other source.',
      resolve: (e) => e.entry.fire ?? null,
    }),
  }),
});
