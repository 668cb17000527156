/** Owns: TurnEntry. */
import { Turn } from '../turn.ts';
import { entryInterfaces, entryRef } from './entry.ts';

export const TurnEntry = entryRef('TURN').implement({
  description: 'A turn began, changed its phase, was carried on, or settled.',
  interfaces: entryInterfaces,
  fields: (t) => ({
    turn: t.field({ type: Turn, description: 'The turn from here on.', resolve: (e) => e.entry.turn }),
  }),
});
