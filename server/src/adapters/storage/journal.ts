/** Owns: the journal's port on PostgreSQL: fenced commits and reads by revision. */
import type { Journal } from '../../ports/journal.ts';
import { commitBatch } from './commit-batch.ts';
import { EntryRow } from './entities/entry.ts';
import { ReceiptRow } from './entities/receipt.ts';
import { WorkstreamRow } from './entities/workstream.ts';
import { available } from './faults.ts';
import type { Orm } from './orm.ts';
import { entryOf } from './rows.ts';

export function createJournal(orm: Orm): Journal {
  return {
    commit: (batch) => commitBatch(orm, batch),

    head: (workstreamId) =>
      available(async () => {
        const row = await orm.em
          .fork()
          .findOne(
            WorkstreamRow,
            { id: workstreamId },
            { fields: ['incarnation', 'epoch', 'revision', 'lifecycle'], disableIdentityMap: true },
          );
        if (!row) return null;
        const { incarnation, epoch, revision, lifecycle } = row;
        return { incarnation, epoch, revision, lifecycle };
      }),

    holds: (workstreamId, entries) =>
      available(async () => {
        if (entries.length === 0) return true;
        const stored = await orm.em
          .fork()
          .find(
            EntryRow,
            { workstream: workstreamId, revision: { $in: entries.map((e) => e.revision) } },
            { fields: ['id', 'revision'], disableIdentityMap: true },
          );
        const idByRevision = new Map(stored.map((row) => [row.revision, row.id]));
        return entries.every((e) => idByRevision.get(e.revision) === e.id);
      }),

    read: (workstreamId, { after, through, limit }) =>
      available(async () => {
        if (limit <= 0 || through <= after) return [];
        const rows = await orm.em
          .fork()
          .find(
            EntryRow,
            { workstream: workstreamId, revision: { $gt: after, $lte: through } },
            { orderBy: { revision: 'asc' }, limit, disableIdentityMap: true },
          );
        return rows.map(entryOf);
      }),

    storedBytes: (workstreamId, { after, through }) =>
      available(async () => {
        // The size of the column as it lies there: what is long is neither fetched nor unpacked for it.
        const [row] = await orm.em
          .fork()
          .execute<readonly { readonly bytes: number }[]>(
            'select coalesce(sum(pg_column_size(payload)), 0)::float8 as bytes from entry where workstream_id = ? and revision > ? and revision <= ?',
            [workstreamId, after, through],
          );
        return row?.bytes ?? 0;
      }),

    epochAt: (workstreamId, revision) =>
      available(async () => {
        const row = await orm.em
          .fork()
          .findOne(
            EntryRow,
            { workstream: workstreamId, revision },
            { fields: ['epoch'], disableIdentityMap: true },
          );
        return row?.epoch ?? null;
      }),

    // Epochs never fall along a journal (D-4), so the last entry of an epoch ≤ `epoch` bounds all of them.
    lastRevisionOf: (workstreamId, revision, epoch) =>
      available(async () => {
        const rows = await orm.em.fork().find(
          EntryRow,
          { workstream: workstreamId, epoch: { $lte: epoch } },
          {
            fields: ['revision'],
            orderBy: { epoch: 'desc', revision: 'desc' },
            limit: 1,
            disableIdentityMap: true,
          },
        );
        return Math.max(0, Math.min(revision, rows[0]?.revision ?? 0));
      }),

    findReceipt: (scope, key) =>
      available(async () => {
        const row = await orm.em.fork().findOne(ReceiptRow, { scope, key }, { disableIdentityMap: true });
        return row && { scope: row.scope, key: row.key, inputHash: row.inputHash, outcome: row.outcome };
      }),
  };
}
