/** Owns: forking a workstream. */
import { builder } from '../builder.ts';
import type { ForkWorkstreamOutcome } from '../services.ts';
import { onWorkstream } from './global-id.ts';
import {
  InvalidInput,
  KeyReused,
  resultOf,
  ShuttingDown,
  StorageUnavailable,
  WorkstreamNotFound,
} from './rejection.ts';
import { createdPayload } from './workstream.ts';

const ForkWorkstreamInput = builder.inputType('ForkWorkstreamInput', {
  description: 'What to fork, and where.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: 'Global id of the source, open or closed.' }),
    revision: t.field({
      type: 'Revision',
      description: 'The last entry of the source to take into account; null: the last committed one.',
    }),
    title: t.string({
      description: 'Name for people, at most 200 characters; null: the server names it after the source.',
    }),
    workspace: t.string({
      description:
        'Absolute path, on the server, of an existing folder under one of `Server.workspaceRoots`; null: the folder of the ' +
        'source, which both then work in.',
    }),
  }),
});

const ForkWorkstreamPayload = createdPayload(
  'ForkWorkstreamPayload',
  'The fork was made. Its `origin` says where it came from.',
);

builder.mutationField('forkWorkstream', (t) =>
  t.field({
    type: resultOf<ForkWorkstreamOutcome>('forkWorkstream', ForkWorkstreamPayload, {
      INVALID_INPUT: InvalidInput,
      KEY_REUSED: KeyReused,
      SHUTTING_DOWN: ShuttingDown,
      STORAGE_UNAVAILABLE: StorageUnavailable,
      WORKSTREAM_NOT_FOUND: WorkstreamNotFound,
    }),
    description:
      'Makes a workstream, open and idle, that begins with the conversation another one had at a place of its journal. The ' +
      'source is only read, may be closed, and may be in the middle of a turn. A call is copied with its ' +
      'result or, with all that came after it, not at all; turns, questions and the queue are not copied; files stay as they ' +
      'are. Its approval mode is ASK: trust is not inherited. Answers when it is safe and can be found; a failure leaves nothing behind, nor does a caller who goes away before. ' +
      'INVALID_INPUT names the field: a revision that is not committed or not there, a folder that is missing or outside of ' +
      'the allowed roots, a title too long.',
    args: { input: t.arg({ type: ForkWorkstreamInput, required: true, description: 'What to fork.' }) },
    resolve: (
      _root,
      { input: { key, workstreamId: source, revision, title, workspace } },
      { services, viewer, caller },
    ) =>
      onWorkstream(source, (workstreamId) =>
        services.workstreams.fork(
          viewer,
          {
            key,
            workstreamId,
            revision: revision ?? null,
            title: title ?? null,
            workspace: workspace ?? null,
          },
          caller,
        ),
      ),
  }),
);
