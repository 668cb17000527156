/** Owns: going back in a conversation: taking back, saying it otherwise, asking again. */
import { builder } from '../builder.ts';
import type {
  ResendMessageOutcome,
  RetryTurn,
  RetryTurnOutcome,
  RewindWorkstreamOutcome,
} from '../services.ts';
import { Accepted } from './durability.ts';
import { enumOf } from './enum.ts';
import { onWorkstream } from './global-id.ts';
import { messageTextText, saidPayload } from './message.ts';
import { Busy, commandRefusals, MessageNotFound, NotYours, resultOf, StaleTurn } from './rejection.ts';

const messageIdText =
  '`Entry.entryId` of a USER entry of source MESSAGE or STEER that is neither superseded nor summarised.';
const lastTurnText =
  'The last turn the caller saw: `Workstream.lastTurn.id`; null when none was shown, as after a rewind. Must be equal, ' +
  'so that nobody takes back what he has not seen.';
const goingBack = {
  ...commandRefusals,
  MESSAGE_NOT_FOUND: MessageNotFound,
  STALE_TURN: StaleTurn,
  BUSY: Busy,
};
const refusedText =
  'BUSY: a turn runs; stop it first. STALE_TURN: another turn than the one you saw was the last. MESSAGE_NOT_FOUND: ';
const notThereText =
  'the message is not in the conversation, or summarised: `watermark` says up to where nothing can be taken back; fork there instead.';
const keptText =
  'Nothing is deleted (see `Workstream.superseded`), and files in the workspace stay as the calls left them. Answers when it ' +
  'is safe. ';

const RewindWorkstreamInput = builder.inputType('RewindWorkstreamInput', {
  description: 'How far to go back.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: 'Global id of the workstream.' }),
    messageId: t.id({
      required: true,
      description: `The message to take back, with all that came after it: ${messageIdText}`,
    }),
    turnId: t.id({ description: lastTurnText }),
  }),
});

type Rewound = Extract<RewindWorkstreamOutcome, { type: 'Accepted' }>;
const RewindWorkstreamPayload = builder.objectRef<Rewound>('RewindWorkstreamPayload').implement({
  description: 'The message and all that came after it is superseded. No turn runs.',
  interfaces: [Accepted],
  fields: (t) => ({
    revision: t.field({
      type: 'Revision',
      description: 'Revision of the RewindEntry: a follower that has reached it has seen it.',
      resolve: (p) => p.revision,
    }),
    text: t.exposeString('text', {
      description: 'Text of the message that was taken back, for example to write it anew.',
    }),
    superseded: t.exposeInt('superseded', {
      description: 'How many entries the model does not see any more, the message included.',
    }),
  }),
});

builder.mutationField('rewindWorkstream', (t) =>
  t.field({
    type: resultOf<RewindWorkstreamOutcome>('rewindWorkstream', RewindWorkstreamPayload, goingBack),
    description:
      'Takes a message back with all that came after it: the model does not see it any more. What waits in the queue keeps ' +
      `waiting. ${keptText}${refusedText}${notThereText}`,
    args: { input: t.arg({ type: RewindWorkstreamInput, required: true, description: 'How far.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.messages.rewind(viewer, { ...input, workstreamId, turnId: input.turnId ?? null }),
      ),
  }),
);

const ResendMessageInput = builder.inputType('ResendMessageInput', {
  description: 'What to say in the place of which message.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: 'Global id of the workstream.' }),
    messageId: t.id({ required: true, description: `The message to replace: ${messageIdText}` }),
    turnId: t.id({ description: lastTurnText }),
    text: t.string({ required: true, description: messageTextText }),
  }),
});

const ResendMessagePayload = saidPayload(
  'ResendMessagePayload',
  'The message was replaced, and a turn runs on what was said instead: `disposition` is STARTED.',
);

builder.mutationField('resendMessage', (t) =>
  t.field({
    type: resultOf<ResendMessageOutcome>('resendMessage', ResendMessagePayload, goingBack),
    description:
      'Says something else in the place of a message: goes back as `rewindWorkstream` does, and starts a turn on the new ' +
      'text, both or neither. The new message is by the caller, whoever wrote the old one. ' +
      `${keptText}${refusedText}${notThereText}`,
    args: { input: t.arg({ type: ResendMessageInput, required: true, description: 'What to say.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.messages.resend(viewer, { ...input, workstreamId, turnId: input.turnId ?? null }),
      ),
  }),
);

const RetryFrom = enumOf<RetryTurn['from']>('RetryFrom', 'What to keep when the model is asked again.', {
  MESSAGE: 'The last message: as if it had not been answered. Files stay as the calls left them.',
  LAST_RESULT:
    'The last message or result: what the turn did stays in the conversation, only what was said after it goes.',
});

const RetryTurnInput = builder.inputType('RetryTurnInput', {
  description: 'What to ask again.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: 'Global id of the workstream.' }),
    turnId: t.id({ description: lastTurnText }),
    from: t.field({ type: RetryFrom, required: true, description: 'What to keep.' }),
  }),
});

const RetryTurnPayload = saidPayload(
  'RetryTurnPayload',
  'The model is asked again: a new turn runs (`turnId`) on the message that was there (`messageId`); `disposition` is STARTED.',
);

builder.mutationField('retryTurn', (t) =>
  t.field({
    type: resultOf<RetryTurnOutcome>('retryTurn', RetryTurnPayload, { ...goingBack, NOT_YOURS: NotYours }),
    description:
      'Asks the model again, after a failure, a stop, or an answer that will not do. ' +
      `${keptText}${refusedText}nothing was said yet. NOT_YOURS: only who wrote the last message may ask it again.`,
    args: { input: t.arg({ type: RetryTurnInput, required: true, description: 'What to ask again.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.turns.retry(viewer, { ...input, workstreamId, turnId: input.turnId ?? null }),
      ),
  }),
);
