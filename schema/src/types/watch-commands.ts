/** Owns: making, editing, pausing, resuming, running and cancelling a watch, on the wire. */
import { builder } from '../builder.ts';
import type { Durability } from '../outcome.ts';
import type { Watch as RecordModel } from '../projection/index.ts';
import type { ChangeWatchOutcome, CreateWatchOutcome, UpdateWatchOutcome } from '../services.ts';
import { Accepted } from './durability.ts';
import { onWorkstream } from './global-id.ts';
import {
  commandRefusals,
  resultOf,
  StaleWatch,
  WatchLimit,
  WatchNameTaken,
  WatchNotFound,
} from './rejection.ts';
import { WatchRecord } from './watch-record.ts';

/** The bounds of what a watch may be made of or changed to. */
const nameText = 'Name for people and the model, at most 60 characters, one line.';
const commandText =
  'What to run by `/bin/sh -c` in the workspace, at most 65,536 characters. It runs as the tools of the model do, and without ' +
  'anybody being asked again. What would end the server or wipe the machine is refused.';
const conditionText = 'When it fires, at most 4,000 characters; see `WatchDefinition.condition`.';
const durationText =
  'A duration as text: `30s`, `5m`, `2h30m`, `90` (seconds), or ISO 8601 as `PT5M` and `P1D`.';
const everyText = `How long from one poll to the next, 10 s to 24 h. ${durationText}`;
const maxPollsText = 'How often it may poll since it was made, 1 to 10,000.';
const deadlineText = `When it ends at the latest, from now on, at most 366 days. ${durationText}`;
const instructionText = 'What the model is to do when it fires, at most 4,000 characters.';

/** What every answer here has. */
type Made = { readonly type: 'Accepted'; readonly durability: Durability; readonly watch: RecordModel };

const payload = (name: string, description: string) =>
  builder.objectRef<Made>(name).implement({
    description,
    interfaces: [Accepted],
    fields: (t) => ({
      watch: t.field({
        type: WatchRecord,
        description: 'The watch as it is written down with that. How its polls go: `Query.watch`.',
        resolve: (p) => p.watch,
      }),
    }),
  });

const CreateWatchInput = builder.inputType('CreateWatchInput', {
  description: 'What to watch, and how.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: 'Global id of the workstream.' }),
    name: t.string({
      description: `${nameText} Null or blank: \`watch-1\`, or the next number that is free.`,
    }),
    command: t.string({ required: true, description: commandText }),
    condition: t.string({ description: `${conditionText} Null or blank: when the output changes.` }),
    every: t.string({ required: true, description: everyText }),
    maxPolls: t.int({ description: `${maxPollsText} Null: 100.` }),
    deadline: t.string({ description: `${deadlineText} Null or blank: none.` }),
    repeat: t.boolean({ description: 'True: it goes on after it fired. False or null: it ends then.' }),
    instruction: t.string({ description: `${instructionText} Null or blank: nothing.` }),
  }),
});

const CreateWatchPayload = payload(
  'CreateWatchPayload',
  'The watch polls, an interval from now the first time.',
);

builder.mutationField('createWatch', (t) =>
  t.field({
    type: resultOf<CreateWatchOutcome>('createWatch', CreateWatchPayload, {
      ...commandRefusals,
      WATCH_LIMIT: WatchLimit,
      WATCH_NAME_TAKEN: WatchNameTaken,
    }),
    description:
      'Makes a watch: the server runs a command again and again, and starts a turn of the caller when its condition holds. ' +
      'Answers when the watch is safe; nothing has run then: its first poll is an interval later (`runWatchNow` polls at once). ' +
      'INVALID_INPUT names the field: a duration, a command that may not run, or a condition that is not sound, with line and ' +
      'column (`tryWatchCondition` tells that without making anything). WATCH_LIMIT: cancel one first. WATCH_NAME_TAKEN: choose another name.',
    args: { input: t.arg({ type: CreateWatchInput, required: true, description: 'What to watch.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.watches.create(viewer, {
          key: input.key,
          workstreamId,
          name: input.name ?? null,
          command: input.command,
          condition: input.condition ?? null,
          every: input.every,
          maxPolls: input.maxPolls ?? null,
          deadline: input.deadline ?? null,
          repeat: input.repeat ?? false,
          instruction: input.instruction ?? null,
        }),
      ),
  }),
);

const UpdateWatchInput = builder.inputType('UpdateWatchInput', {
  description: 'What to change of a watch.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: 'Global id of the workstream.' }),
    watchId: t.id({ required: true, description: '`WatchFacts.watchId`.' }),
    version: t.int({ required: true, description: '`WatchFacts.version` as the caller saw it.' }),
    name: t.string({ description: `${nameText} Null or blank: as it is.` }),
    command: t.string({ description: `${commandText} Null: as it is.` }),
    condition: t.string({ description: `${conditionText} Blank: when the output changes; null: as it is.` }),
    every: t.string({ description: `${everyText} Null: as it is.` }),
    maxPolls: t.int({ description: `${maxPollsText} Null: as it is.` }),
    deadline: t.string({ description: `${deadlineText} Blank removes it; null: as it is.` }),
    repeat: t.boolean({ description: 'Whether it goes on after it fired; null: as it is.' }),
    instruction: t.string({ description: `${instructionText} Blank removes it; null: as it is.` }),
  }),
});

