/** Owns: ForkEntry. */
import { Origin } from '../origin.ts';
import { entryInterfaces, entryRef } from './entry.ts';

export const ForkEntry = entryRef('FORK').implement({
  description:
    'The workstream was forked from another one. The conversation entries between this one and the first TurnEntry are ' +
    'copies, with ids of their own: what the model saw of the source at that place.',
  interfaces: entryInterfaces,
  fields: (t) => ({
    origin: t.field({
      type: Origin,
      description: 'Where it was taken from.',
      resolve: (e) => e.entry.origin,
    }),
  }),
});
