/** Owns: Origin on the wire: where a fork was taken from. */
import { builder } from '../builder.ts';
import type { Origin as OriginModel } from '../projection/index.ts';
import { workstreamGlobalId } from './global-id.ts';

export const Origin = builder.objectRef<OriginModel>('Origin').implement({
  description: 'Where a fork was taken from, as it was then. The source may have changed since, or be gone.',
  fields: (t) => ({
    workstreamId: t.id({
      description: 'Global id of the source; `Query.workstream` answers null when it was deleted since.',
      resolve: (o) => workstreamGlobalId(o.workstreamId),
    }),
    title: t.exposeString('title', { description: 'Title the source had.' }),
    revision: t.field({
      type: 'Revision',
      description: 'The last entry of the source that was taken into account.',
      resolve: (o) => o.revision,
    }),
  }),
});
