/** Owns: closing, opening and deleting a workstream, and when each of them answers (D-23, D-25). */
import { builder } from '../builder.ts';
import type { CloseWorkstreamOutcome, DeleteWorkstreamOutcome, OpenWorkstreamOutcome } from '../services.ts';
import { Accepted } from './durability.ts';
import { onWorkstream, workstreamGlobalId } from './global-id.ts';
import { Lifecycle } from './projection.ts';
import { JournalUnsettled, lifecycleRefusals, resultOf } from './rejection.ts';

const workstreamIdText = 'Global id of the workstream.';

const CloseWorkstreamInput = builder.inputType('CloseWorkstreamInput', {
  description: 'What to close.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: workstreamIdText }),
  }),
});

type Closed = Extract<CloseWorkstreamOutcome, { type: 'Accepted' }>;
const CloseWorkstreamPayload = builder.objectRef<Closed>('CloseWorkstreamPayload').implement({
  description: 'The workstream is closed, and nothing of it runs.',
  interfaces: [Accepted],
  fields: (t) => ({
    lifecycle: t.field({
      type: Lifecycle,
      description: 'What it was when this was accepted: CLOSED.',
      resolve: (p) => p.lifecycle,
    }),
  }),
});

builder.mutationField('closeWorkstream', (t) =>
  t.field({
    type: resultOf<CloseWorkstreamOutcome>('closeWorkstream', CloseWorkstreamPayload, {
      ...lifecycleRefusals,
      JOURNAL_UNSETTLED: JournalUnsettled,
    }),
    description:
      'Stops what runs and closes the workstream: it can be read, followed, found and forked, and takes no commands until ' +
      '`openWorkstream`. What waits in its queue is kept, held. Answers when that is safe: it waits for the turn to stop, at ' +
      'most 10 s (then the turn is settled as by `stopTurn` with `force`), and for the database, 2 s before that and 2 s ' +
      'after. Meanwhile other commands answer CLOSING. JOURNAL_UNSETTLED: what it accepted could not be stored, so it stays ' +
      'OPEN; if that shows before the turn is stopped, nothing is touched. Closing a closed one is accepted and changes nothing.',
    args: { input: t.arg({ type: CloseWorkstreamInput, required: true, description: 'What to close.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.workstreams.close(viewer, { ...input, workstreamId }),
      ),
  }),
);

const OpenWorkstreamInput = builder.inputType('OpenWorkstreamInput', {
  description: 'What to open.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: workstreamIdText }),
  }),
});

type Opened = Extract<OpenWorkstreamOutcome, { type: 'Accepted' }>;
const OpenWorkstreamPayload = builder.objectRef<Opened>('OpenWorkstreamPayload').implement({
  description: 'The workstream takes commands.',
  interfaces: [Accepted],
  fields: (t) => ({
    lifecycle: t.field({
      type: Lifecycle,
      description: 'What it was when this was accepted: OPEN.',
      resolve: (p) => p.lifecycle,
    }),
  }),
});

builder.mutationField('openWorkstream', (t) =>
  t.field({
    type: resultOf<OpenWorkstreamOutcome>('openWorkstream', OpenWorkstreamPayload, lifecycleRefusals),
    description:
      'Opens a closed workstream. No turn starts: messages that waited when it was closed wait on, until `resumeQueue` or the ' +
      'next message. Answers when that is safe. Opening an open one is accepted and changes nothing.',
    args: { input: t.arg({ type: OpenWorkstreamInput, required: true, description: 'What to open.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.workstreams.open(viewer, { ...input, workstreamId }),
      ),
  }),
);

const DeleteWorkstreamInput = builder.inputType('DeleteWorkstreamInput', {
  description: 'What to delete.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: workstreamIdText }),
  }),
});

type Deleted = Extract<DeleteWorkstreamOutcome, { type: 'Accepted' }>;
const DeleteWorkstreamPayload = builder.objectRef<Deleted>('DeleteWorkstreamPayload').implement({
  description: 'The workstream is gone, with its whole history.',
  interfaces: [Accepted],
  fields: (t) => ({
    workstreamId: t.id({
      description: 'Global id it had; it never names anything again.',
      resolve: (p) => workstreamGlobalId(p.workstreamId),
    }),
    workspaceKept: t.exposeString('workspaceKept', {
      nullable: true,
      description:
        'Absolute path, on the server, of the folder that was made for it, or for the workstream that it or its source is a ' +
        'fork of, and is left, because files are in it or another workstream works in its own; null when none is left. A folder that was named when it was made is never touched, and not told of here.',
    }),
  }),
});

builder.mutationField('deleteWorkstream', (t) =>
  t.field({
    type: resultOf<DeleteWorkstreamOutcome>('deleteWorkstream', DeleteWorkstreamPayload, lifecycleRefusals),
    description:
      'Deletes a workstream, open or closed, with its whole history, for good: ask the person first. Stops what runs. Files ' +
      'are kept; so are forks of it. Answers when it is gone: it waits for the turn to stop, at most 10 s (then it goes on ' +
      'all the same), and for the database. Meanwhile other commands answer CLOSING. Feeds of it end with `Ended`, not ' +
      'resumable, and `workstreamStates` says `WorkstreamDeleted`, once.',
    args: { input: t.arg({ type: DeleteWorkstreamInput, required: true, description: 'What to delete.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.workstreams.delete(viewer, { ...input, workstreamId }),
      ),
  }),
);
