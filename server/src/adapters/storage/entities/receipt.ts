/** Owns: the table of receipts: the recorded answer of a command under its key (D-60). */
import { defineEntity, p } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'ReceiptRow',
  tableName: 'receipt',
  properties: {
    scope: p.text().primary(),
    key: p.text().primary(),
    inputHash: p.text(),
    outcome: p.json().$type<Readonly<Record<string, unknown>>>(),
    createdAt: p.datetime(3),
  },
  // Kept at least 7 days; this is how the old ones are found.
  indexes: [{ properties: ['createdAt'] }],
});
export class ReceiptRow extends schema.class {}
schema.setClass(ReceiptRow);
