/**
 * Owns: taking workstreams out of the database (D-21, D-25).
 *
 * Invariants: the row is locked first, judged after, and goes with everything that is its own in one transaction: its
 * tables by cascade, receipts of commands on it by name; what others are changing is skipped by sweeps, and waited for
 * by a person's delete.
 */
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Removal, Removed, RemovalOutcome, Sweeper } from '../../ports/removal.ts';
import { insertReceipts } from './commit-batch.ts';
import { available } from './faults.ts';
import type { Orm } from './orm.ts';
import { live } from './ownership.ts';

/** Most that one transaction of a sweep deletes. */
const sweepSize = 100;

/** Who has not looked for so long has lost its session (D-100). */
const forgetDeletions = `delete from workstream_deletion where at < clock_timestamp() - interval '1 hour'`;

/** Rolls the deletion back: its key is taken. */
class DuplicateError extends Error {
  override readonly name = 'DuplicateError';
}

export function createRemoval(orm: Orm): Removal {
  /** Whatever of these is nobody's: in batches, each a transaction of its own. */
  const sweep = (by: Sweeper, condition: string, values: readonly unknown[]) =>
    available(async () => {
      const removed: Removed[] = [];
      for (;;) {
        const some = await orm.em.fork().transactional(async (em) => {
          const rows = await em.execute<{ id: string }[]>(
            `select w.id from workstream w where ${condition} and w.id <> all(string_to_array(?, ','))
             order by w.created_at desc, w.id desc limit ${sweepSize} for update of w skip locked`,
            [...values, by.except.join()],
          );
          const gone: Removed[] = [];
          for (const { id } of rows) gone.push(await deleteLocked(em, id));
          return gone;
        });
        removed.push(...some);
        if (some.length < sweepSize) return removed;
      }
    });

  return {
    remove: ({ receipt, ...which }) =>
      available(async () => {
        try {
          return await orm.em.fork().transactional(async (em) => {
            const refused = await lockExact(em, which);
            if (refused) return refused;
            if (!(await insertReceipts(em, [receipt], null))) throw new DuplicateError();
            return { type: 'removed' as const, ...(await deleteLocked(em, which.workstreamId)) };
          });
        } catch (error) {
          if (error instanceof DuplicateError) return { type: 'duplicate' };
          throw error;
        }
      }),

    async reap(by, olderThanMs) {
      await available(() => orm.em.fork().execute(forgetDeletions));
      return sweep(
        by,
        `w.lifecycle = 'CREATING' and w.created_at < clock_timestamp() - ? * interval '1 millisecond'
         and (w.owner_session_id is null or w.owner_session_id = ? or not ${live('w.owner_session_id')})`,
        [olderThanMs, by.sessionId],
      );
    },

    sweepUnused: (by, olderThanMs) =>
      sweep(
        by,
        `w.lifecycle = 'OPEN' and w.created_at < clock_timestamp() - ? * interval '1 millisecond'
         and w.projection #>> '{configuration,titleSource}' = 'DEFAULT' and ${unowned}
         and not exists (select 1 from entry e where e.workstream_id = w.id and e.kind = 'USER')
         and not exists (select 1 from queued_message q where q.workstream_id = w.id)`,
        [olderThanMs],
      ),

    sweepClosed: (by, olderThanMs) =>
      sweep(
        by,
        `w.lifecycle = 'CLOSED' and w.updated_at < clock_timestamp() - ? * interval '1 millisecond' and ${unowned}`,
        [olderThanMs],
      ),
  };
}

/** Not even by the one who sweeps: what it has loaded is not swept, and it may be loading this very one. */
const unowned = `(w.owner_session_id is null or not ${live('w.owner_session_id')})`;

/** Locks the row; why it is not to be deleted, or null. */
async function lockExact(
  em: SqlEntityManager,
  which: {
    readonly workstreamId: string;
    readonly incarnation: string;
    readonly epoch: number | null;
    readonly sessionId: string;
  },
): Promise<RemovalOutcome | null> {
  const [row] = await em.execute<{ incarnation: string; lifecycle: string; epoch: string }[]>(
    'select incarnation, lifecycle, epoch from workstream where id = ? for update',
    [which.workstreamId],
  );
  if (row?.incarnation !== which.incarnation || row.lifecycle === 'CREATING') return { type: 'notFound' };
  // Asked once the row is ours: an owner that came or went while this waited for it counts.
  const [owned] = await em.execute<{ elsewhere: boolean }[]>(
    `select coalesce(owner_session_id <> ? and ${live('owner_session_id')}, false) as elsewhere
     from workstream where id = ?`,
    [which.sessionId, which.workstreamId],
  );
  if (owned?.elsewhere) return { type: 'elsewhere' };
  if (which.epoch !== null && Number(row.epoch) !== which.epoch) return { type: 'fenced' };
  return null;
}

async function deleteLocked(em: SqlEntityManager, id: string): Promise<Removed> {
  await em.execute('delete from receipt where workstream_id = ?', [id]);
  const [row] = await em.execute<{ workspace: string }[]>(
    'delete from workstream where id = ? returning workspace',
    [id],
  );
  return { id, folder: row?.workspace ?? '' };
}
