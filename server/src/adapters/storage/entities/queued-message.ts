/** Owns: the table of messages that wait for the live turn to end, or for its calls under way, a projection of QUEUE entries (D-63). */
import { defineEntity, p } from '@mikro-orm/core';
import type { QueuedMessage } from 'schema/projection';
import { WorkstreamRow } from './workstream.ts';

const schema = defineEntity({
  name: 'QueuedMessageRow',
  tableName: 'queued_message',
  properties: {
    id: p.text().primary(),
    workstream: () => p.manyToOne(WorkstreamRow).mapToPk().deleteRule('cascade'),
    /** Place in the queue, from 0. */
    position: p.integer(),
    text: p.text(),
    authorId: p.text(),
    authorName: p.text(),
    delivery: p.text().$type<QueuedMessage['delivery']>().default('QUEUE'),
    /** The turn a STEER is meant for. */
    turnId: p.text().nullable(),
    afterStop: p.boolean(),
    at: p.datetime(3),
  },
  indexes: [{ properties: ['workstream', 'position'] }],
});
export class QueuedMessageRow extends schema.class {}
schema.setClass(QueuedMessageRow);
