/** Owns: the table of node sessions: one row per life of a server process (D-100). */
import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'NodeSessionRow',
  tableName: 'node_session',
  properties: {
    id: p.text().primary(),
    nodeId: p.text(),
    /** Machine it runs on, for process clean-up by a successor. */
    host: p.text(),
    startedAt: p.datetime(3),
    heartbeatAt: p.datetime(3),
    expiresAt: p.datetime(3),
    endedAt: p.datetime(3).nullable(),
  },
  indexes: [{ properties: ['nodeId'] }],
});
export class NodeSessionRow extends schema.class {}
schema.setClass(NodeSessionRow);
