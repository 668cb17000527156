/** Owns: CancellationEntry. */
import { entryInterfaces, entryRef } from './entry.ts';

export const CancellationEntry = entryRef('CANCELLATION').implement({
  description:
    'What there was of an answer that was not finished. Its `entryId` is the id the open message had.',
  interfaces: entryInterfaces,
  fields: (t) => ({
    text: t.string({ description: 'The text as far as it came.', resolve: (e) => e.entry.text }),
    reasoning: t.string({
      description: 'The reasoning as far as it came.',
      resolve: (e) => e.entry.reasoning,
    }),
    reason: t.string({
      description:
        'A word for programs: `STOPPED` by stopTurn, `FAILED` because the model call broke; more may come.',
      resolve: (e) => e.entry.reason,
    }),
  }),
});
