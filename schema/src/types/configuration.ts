/** Owns: Configuration on the wire, and changing it. */
import { builder } from '../builder.ts';
import type {
  ApprovalMode as Mode,
  Configuration as ConfigurationModel,
  Effort as EffortValue,
} from '../projection/index.ts';
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

export const Effort = enumOf<EffortValue>(
  'Effort',
  'How hard a model is asked to think. One that a model does not know is rounded up to the next that it does.',
  {
    NONE: 'Not at all, where the model can do without.',
    MINIMAL: 'As little as it can.',
    LOW: 'A little.',
    MEDIUM: 'The middle.',
    HIGH: 'Much.',
    XHIGH: 'As much as it can.',
  },
);

export const TitleSource = enumOf<ConfigurationModel['titleSource']>(
  'TitleSource',
  'Who gave a workstream its title. One that a person gave is never overtaken by the server.',
  {
    DEFAULT: 'Nobody yet: the server names it once the first exchange is complete.',
    GENERATED: 'The server: after the first exchange, or, of a fork, after its source.',
    PERSON: 'A person, by `createWorkstream`, `forkWorkstream` or `configureWorkstream`.',
  },
);

export const Configuration = builder.objectRef<ConfigurationModel>('Configuration').implement({
  description: 'What a workstream is set to.',
  fields: (t) => ({
    title: t.exposeString('title', { description: 'Name for people, at most 200 characters.' }),
    titleSource: t.field({
      type: TitleSource,
      description: 'Who gave the title.',
      resolve: (c) => c.titleSource,
    }),
    model: t.exposeString('model', {
      description: 'Alias of the model that serves the next call; see `Query.models`.',
    }),
    temperature: t.float({
      nullable: true,
      description: 'How freely the model chooses its words, from 0 to 2; null: as the model is set up.',
      resolve: (c) => c.temperature ?? null,
    }),
    effort: t.field({
      type: Effort,
      nullable: true,
      description: 'How hard the model is asked to think; null: as the model is set up.',
      resolve: (c) => c.effort ?? null,
    }),
    instructions: t.string({
      nullable: true,
      description:
        'What the model is told about this workstream beside what all are told, at most 20,000 characters; null: nothing. ' +
        '`Workstream.systemPrompt` has all of it.',
      resolve: (c) => c.instructions ?? null,
    }),
    tokenBudget: t.int({
      nullable: true,
      description:
        'Tokens, read and written, that may be spent before a person is asked for more (an approval cycle of kind BUDGET); null: any number.',
      resolve: (c) => c.tokenBudget ?? null,
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

/** The bounds of what a workstream may be given to be made or set. */
export const instructionsText =
  'What to tell the model about this workstream with each call, in the system prompt; at most 20,000 characters.';
export const tokenBudgetText =
  'Tokens, read and written, that may be spent in all before a person is asked for more; 1,000 or more. It counts what was ' +
  'spent before it was set, too.';

const ModelChoiceInput = builder.inputType('ModelChoiceInput', {
  description: 'A model and how it is to answer; takes the place of the whole choice there is.',
  fields: (t) => ({
    alias: t.string({ required: true, description: 'Alias of the model; see `Query.models`.' }),
    temperature: t.float({ description: 'From 0 to 2; null: as the model is set up.' }),
    effort: t.field({ type: Effort, description: 'How hard to think; null: as the model is set up.' }),
  }),
});

const ConfigureWorkstreamInput = builder.inputType('ConfigureWorkstreamInput', {
  description: 'What to set.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: 'Global id of the workstream.' }),
    title: t.string({ description: 'Name for people, 1 to 200 characters; null: as it is.' }),
    approvalMode: t.field({ type: ApprovalMode, description: 'What to ask about; null: as it is.' }),
    model: t.field({
      type: ModelChoiceInput,
      description: 'The model to go on with, from its next call on; null: as it is.',
    }),
    instructions: t.string({ description: `${instructionsText} Empty removes them; null: as they are.` }),
    tokenBudget: t.int({ description: `${tokenBudgetText} 0 removes it; null: as it is.` }),
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
      'Changes settings of a workstream, also while a turn runs. A title given here stays: the server does not name the ' +
      'workstream any more, also when it is the title there was. A mode counts for calls that are prepared from then on: ' +
      'what a person is asked already stays a question. A model counts from its next call on, also in the middle of a turn, and takes the place of a call that waits for a slot or to be tried again. Instructions and a budget count from the next model call on. Setting the mode that is set changes nothing, also not who set it. ' +
      'Answers when that is safe.',
    args: { input: t.arg({ type: ConfigureWorkstreamInput, required: true, description: 'What to set.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.workstreams.configure(viewer, {
          key: input.key,
          workstreamId,
          title: input.title ?? null,
          approvalMode: input.approvalMode ?? null,
          instructions: input.instructions ?? null,
          tokenBudget: input.tokenBudget ?? null,
          model: input.model
            ? {
                alias: input.model.alias,
                temperature: input.model.temperature ?? null,
                effort: input.model.effort ?? null,
              }
            : null,
        }),
      ),
  }),
);