const UpdateWatchPayload = payload('UpdateWatchPayload', 'The watch goes on as it is defined now.');

builder.mutationField('updateWatch', (t) =>
  t.field({
    type: resultOf<UpdateWatchOutcome>('updateWatch', UpdateWatchPayload, {
      ...commandRefusals,
      WATCH_NOT_FOUND: WatchNotFound,
      WATCH_NAME_TAKEN: WatchNameTaken,
      STALE_WATCH: StaleWatch,
    }),
    description:
      'Changes what a watch is, also while it is polled: a poll of the earlier definition is cut short, recorded, and says ' +
      'nothing, and the next one waits until its command has ended. Its next poll is an interval from now, and its turns run on the credentials of the caller from then on; ' +
      'a PAUSED one stays PAUSED, and counters go on. Answers when that is safe. STALE_WATCH: somebody edited it since; ' +
      'look at it again. INVALID_INPUT: as for `createWatch`.',
    args: { input: t.arg({ type: UpdateWatchInput, required: true, description: 'What to change.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.watches.update(viewer, {
          key: input.key,
          workstreamId,
          watchId: input.watchId,
          version: input.version,
          name: input.name ?? null,
          command: input.command ?? null,
          condition: input.condition ?? null,
          every: input.every ?? null,
          maxPolls: input.maxPolls ?? null,
          deadline: input.deadline ?? null,
          repeat: input.repeat ?? null,
          instruction: input.instruction ?? null,
        }),
      ),
  }),
);

const onWatch = (name: string) =>
  builder.inputType(name, {
    description: 'Which watch.',
    fields: (t) => ({
      key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
      workstreamId: t.id({ required: true, description: 'Global id of the workstream.' }),
      watchId: t.id({ required: true, description: '`WatchFacts.watchId`.' }),
    }),
  });

const changeRefusals = { ...commandRefusals, WATCH_NOT_FOUND: WatchNotFound } as const;
const watchArgument = 'Which watch.';

builder.mutationField('pauseWatch', (t) =>
  t.field({
    type: resultOf<ChangeWatchOutcome>(
      'pauseWatch',
      payload('PauseWatchPayload', 'The watch is PAUSED by a person.'),
      changeRefusals,
    ),
    description:
      'Lets a watch poll no more until it is resumed. A poll under way is cut short, recorded, and says nothing. Answers when that is ' +
      'safe. One that is PAUSED stays as it is. WATCH_NOT_FOUND: it has ended, or never was.',
    args: { input: t.arg({ type: onWatch('PauseWatchInput'), required: true, description: watchArgument }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.watches.pause(viewer, { ...input, workstreamId }),
      ),
  }),
);

builder.mutationField('resumeWatch', (t) =>
  t.field({
    type: resultOf<ChangeWatchOutcome>(
      'resumeWatch',
      payload('ResumeWatchPayload', 'The watch is ACTIVE.'),
      changeRefusals,
    ),
    description:
      'Lets a watch that is PAUSED poll again: once at once, then at its interval. Answers when that is safe. One that is ACTIVE ' +
      'stays as it is. WATCH_NOT_FOUND: it has ended, or never was.',
    args: { input: t.arg({ type: onWatch('ResumeWatchInput'), required: true, description: watchArgument }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.watches.resume(viewer, { ...input, workstreamId }),
      ),
  }),
);

builder.mutationField('runWatchNow', (t) =>
  t.field({
    type: resultOf<ChangeWatchOutcome>(
      'runWatchNow',
      payload('RunWatchNowPayload', 'The watch is ACTIVE and due.'),
      changeRefusals,
    ),
    description:
      'Makes a watch due at once; one that is PAUSED is resumed with it. The poll counts as any other. Answers when that is safe, ' +
      'not when it was polled: `Watch.lastPollAt` shows that, usually within a second. WATCH_NOT_FOUND: it has ended, or never was.',
    args: { input: t.arg({ type: onWatch('RunWatchNowInput'), required: true, description: watchArgument }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.watches.runNow(viewer, { ...input, workstreamId }),
      ),
  }),
);

builder.mutationField('cancelWatch', (t) =>
  t.field({
    type: resultOf<ChangeWatchOutcome>(
      'cancelWatch',
      payload('CancelWatchPayload', 'The watch is ENDED.'),
      changeRefusals,
    ),
    description:
      'Ends a watch for good. A poll under way is cut short, recorded, and says nothing; what it had said and was not written down ' +
      'yet is not said any more. Answers when that is safe. WATCH_NOT_FOUND: it has ended, or never was.',
    args: { input: t.arg({ type: onWatch('CancelWatchInput'), required: true, description: watchArgument }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.watches.cancel(viewer, { ...input, workstreamId }),
      ),
  }),
);
