/** Owns: how storing is going, and giving up what cannot be stored. */
import { builder } from '../builder.ts';
import type { Persistence as PersistenceModel } from '../projection/index.ts';
import type { DiscardUnsavedOutcome } from '../services.ts';
import { Accepted } from './durability.ts';
import { enumOf } from './enum.ts';
import { onWorkstream } from './global-id.ts';
import { commandRefusals, NothingToDiscard, resultOf } from './rejection.ts';

export const PersistenceStatus = enumOf<PersistenceModel['status']>(
  'PersistenceStatus',
  'How storing is going.',
  {
    HEALTHY: 'Everything accepted is committed.',
    PENDING: 'Accepted entries wait for the database, which has not refused.',
    RETRYING: 'The database is away; pending entries are tried again. Nothing is lost, nothing new is begun.',
    CONFLICT:
      'The database refuses the data. Nothing is retried, and commands answer UNSAVED_CONFLICT until somebody calls ' +
      '`discardUnsaved`.',
  },
);

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

const DiscardUnsavedInput = builder.inputType('DiscardUnsavedInput', {
  description: 'Where to give up what cannot be stored.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: 'Global id of the workstream.' }),
  }),
});

type Dropped = Extract<DiscardUnsavedOutcome, { type: 'Accepted' }>;
const DiscardUnsavedPayload = builder.objectRef<Dropped>('DiscardUnsavedPayload').implement({
  description: 'What could not be stored is gone, and the workstream takes commands again.',
  interfaces: [Accepted],
  fields: (t) => ({
    discarded: t.exposeInt('discarded', { description: 'How many entries were shown and are gone.' }),
  }),
});

builder.mutationField('discardUnsaved', (t) =>
  t.field({
    type: resultOf<DiscardUnsavedOutcome>('discardUnsaved', DiscardUnsavedPayload, {
      ...commandRefusals,
      NOTHING_TO_DISCARD: NothingToDiscard,
    }),
    description:
      'Gives up the entries that the database refuses to store (persistence CONFLICT): the workstream goes on from its last ' +
      'committed entry, in a new epoch. Followers get `EpochStarted`; commands that waited answer DISCARDED; a ' +
      'RecoveryEntry records it. What calls did to the world stays done. Answers when that is safe. NOTHING_TO_DISCARD: ' +
      'nothing was refused; entries that only wait for the database are kept.',
    args: { input: t.arg({ type: DiscardUnsavedInput, required: true, description: 'Where.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.workstreams.discardUnsaved(viewer, { ...input, workstreamId }),
      ),
  }),
);
