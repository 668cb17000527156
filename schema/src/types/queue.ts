/** Owns: Queue on the wire, and resuming it. */
import { builder } from '../builder.ts';
import type { Queue as QueueModel, QueuedMessage as MessageModel } from '../projection/index.ts';
import type { ResumeQueueOutcome } from '../services.ts';
import { Author } from './author.ts';
import { Accepted } from './durability.ts';
import { onWorkstream } from './global-id.ts';
import { commandRefusals, resultOf } from './rejection.ts';

const QueuedMessage = builder.objectRef<MessageModel>('QueuedMessage').implement({
  description: 'A message that waits for the live turn to end.',
  fields: (t) => ({
    id: t.exposeID('id', {
      description: 'Id of the message: `SendMessagePayload.messageId` of the send that queued it.',
    }),
    text: t.exposeString('text', { description: 'What was written.' }),
    author: t.field({ type: Author, description: 'Who wrote it.', resolve: (m) => m.author }),
    afterStop: t.exposeBoolean('afterStop', {
      description: 'Sent after the live turn was told to stop: it is not held and starts the next turn.',
    }),
    at: t.field({ type: 'DateTime', description: 'When it was queued.', resolve: (m) => m.at }),
  }),
});

export const Queue = builder.objectRef<QueueModel>('Queue').implement({
  description: 'Messages sent while a turn runs. Drained in order when the turn completes.',
  fields: (t) => ({
    items: t.field({
      type: [QueuedMessage],
      description: 'The waiting messages, oldest first, at most 20.',
      resolve: (q) => q.items,
    }),
    held: t.exposeBoolean('held', {
      description:
        'True after a turn failed or was stopped: the messages wait for `resumeQueue` or for the next message, which goes after them.',
    }),
  }),
});

const ResumeQueueInput = builder.inputType('ResumeQueueInput', {
  description: 'Which queue to resume.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: 'Global id of the workstream.' }),
  }),
});

type Resumed = Extract<ResumeQueueOutcome, { type: 'Accepted' }>;
const ResumeQueuePayload = builder.objectRef<Resumed>('ResumeQueuePayload').implement({
  description: 'The queue is not held any more.',
  interfaces: [Accepted],
  fields: (t) => ({
    turnId: t.exposeID('turnId', {
      nullable: true,
      description: 'The turn that works on it; null when the queue was empty.',
    }),
  }),
});

builder.mutationField('resumeQueue', (t) =>
  t.field({
    type: resultOf<ResumeQueueOutcome>('resumeQueue', ResumeQueuePayload, commandRefusals),
    description:
      'Lets a held queue go on: its messages start a turn, in order. Answers when that is safe. On a queue that is empty ' +
      'or not held it is accepted and changes nothing.',
    args: { input: t.arg({ type: ResumeQueueInput, required: true, description: 'Which queue.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.messages.resumeQueue(viewer, { key: input.key, workstreamId }),
      ),
  }),
);
