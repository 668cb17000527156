/** Owns: asking for a summary of older history. */
import { builder } from '../builder.ts';
import type { CompactWorkstreamOutcome } from '../services.ts';
import { Accepted } from './durability.ts';
import { onWorkstream } from './global-id.ts';
import { Busy, commandRefusals, NothingToCompact, resultOf } from './rejection.ts';

const CompactWorkstreamInput = builder.inputType('CompactWorkstreamInput', {
  description: 'What to summarise.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: 'Global id of the workstream.' }),
  }),
});

type Compacted = Extract<CompactWorkstreamOutcome, { type: 'Accepted' }>;
const CompactWorkstreamPayload = builder.objectRef<Compacted>('CompactWorkstreamPayload').implement({
  description: 'A turn of kind COMPACT runs, on the credentials of the caller.',
  interfaces: [Accepted],
  fields: (t) => ({
    turnId: t.exposeID('turnId', {
      description:
        'The turn. It has COMPLETED when the CheckpointEntry is there, FAILED when no summary came of it, and `stopTurn` ends it.',
    }),
  }),
});

builder.mutationField('compactWorkstream', (t) =>
  t.field({
    type: resultOf<CompactWorkstreamOutcome>('compactWorkstream', CompactWorkstreamPayload, {
      ...commandRefusals,
      BUSY: Busy,
      NOTHING_TO_COMPACT: NothingToCompact,
    }),
    description:
      'Summarises older history now, to make room in the context of the model: a model writes the summary, which the model ' +
      'is told from then on in the place of what is summarised. The server does that by itself when the context is nearly ' +
      'full. Nothing is deleted, and what is summarised cannot be taken back any more (see CheckpointEntry). Answers when it ' +
      'has begun, before any model is asked: follow the feed. BUSY: a turn runs; wait for its end, or stop it. ' +
      'NOTHING_TO_COMPACT: the conversation is too short, or nothing came since it was summarised.',
    args: {
      input: t.arg({ type: CompactWorkstreamInput, required: true, description: 'What to summarise.' }),
    },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.workstreams.compact(viewer, { ...input, workstreamId }),
      ),
  }),
);
