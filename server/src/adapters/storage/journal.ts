/** Owns: the journal's port on PostgreSQL: fenced commits and reads by revision. */
import type { Entry, EntryKind, EntryOf, Span } from 'schema/projection';
import { receiptKey } from '../../core/journal/receipt.ts';
import { receiptKeysLoaded, type Journal } from '../../ports/journal.ts';
import { commitBatch } from './commit-batch.ts';
import { EntryRow } from './entities/entry.ts';
import { ReceiptRow } from './entities/receipt.ts';
import { WorkstreamRow } from './entities/workstream.ts';
import { available } from './faults.ts';
import type { Orm } from './orm.ts';
import { entryOf } from './rows.ts';

/** As the index `entry_conversation` has them; the summary is read by its place. */
const conversationKinds: readonly EntryKind[] = ['USER', 'ASSISTANT', 'TOOL', 'SYSTEM', 'CANCELLATION'];
/** Rows read at once: the process goes on with other things in between. */
const pageSize = 1_000;

interface Measured {
  readonly revision: number;
  /** Of this payload and all before it. */
  readonly bytes: number;
}

/**
 * Adds up payloads as JSON one by one and stops at the one that passes `enough`: what is packed small may be long, and
 * unpacking it is the price. `most` bounds the rows.
 */
function measuring(from: 'OLDEST' | 'NEWEST'): string {
  const [beyond, order] =
    from === 'OLDEST' ? ['e.revision > m.revision', 'asc'] : ['e.revision < m.revision', 'desc'];
  const next = (condition: string): string =>
    `select e.revision, octet_length(e.payload::text)::bigint as bytes from entry e
     where e.workstream_id = :id and e.revision > :after and e.revision <= :through and ${condition}
     order by e.revision ${order} limit 1`;
  return `with recursive measured (revision, bytes, count) as (
      (select n.revision, n.bytes, 1 from (${next('true')}) n)
      union all
      select n.revision, m.bytes + n.bytes, m.count + 1
      from measured m cross join lateral (${next(beyond)}) n
      where m.bytes <= :enough and m.count < :most
    )
    select revision::float8 as revision, bytes::float8 as bytes from measured order by count`;
}

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

    // Measured before it is read: an entry that is stored never changes (D-55).
    read: (workstreamId, { after, through, limit, maxBytes, from = 'OLDEST' }) =>
      available(async () => {
        if (limit <= 0 || through <= after) return [];
        const em = orm.em.fork();
        let [low, high] = [after, through];
        if (maxBytes !== undefined) {
          const measured = await em.execute<readonly Measured[]>(measuring(from), {
            id: workstreamId,
            after,
            through,
            enough: maxBytes,
            most: limit,
          });
          const last = measured.findLast((row, i) => i === 0 || row.bytes <= maxBytes);
          if (!last) return [];
          if (from === 'OLDEST') high = last.revision;
          else low = last.revision - 1;
        }
        const rows = await em.find(
          EntryRow,
          { workstream: workstreamId, revision: { $gt: low, $lte: high } },
          {
            orderBy: { revision: from === 'OLDEST' ? 'asc' : 'desc' },
            limit,
            disableIdentityMap: true,
          },
        );
        const entries = rows.map(entryOf);
        return from === 'OLDEST' ? entries : entries.reverse();
      }),

    storedBytes: (workstreamId, { after, through, enough }) =>
      available(async () => {
        const measured = await orm.em.fork().execute<readonly Measured[]>(measuring('OLDEST'), {
          id: workstreamId,
          after,
          through,
          enough,
          most: Math.max(0, through - after),
        });
        return measured.at(-1)?.bytes ?? 0;
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

    // Page by page is as good as at once: an entry that is stored never changes (D-55).
    conversation: (workstreamId, { incarnation, through, superseded, checkpoint, signal }) =>
      available(async () => {
        const found: Entry[] = [];
        const from = checkpoint?.watermark ?? 0;
        if (checkpoint) {
          const { id, revision } = checkpoint;
          const row = await orm.em
            .fork()
            .findOne(EntryRow, { workstream: workstreamId, revision, id }, { disableIdentityMap: true });
          if (!row) return null;
          found.push(entryOf(row));
        }
        const spans = superseded.filter((span) => span.through > from);
        for (let after = from; after < through;) {
          signal?.throwIfAborted();
          const rows = await orm.em.fork().find(
            EntryRow,
            {
              workstream: workstreamId,
              kind: { $in: [...conversationKinds] },
              revision: { $gt: after, $lte: through },
              $and: spans.map(outside),
            },
            { orderBy: { revision: 'asc' }, limit: pageSize, disableIdentityMap: true },
          );
          for (const row of rows) found.push(entryOf(row));
          if (rows.length < pageSize) break;
          after = rows.at(-1)!.revision;
        }
        // Entries are deleted all together, and with their workstream: who stands afterwards was there all the time.
        const stands = await orm.em.fork().count(WorkstreamRow, { id: workstreamId, incarnation });
        return stands > 0 ? found : null;
      }),

    checkpointAt: (workstreamId, through) =>
      available(async () => {
        const [row] = await orm.em
          .fork()
          .find(
            EntryRow,
            { workstream: workstreamId, kind: 'CHECKPOINT', revision: { $lte: through } },
            { orderBy: { revision: 'desc' }, limit: 1, disableIdentityMap: true },
          );
        return row ? (entryOf(row) as EntryOf<'CHECKPOINT'>) : null;
      }),

    rewinds: (workstreamId, through) =>
      available(async () => {
        const rows = await orm.em
          .fork()
          .find(
            EntryRow,
            { workstream: workstreamId, kind: 'REWIND', revision: { $lte: through } },
            { orderBy: { revision: 'asc' }, disableIdentityMap: true },
          );
        return rows.map((row) => entryOf(row) as EntryOf<'REWIND'>);
      }),

    receiptKeys: (workstreamId) =>
      available(async () => {
        const rows = await orm.em
          .fork()
          .find(
            ReceiptRow,
            { workstreamId },
            { fields: ['scope', 'key'], limit: receiptKeysLoaded + 1, disableIdentityMap: true },
          );
        return rows.length > receiptKeysLoaded ? null : new Set(rows.map(receiptKey));
      }),

    findReceipt: (scope, key) =>
      available(async () => {
        const row = await orm.em.fork().findOne(ReceiptRow, { scope, key }, { disableIdentityMap: true });
        return row && { scope: row.scope, key: row.key, inputHash: row.inputHash, outcome: row.outcome };
      }),
  };
}

const outside = ({ after, through }: Span) => ({
  $or: [{ revision: { $lte: after } }, { revision: { $gt: through } }],
});
