/** Owns: sending a message, and what every verb that says something answers. */
import { builder } from '../builder.ts';
import type { SendMessage, SendMessageOutcome } from '../services.ts';
import { Accepted } from './durability.ts';
import { enumOf } from './enum.ts';
import { onWorkstream } from './global-id.ts';
import { Busy, commandRefusals, NotYours, QueueFull, resultOf, StaleTurn } from './rejection.ts';

type Said = Extract<SendMessageOutcome, { type: 'Accepted' }>;

/** The bounds of a message's text, for the input of every verb that takes one. */
export const messageTextText =
  'The message: at least one character that is not white space, at most 1,000,000 bytes of UTF-8.';

const Disposition = enumOf<Said['disposition']>('Disposition', 'What became of a message.', {
  STARTED: 'A turn runs on it.',
  QUEUED: 'It waits for the live turn to end.',
  STEERING: 'It waits for the calls under way: the live turn hears it before the model is asked again.',
});

const MessageDelivery = enumOf<SendMessage['delivery']>(
  'MessageDelivery',
  'What is to become of a message while a turn runs. Without one each of them starts a turn, STEER excepted.',
  {
    QUEUE: 'It waits for the turn to end.',
    STEER:
      'It is said to the running turn, after the results of the calls under way. If the model answers without calls, it is ' +
      'drained like the queue; if the turn fails or is stopped, it is held with the queue; if the turn is being stopped ' +
      'already, it is QUEUED and starts the next one.',
    REJECT: 'It is refused with BUSY.',
  },
);

const SendMessageInput = builder.inputType('SendMessageInput', {
  description: 'What to say, and where.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: 'Global id of the workstream.' }),
    text: t.string({ required: true, description: messageTextText }),
    delivery: t.field({
      type: MessageDelivery,
      description: 'What is to become of it while a turn runs; null: QUEUE.',
    }),
    turnId: t.id({
      description: 'With STEER: the turn it is meant for, as the caller saw it. Has no meaning otherwise.',
    }),
  }),
});

/** The payload of a verb that says something to the model. */
export const saidPayload = (name: string, description: string) =>
  builder.objectRef<Said>(name).implement({
    description,
    interfaces: [Accepted],
    fields: (t) => ({
      disposition: t.field({
        type: Disposition,
        description: 'What became of it.',
        resolve: (p) => p.disposition,
      }),
      messageId: t.exposeID('messageId', {
        description: 'STARTED: `Entry.entryId` of its USER entry. QUEUED and STEERING: `QueuedMessage.id`.',
      }),
      turnId: t.exposeID('turnId', {
        nullable: true,
        description:
          'STARTED: the turn that works on it. STEERING: the turn that will hear it. QUEUED: the turn that runs meanwhile, null when none does.',
      }),
      revision: t.field({
        type: 'Revision',
        description:
          'Revision of the last entry that it made: a follower that has reached it has seen all of it.',
        resolve: (p) => p.revision,
      }),
    }),
  });

const SendMessagePayload = saidPayload('SendMessagePayload', 'The message was accepted.');

builder.mutationField('sendMessage', (t) =>
  t.field({
    type: resultOf<SendMessageOutcome>('sendMessage', SendMessagePayload, {
      ...commandRefusals,
      QUEUE_FULL: QueueFull,
      STALE_TURN: StaleTurn,
      BUSY: Busy,
      NOT_YOURS: NotYours,
    }),
    description:
      'Says something to the model. While a turn runs, `delivery` says what becomes of it; otherwise it starts a turn, after ' +
      'what waits in the queue. Answers when the message is safe, before the model is asked: follow the feed for the ' +
      'answer. QUEUE_FULL: too much waits already. STALE_TURN: the turn to steer is not the one that runs. NOT_YOURS: the ' +
      'turn to steer is that of another author; queue it instead. BUSY: only with REJECT. A message never counts as an approval.',
    args: { input: t.arg({ type: SendMessageInput, required: true, description: 'What to say.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.messages.send(viewer, {
          ...input,
          workstreamId,
          delivery: input.delivery ?? 'QUEUE',
          turnId: input.turnId ?? null,
        }),
      ),
  }),
);
