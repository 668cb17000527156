/** Owns: the journal table: one row per accepted entry, never changed (D-55). */
import { defineEntity, p, Type } from '@mikro-orm/core';
import type { EntryKind } from 'schema/projection';
import { WorkstreamRow } from './workstream.ts';

/** A tsvector as its text. (The ORM's own type would have PostgreSQL make words of it.) */
class TsVector extends Type<string, string> {
  override getColumnType(): string {
    return 'tsvector';
  }
}

const schema = defineEntity({
  name: 'EntryRow',
  tableName: 'entry',
  properties: {
    workstream: () => p.manyToOne(WorkstreamRow).mapToPk().primary().deleteRule('cascade'),
    revision: p.bigint('number').primary(),
    id: p.text(),
    kind: p.text().$type<EntryKind>(),
    epoch: p.bigint('number'),
    generation: p.bigint('number'),
    lane: p.text().nullable(),
    turnId: p.text().nullable(),
    /** A row of the workstream is one incarnation's, so unique in the workstream is unique in the incarnation. */
    commitKey: p.text(),
    /** The entry's own fields, without its place and kind. */
    payload: p.json().$type<Readonly<Record<string, unknown>>>(),
    at: p.datetime(3),
    /** Its words (`search-vector.ts`); null when it has none. Read by nobody but the index. */
    search: p.type(TsVector).nullable().lazy(),
  },
  uniques: [
    { name: 'entry_id_unique', properties: ['id'] },
    { name: 'entry_commit_key_unique', properties: ['workstream', 'commitKey'] },
  ],
  indexes: [
    {
      name: 'entry_search',
      expression: `create index "entry_search" on "entry" using gin ("search")`,
    },
    { name: 'entry_epoch', properties: ['workstream', 'epoch', 'revision'] },
    // What cuts a conversation: few, and looked for by themselves.
    {
      name: 'entry_cut',
      expression: `create index "entry_cut" on "entry" ("workstream_id", "revision") where kind in ('CHECKPOINT', 'REWIND')`,
    },
    {
      name: 'entry_conversation',
      expression: `create index "entry_conversation" on "entry" ("workstream_id", "revision") where kind in ('USER', 'ASSISTANT', 'TOOL', 'SYSTEM', 'CANCELLATION')`,
    },
  ],
});
export class EntryRow extends schema.class {}
schema.setClass(EntryRow);
