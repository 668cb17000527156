/**
 * Owns: the one transaction of a batch (D-3): the fenced UPDATE of the head first (D-4), then the inserts, then what its
 * model calls cost.
 * Does not own: when, how often and in what order batches are tried (the store lane).
 *
 * Invariants: a batch lands whole or not at all; nothing of a stale owner lands; it never rejects.
 */
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Batch, CommitOutcome, Receipt } from '../../ports/journal.ts';
import { ApprovalCycleRow, ApprovalItemRow } from './entities/approval.ts';
import { EntryRow } from './entities/entry.ts';
import { QueuedMessageRow } from './entities/queued-message.ts';
import { ReceiptRow } from './entities/receipt.ts';
import { TurnRow } from './entities/turn.ts';
import { WorkstreamRow } from './entities/workstream.ts';
import { FaultError, faultOf } from './faults.ts';
import type { Orm } from './orm.ts';
import {
  cycleRow,
  entryRow,
  headColumns,
  itemRow,
  queueRow,
  rowChanges,
  settledTurns,
  turnRow,
} from './rows.ts';
import { writeCalls } from './write-calls.ts';
import { writeWatches } from './write-watches.ts';

/** A fork brings a whole conversation: one statement has room for 65,535 values. */
const entriesPerInsert = 500;

/** Rolls the transaction back: the head is not what the batch was made for. */
class FencedError extends Error {
  override readonly name = 'FencedError';
}

export async function commitBatch(orm: Orm, batch: Batch): Promise<CommitOutcome> {
  const flaw = flawOf(batch);
  if (flaw) return { type: 'conflict', message: flaw };
  try {
    await orm.em.fork().transactional(async (em) => {
      await moveHead(em, batch);
      await writeEntries(em, batch);
      await writeReceipts(em, batch);
      await writeCalls(em, batch.workstreamId, batch.calls);
    });
    return { type: 'committed' };
  } catch (error) {
    return error instanceof FencedError ? { type: 'fenced' } : faultOf(error);
  }
}

/** Inserts the entries and what they change in the tables beside the journal; rejects on its way once `signal` aborts. */
export async function writeEntries(em: SqlEntityManager, batch: Batch, signal?: AbortSignal): Promise<void> {
  const { workstreamId, entries } = batch;
  if (entries.length === 0) return;
  for (let from = 0; from < entries.length; from += entriesPerInsert) {
    signal?.throwIfAborted();
    await em.insertMany(
      EntryRow,
      entries.slice(from, from + entriesPerInsert).map((entry) => entryRow(workstreamId, entry)),
    );
  }
  const { turns, cycles, queue } = rowChanges(entries);
  // One by one: a turn that settles must do so before the next one is inserted (D-32).
  for (const turn of turns) await em.upsert(TurnRow, turnRow(workstreamId, turn));
  if (cycles.length > 0) {
    await em.upsertMany(
      ApprovalCycleRow,
      cycles.map((cycle) => cycleRow(workstreamId, cycle)),
    );
    const items = cycles.flatMap((cycle) => cycle.items.map((item, i) => itemRow(cycle.id, item, i)));
    if (items.length > 0) await em.upsertMany(ApprovalItemRow, items);
  }
  for (const turn of settledTurns(turns)) {
    await em.nativeUpdate(
      ApprovalCycleRow,
      { workstream: workstreamId, turnId: turn.id, status: 'OPEN' },
      { status: 'SUPERSEDED', closedAt: turn.settledAt === null ? new Date() : new Date(turn.settledAt) },
    );
  }
  if (queue) {
    await em.nativeDelete(QueuedMessageRow, { workstream: workstreamId });
    if (queue.length > 0) {
      await em.insertMany(
        QueuedMessageRow,
        queue.map((message, i) => queueRow(workstreamId, message, i)),
      );
    }
  }
  await writeWatches(em, workstreamId, entries);
}

/** Inserts receipts, of commands on a workstream or (null) of those that outlive one; false when a key is taken. */
export async function insertReceipts(
  em: SqlEntityManager,
  receipts: readonly Receipt[],
  workstreamId: string | null,
): Promise<boolean> {
  if (receipts.length === 0) return true;
  const createdAt = new Date();
  const inserting = em
    .createQueryBuilder(ReceiptRow)
    .insert(receipts.map(({ unchecked: _, ...receipt }) => ({ ...receipt, workstreamId, createdAt })))
    .onConflict(['scope', 'key'])
    .ignore();
  const inserted = await inserting.execute<{ readonly affectedRows: number }>('run', false);
  return inserted.affectedRows === receipts.length;
}

async function moveHead(em: SqlEntityManager, batch: Batch): Promise<void> {
  const { workstreamId, incarnation, epoch, expectedHead } = batch;
  // A closed workstream takes only the batch that opens it, and answers to be kept; a late one never overwrites CLOSED
  // (D-23).
  const changesLifecycle =
    batch.entries.some((entry) => entry.kind === 'LIFECYCLE') || batch.entries.length === 0;
  const lifecycle = changesLifecycle ? { $in: ['OPEN' as const, 'CLOSED' as const] } : ('OPEN' as const);
  const moved = await em.nativeUpdate(
    WorkstreamRow,
    { id: workstreamId, incarnation, epoch, revision: expectedHead, lifecycle },
    headColumns(batch),
  );
  if (moved !== 1) throw new FencedError();
}

async function writeReceipts(
  em: SqlEntityManager,
  { workstreamId, entries, receipts }: Batch,
): Promise<void> {
  const firm = receipts.filter((receipt) => !receipt.unchecked);
  const rest = receipts.filter((receipt) => receipt.unchecked);
  await insertReceipts(em, rest, workstreamId);
  if (await insertReceipts(em, firm, workstreamId)) return;
  // A batch without entries does not move the head: after an unknown outcome the fence cannot tell that it had
  // landed, but the same receipts can. (Its model calls are counted once by their ids.)
  if (entries.length === 0 && (await allRecorded(em, firm))) return;
  throw new FaultError({ type: 'conflict', message: 'A receipt of this batch is recorded already.' });
}

async function allRecorded(em: SqlEntityManager, receipts: readonly Receipt[]): Promise<boolean> {
  for (const { scope, key, inputHash } of receipts) {
    if ((await em.count(ReceiptRow, { scope, key, inputHash })) !== 1) return false;
  }
  return true;
}

/** What only a mistake in this process can make; checked here because the tables cannot. */
export function flawOf(batch: Batch): string | null {
  const { entries, expectedHead, epoch, projection } = batch;
  if (entries.some((entry, i) => entry.revision !== expectedHead + 1 + i)) {
    return 'The revisions of the batch do not follow its head.';
  }
  if (entries.some((entry) => entry.epoch !== epoch)) return 'An entry of the batch has another epoch.';
  if (projection.revision !== expectedHead + entries.length)
    return 'The fold of the batch is not at its last entry.';
  return null;
}
