/** Owns: Configuration on the wire, and changing it. */
import { builder } from '../builder.ts';
import type { ApprovalMode as Mode, Configuration as ConfigurationModel } from '../projection/index.ts';
import type { ConfigureWorkstreamOutcome } from '../services.ts';
import { Author } from './author.ts';
import { Accepted } from './durability.ts';
import { enumOf } from './enum.ts';
import { onWorkstream } from './global-id.ts';
import { commandRefusals, resultOf } from './rejection.ts';

export const ApprovalMode = enumOf<Mode>(
  'ApprovalMode',
  'What a person is asked about. Calls that only look are never asked about; what a mode answers in place of a person is recorded as an approval with that source.',
  {
    ASK: 'A person is asked before every call that changes something.',
    TRUST_WORKSPACE: 'Edits of files in the workspace run unasked; a person is asked before every command.',
    TRUST_ALL:
      'Nothing is asked: the model runs any command with the rights of the server. Warn whoever chooses it.',
  },
);

export const Configuration = builder.objectRef<ConfigurationModel>('Configuration').implement({
  description: 'What a workstream is set to.',
  fields: (t) => ({
    title: t.exposeString('title', { description: 'Name for people, at most 200 characters.' }),
    model: t.exposeString('model', {
      description: 'Alias of the model that serves the next call; see `Query.models`.',
    }),
    workspace: t.exposeString('workspace', {
      description: 'Absolute path, on the server, of the folder the tools work in.',
    }),
    approvalMode: t.field({
      type: ApprovalMode,
      description: 'What a person is asked about, for calls that are prepared from now on.',
      resolve: (c) => c.approvalMode,
    }),
    approvalModeBy: t.field({
      type: Author,
      description: 'Who set the mode: whose word it is when it answers in place of a person.',
      resolve: (c) => c.approvalModeBy,
    }),
  }),
});

const ConfigureWorkstreamInput = builder.inputType('ConfigureWorkstreamInput', {
  description: 'What to set.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: 'Global id of the workstream.' }),
    approvalMode: t.field({ type: ApprovalMode, description: 'What to ask about; null: as it is.' }),
  }),
});

type Configured = Extract<ConfigureWorkstreamOutcome, { type: 'Accepted' }>;
const ConfigureWorkstreamPayload = builder.objectRef<Configured>('ConfigureWorkstreamPayload').implement({
  description: 'The workstream is set so.',
  interfaces: [Accepted],
  fields: (t) => ({
    configuration: t.field({
      type: Configuration,
      description: 'All settings, the unchanged ones included.',
      resolve: (p) => p.configuration,
    }),
  }),
});

builder.mutationField('configureWorkstream', (t) =>
  t.field({
    type: resultOf<ConfigureWorkstreamOutcome>(
      'configureWorkstream',
      ConfigureWorkstreamPayload,
      commandRefusals,
    ),
    description:
      'Changes settings of a workstream, also while a turn runs. A mode counts for calls that are prepared from then on: ' +
      'what a person is asked already stays a question. Setting what is set already changes nothing, also not who set it. ' +
      'Answers when that is safe.',
    args: { input: t.arg({ type: ConfigureWorkstreamInput, required: true, description: 'What to set.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.workstreams.configure(viewer, {
          key: input.key,
          workstreamId,
          approvalMode: input.approvalMode ?? null,
        }),
      ),
  }),
);
