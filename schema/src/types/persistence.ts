/** Owns: how storing is going. */
import { builder } from '../builder.ts';
import type { Persistence as PersistenceModel } from '../projection/index.ts';
import { enumOf } from './enum.ts';

const PersistenceStatus = enumOf<PersistenceModel['status']>('PersistenceStatus', 'How storing is going.', {
  HEALTHY: 'Everything accepted is committed.',
  PENDING: 'Accepted entries wait for the database, which has not refused.',
  RETRYING: 'The database is away; pending entries are tried again. Nothing is lost, nothing new is begun.',
  CONFLICT: 'The database refuses the data. Nothing is retried; an operator is needed.',
});

export const Persistence = builder.objectRef<PersistenceModel>('Persistence').implement({
  description: 'How storing is going.',
  fields: (t) => ({
    status: t.field({ type: PersistenceStatus, description: 'How it is going.', resolve: (p) => p.status }),
    nextAttemptAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the database is tried next; only with RETRYING.',
      resolve: (p) => ('nextAttemptAt' in p ? p.nextAttemptAt : null),
    }),
    message: t.string({
      nullable: true,
      description: 'What is wrong, for a person; only with RETRYING and CONFLICT.',
      resolve: (p) => ('message' in p ? p.message : null),
    }),
  }),
});
