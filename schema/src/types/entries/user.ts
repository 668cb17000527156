/** Owns: UserEntry. */
import { Author } from '../author.ts';
import { entryInterfaces, entryRef } from './entry.ts';

export const UserEntry = entryRef('USER').implement({
  description: 'A message to the model from a person, or in the place of one.',
  interfaces: entryInterfaces,
  fields: (t) => ({
    text: t.string({ description: 'What was written.', resolve: (e) => e.entry.text }),
    author: t.field({ type: Author, description: 'Who wrote it.', resolve: (e) => e.entry.author }),
    source: t.string({
      description:
        'How it came about, a word for programs: `MESSAGE` begins a turn, `STEER` was said while the turn ran (sendMessage with delivery STEER), `FEEDBACK` came with a decision about an approval, `COMPACTION_RESUME` is by the server, which tells the model to go on after a summary (author is who the turn runs for); more may come.',
      resolve: (e) => e.entry.source,
    }),
  }),
});
