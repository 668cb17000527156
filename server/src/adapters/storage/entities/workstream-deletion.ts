/**
 * Owns: which workstreams were deleted of late, for other servers to learn of it (`elsewhere.ts`). Written by a trigger
 * of `workstream`, whoever deletes; forgotten by the sweeps.
 */
import { defineEntity, p } from '@mikro-orm/core';
import { Xid8 } from './xid.ts';

const schema = defineEntity({
  name: 'WorkstreamDeletionRow',
  tableName: 'workstream_deletion',
  properties: {
    workstreamId: p.text().primary(),
    /** The transaction that deleted it. */
    xid: p.type(Xid8).defaultRaw('pg_current_xact_id()'),
    at: p.datetime(3).defaultRaw('clock_timestamp()'),
  },
  indexes: [{ name: 'workstream_deletion_xid', properties: ['xid'] }],
});
export class WorkstreamDeletionRow extends schema.class {}
schema.setClass(WorkstreamDeletionRow);
