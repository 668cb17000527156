/**
 * Owns: the head row of a workstream: the fence (incarnation, epoch, revision), the fold at the head, and the
 * columns derived from that fold for listing (D-6).
 */
import { defineEntity, p } from '@mikro-orm/core';
import type { Batch, BatchCall, Lifecycle, Projection, ToolResult, WorkstreamState } from 'schema/projection';
import { NodeSessionRow } from './node-session.ts';
import { Xid8 } from './xid.ts';

type StoredResult = Omit<ToolResult, 'content'> & Partial<Pick<ToolResult, 'content'>>;
type StoredCall = Omit<BatchCall, 'result'> & { readonly result: StoredResult | null };

/** The fold without what results say (`open-results.ts`). */
export type StoredProjection = Omit<Projection, 'batch'> & {
  readonly batch: (Omit<Batch, 'calls'> & { readonly calls: readonly StoredCall[] }) | null;
};

/** What a row of the list shows, and what hides it. */
const listed = ['lifecycle', 'state', 'stopping', 'title', 'model', 'quarantine'];
const each = (row: 'old' | 'new'): string => listed.map((column) => `${row}.${column}`).join(', ');

const schema = defineEntity({
  name: 'WorkstreamRow',
  tableName: 'workstream',
  properties: {
    id: p.text().primary(),
    incarnation: p.text(),
    lifecycle: p.text().$type<Lifecycle>(),
    epoch: p.bigint('number'),
    /** Who runs it, or whose reservation it is; a session that ended is nobody. */
    ownerSession: () => p.manyToOne(NodeSessionRow).mapToPk().nullable().deleteRule('set null'),
    /** Machine of the session that made it or ran it last: its workspace is there. Null: not known any more. */
    host: p.text().nullable(),
    /** Revision of the last entry; 0 before the first. */
    revision: p.bigint('number'),
    generation: p.bigint('number'),
    projection: p
      .json()
      .$type<StoredProjection>()
      .comment('The fold at the head, without what results of its open batch say'),
    state: p.text().$type<WorkstreamState>(),
    title: p.text(),
    model: p.text(),
    workspace: p.text(),
    stopping: p.boolean(),
    /** Tokens spent for it, by every caller: the sum of its model calls. Changes without a batch too (D-5). */
    spent: p.bigint('number').default(0),
    /** Loads or steps in a row that threw (D-71). */
    failedLoads: p.integer(),
    /** Why it is quarantined. */
    quarantine: p.text().nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
    /** The transaction that last changed what the list shows of it; kept by the database, read by `elsewhere.ts`. */
    listedXid: p.type(Xid8).defaultRaw('pg_current_xact_id()').lazy(),
  },
  indexes: [
    {
      name: 'workstream_listing',
      expression: `create index "workstream_listing" on "workstream" ("created_at" desc, "id" desc) where lifecycle <> 'CREATING'`,
    },
    // For one lifecycle alone: a page of it, reservations and closed ones that are old.
    {
      name: 'workstream_lifecycle_listing',
      expression: `create index "workstream_lifecycle_listing" on "workstream" ("lifecycle", "created_at" desc, "id" desc)`,
    },
    { properties: ['ownerSession'] },
    // Whether anybody works in a folder, of which the name may be all that is the same (`removal.ts`).
    {
      name: 'workstream_folder',
      expression: `create index "workstream_folder" on "workstream" (right(workspace, 33))`,
    },
    { name: 'workstream_listed_xid', properties: ['listedXid'] },
  ],
  triggers: [
    {
      name: 'workstream_listed',
      timing: 'before',
      events: ['update'],
      body: `if (${each('old')}) is distinct from (${each('new')}) then new.listed_xid := pg_current_xact_id(); end if; return new`,
    },
    // Nobody has seen a reservation, so nobody is told that it is gone. But it leaves a folder, too, if one was made for
    // it: those have the names of workstreams. A note that is there is written again, so that whoever is about to let go of
    // the folder waits for this transaction, and takes the note for both.
    {
      name: 'workstream_deleted',
      timing: 'after',
      events: ['delete'],
      body: `if old.lifecycle <> 'CREATING' then insert into workstream_deletion (workstream_id) values (old.id) on conflict (workstream_id) do update set xid = excluded.xid, at = excluded.at; end if; if old.workspace ~ '/[0-9a-f]{32}$' then insert into left_folder (path) values (old.workspace) on conflict (path) do update set at = excluded.at; end if; return null`,
    },
  ],
  checks: [{ name: 'workstream_lifecycle_known', expression: `lifecycle in ('CREATING', 'OPEN', 'CLOSED')` }],
});
export class WorkstreamRow extends schema.class {}
schema.setClass(WorkstreamRow);
