/** Owns: WatchEntry. */
import { WatchRecord } from '../watch-record.ts';
import { entryInterfaces, entryRef } from './entry.ts';

export const WatchEntry = entryRef('WATCH').implement({
  description:
    'A watch was made, edited, paused, resumed, made due or ended, or what it said was written down (then the SystemEntry before it has that).',
  interfaces: entryInterfaces,
  fields: (t) => ({
    watch: t.field({
      type: WatchRecord,
      description: 'The watch from here on.',
      resolve: (e) => e.entry.watch,
    }),
  }),
});
