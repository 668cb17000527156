/** Owns: the table of receipts: the recorded answer of a command under its key (D-60). */
import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'ReceiptRow',
  tableName: 'receipt',
  properties: {
    scope: p.text().primary(),
    key: p.text().primary(),
    /** The workstream that was commanded; null: none was (a token, or one that was only then made). */
    workstreamId: p.text().nullable(),
    inputHash: p.text(),
    outcome: p.json().$type<Readonly<Record<string, unknown>>>(),
    createdAt: p.datetime(3),
  },
  indexes: [
    // Kept at least 7 days; this is how the old ones are found.
    { properties: ['createdAt'] },
    {
      name: 'receipt_latest',
      expression: `create index "receipt_latest" on "receipt" ("workstream_id", "created_at" desc)`,
    },
  ],
});
export class ReceiptRow extends schema.class {}
schema.setClass(ReceiptRow);
