/** Owns: sending a message. */
import { builder } from '../builder.ts';
import type { SendMessageOutcome } from '../services.ts';
import { Accepted } from './durability.ts';
import { enumOf } from './enum.ts';
import { onWorkstream } from './global-id.ts';
import { commandRefusals, QueueFull, resultOf } from './rejection.ts';

type Sent = Extract<SendMessageOutcome, { type: 'Accepted' }>;

const Disposition = enumOf<Sent['disposition']>('Disposition', 'What became of a message.', {
  STARTED: 'A turn runs on it.',
  QUEUED: 'It waits for the live turn to end.',
});

const SendMessageInput = builder.inputType('SendMessageInput', {
  description: 'What to say, and where.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: 'Global id of the workstream.' }),
    text: t.string({
      required: true,
      description:
        'The message: at least one character that is not white space, at most 1,000,000 bytes of UTF-8.',
    }),
  }),
});

const SendMessagePayload = builder.objectRef<Sent>('SendMessagePayload').implement({
  description: 'The message was accepted.',
  interfaces: [Accepted],
  fields: (t) => ({
    disposition: t.field({
      type: Disposition,
      description: 'What became of it.',
      resolve: (p) => p.disposition,
    }),
    messageId: t.exposeID('messageId', {
      description: 'STARTED: `Entry.entryId` of its USER entry. QUEUED: `QueuedMessage.id`.',
    }),
    turnId: t.exposeID('turnId', {
      nullable: true,
      description: 'The turn that works on it; null when QUEUED.',
    }),
    revision: t.field({
      type: 'Revision',
      description:
        'Revision of the entry that holds it: a follower that has reached it has seen the message.',
      resolve: (p) => p.revision,
    }),
  }),
});

builder.mutationField('sendMessage', (t) =>
  t.field({
    type: resultOf<SendMessageOutcome>('sendMessage', SendMessagePayload, {
      ...commandRefusals,
      QUEUE_FULL: QueueFull,
    }),
    description:
      'Says something to the model. While a turn runs the message is queued; otherwise it starts a turn. Answers when ' +
      'the message is safe, before the model is asked: follow the feed for the answer. QUEUE_FULL: too many messages ' +
      'wait already. A message never counts as an approval.',
    args: { input: t.arg({ type: SendMessageInput, required: true, description: 'What to say.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.messages.send(viewer, { key: input.key, workstreamId, text: input.text }),
      ),
  }),
);
