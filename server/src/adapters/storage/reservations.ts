/**
 * Owns: bringing a workstream into being: a row nobody sees, then everything at once, or nothing (D-20).
 */
import { raw } from '@mikro-orm/core';
import type { Reservations } from '../../ports/reservations.ts';
import { emptyProjection } from 'schema/projection';
import { flawOf, insertReceipts, writeEntries } from './commit-batch.ts';
import { WorkstreamRow } from './entities/workstream.ts';
import { available } from './faults.ts';
import { lockFolder } from './removal.ts';
import type { Orm } from './orm.ts';
import { headColumns } from './rows.ts';

/** Rolls the publishing transaction back with its answer. */
class NotPublished extends Error {
  readonly answer: 'duplicate' | 'gone';
  constructor(answer: 'duplicate' | 'gone') {
    super(answer);
    this.answer = answer;
  }
}

export function createReservations(orm: Orm): Reservations {
  return {
    reserve: ({ id, incarnation, sessionId, folder = '' }) =>
      available(async () => {
        // Its age is judged by the database's clock (D-21).
        const now = raw<Date>('clock_timestamp()');
        await orm.em.fork().insert(WorkstreamRow, {
          id,
          incarnation,
          lifecycle: 'CREATING',
          epoch: 0,
          ownerSession: sessionId,
          host: raw<string>('(select host from node_session where id = ?)', [sessionId]),
          revision: 0,
          generation: 0,
          projection: emptyProjection,
          state: 'CREATING',
          title: '',
          model: '',
          workspace: folder,
          stopping: false,
          spent: 0,
          failedLoads: 0,
          createdAt: now,
          updatedAt: now,
        });
      }),

    settleIn: (id, incarnation, folder) =>
      available(() =>
        orm.em.fork().transactional(async (em) => {
          await lockFolder(em, folder);
          const reserved = { id, incarnation, lifecycle: 'CREATING' } as const;
          await em.nativeUpdate(WorkstreamRow, reserved, { workspace: folder });
        }),
      ),

    publish: (batch, signal) =>
      available(async () => {
        const flaw = flawOf(batch);
        if (flaw) throw new Error(flaw);
        try {
          await orm.em.fork().transactional(async (em) => {
            // From here on nobody runs it: the first command loads it, wherever that arrives.
            const published = await em.nativeUpdate(
              WorkstreamRow,
              {
                id: batch.workstreamId,
                incarnation: batch.incarnation,
                lifecycle: 'CREATING',
                revision: batch.expectedHead,
              },
              { ...headColumns(batch), epoch: batch.epoch, ownerSession: null },
            );
            if (published !== 1) throw new NotPublished('gone');
            if (!(await insertReceipts(em, batch.receipts, null))) throw new NotPublished('duplicate');
            await writeEntries(em, batch, signal);
            signal?.throwIfAborted();
          });
          return { type: 'published' };
        } catch (error) {
          if (error instanceof NotPublished) return { type: error.answer };
          throw error;
        }
      }),

    rollback: (id, incarnation) =>
      available(async () => {
        await orm.em.fork().nativeDelete(WorkstreamRow, { id, incarnation, lifecycle: 'CREATING' });
      }),
  };
}
