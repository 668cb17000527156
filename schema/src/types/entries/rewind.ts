/** Owns: RewindEntry. */
import { Author } from '../author.ts';
import { ContextMark } from '../context.ts';
import { entryInterfaces, entryRef } from './entry.ts';

export const RewindEntry = entryRef('REWIND').implement({
  description:
    'Every entry after `after` and before this one is superseded: the model does not see it any more. Nothing is deleted, ' +
    'and files in the workspace stay as the calls left them. It ends what is said of the last turn: `Projection.turn` is ' +
    'null after it. See `Projection.superseded`.',
  interfaces: entryInterfaces,
  fields: (t) => ({
    after: t.field({
      type: 'Revision',
      description: 'The last entry that stays; 0 when none does.',
      resolve: (e) => e.entry.after,
    }),
    reason: t.string({
      description:
        'What it was for, a word for programs: `REWIND` by rewindWorkstream; `EDIT` by resendMessage and `RETRY` by retryTurn, where a turn begins with the next entry; more may come.',
      resolve: (e) => e.entry.reason,
    }),
    by: t.field({
      type: Author,
      // Not by this server: as `LifecycleEntry.by`, so that both can be selected in one operation.
      nullable: true,
      description: 'Who went back; null would be the server, which does not do that yet.',
      resolve: (e) => e.entry.by,
    }),
    context: t.field({
      type: ContextMark,
      nullable: true,
      description: 'How full the context is with what is left; null in entries of earlier builds.',
      resolve: (e) => e.entry.context ?? null,
    }),
  }),
});
