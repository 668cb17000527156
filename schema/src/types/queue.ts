/** Owns: Queue on the wire, changing what waits in it, and resuming it. */
import { builder } from '../builder.ts';
import type { Queue as QueueModel, QueuedMessage as MessageModel } from '../projection/index.ts';
import type {
  EditQueuedMessageOutcome,
  ResumeQueueOutcome,
  WithdrawQueuedMessageOutcome,
} from '../services.ts';
import { Author } from './author.ts';
import { Accepted } from './durability.ts';
import { enumOf } from './enum.ts';
import { onWorkstream } from './global-id.ts';
import { messageTextText } from './message.ts';
import { commandRefusals, MessageNotQueued, NotYours, QueueFull, resultOf } from './rejection.ts';

const QueuedDelivery = enumOf<MessageModel['delivery']>('QueuedDelivery', 'What a message waits for.', {
  QUEUE: 'The end of the live turn, or `resumeQueue`.',
  STEER: 'The results of the calls under way: the live turn hears it before the model is asked again.',
});

const QueuedMessage = builder.objectRef<MessageModel>('QueuedMessage').implement({
  description: 'A message that waits to be said to the model.',
  fields: (t) => ({
    id: t.exposeID('id', {
      description: 'Id of the message: `SendMessagePayload.messageId` of the send that queued it.',
    }),
    text: t.exposeString('text', { description: 'What was written.' }),
    author: t.field({ type: Author, description: 'Who wrote it.', resolve: (m) => m.author }),
    delivery: t.field({
      type: QueuedDelivery,
      description:
        'What it waits for. A STEER becomes QUEUE when its turn ends otherwise than by an answer, and is then held.',
      resolve: (m) => m.delivery,
    }),
    turnId: t.exposeID('turnId', {
      nullable: true,
      description: 'The turn a STEER is meant for; null for QUEUE.',
    }),
    afterStop: t.exposeBoolean('afterStop', {
      description: 'Sent after the live turn was told to stop: it is not held and starts the next turn.',
    }),
    at: t.field({ type: 'DateTime', description: 'When it was queued.', resolve: (m) => m.at }),
  }),
});

export const Queue = builder.objectRef<QueueModel>('Queue').implement({
  description:
    'Messages sent while a turn runs. Drained in order when the turn completes: neighbours of one author become one message; ' +
    'a message of another author begins a turn of its own.',
  fields: (t) => ({
    items: t.field({
      type: [QueuedMessage],
      description: 'The waiting messages, steers among them, oldest first, at most 20.',
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

const EditQueuedMessageInput = builder.inputType('EditQueuedMessageInput', {
  description: 'Which message to change, and to what.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: 'Global id of the workstream.' }),
    messageId: t.id({ required: true, description: '`QueuedMessage.id`.' }),
    text: t.string({ required: true, description: messageTextText }),
  }),
});

type Edited = Extract<EditQueuedMessageOutcome, { type: 'Accepted' }>;
const EditQueuedMessagePayload = builder.objectRef<Edited>('EditQueuedMessagePayload').implement({
  description: 'The message waits with its new text, in its old place.',
  interfaces: [Accepted],
  fields: (t) => ({
    queue: t.field({ type: Queue, description: 'The queue with the change.', resolve: (p) => p.queue }),
  }),
});

builder.mutationField('editQueuedMessage', (t) =>
  t.field({
    type: resultOf<EditQueuedMessageOutcome>('editQueuedMessage', EditQueuedMessagePayload, {
      ...commandRefusals,
      MESSAGE_NOT_QUEUED: MessageNotQueued,
      NOT_YOURS: NotYours,
      QUEUE_FULL: QueueFull,
    }),
    description:
      'Changes the text of a message that waits. It keeps its place, its id, and what it waits for. Answers when that is ' +
      'safe. MESSAGE_NOT_QUEUED: the model was told already, or it was withdrawn. NOT_YOURS: only its author may edit it. ' +
      'QUEUE_FULL: with the new text more would wait than may wait.',
    args: { input: t.arg({ type: EditQueuedMessageInput, required: true, description: 'What to change.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.messages.editQueued(viewer, { ...input, workstreamId }),
      ),
  }),
);

const WithdrawQueuedMessageInput = builder.inputType('WithdrawQueuedMessageInput', {
  description: 'Which message to take back.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: 'Global id of the workstream.' }),
    messageId: t.id({ required: true, description: '`QueuedMessage.id`.' }),
  }),
});

type Withdrawn = Extract<WithdrawQueuedMessageOutcome, { type: 'Accepted' }>;
const WithdrawQueuedMessagePayload = builder.objectRef<Withdrawn>('WithdrawQueuedMessagePayload').implement({
  description: 'The message does not wait any more, and the model is not told.',
  interfaces: [Accepted],
  fields: (t) => ({
    queue: t.field({ type: Queue, description: 'The queue without it.', resolve: (p) => p.queue }),
  }),
});

builder.mutationField('withdrawQueuedMessage', (t) =>
  t.field({
    type: resultOf<WithdrawQueuedMessageOutcome>('withdrawQueuedMessage', WithdrawQueuedMessagePayload, {
      ...commandRefusals,
      MESSAGE_NOT_QUEUED: MessageNotQueued,
    }),
    description:
      'Takes a message out of the queue, whoever wrote it. Answers when that is safe. MESSAGE_NOT_QUEUED: the model was told ' +
      'already, or it was withdrawn before.',
    args: {
      input: t.arg({ type: WithdrawQueuedMessageInput, required: true, description: 'Which message.' }),
    },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.messages.withdrawQueued(viewer, { ...input, workstreamId }),
      ),
  }),
);
