/**
 * Owns: taking workstreams out of the database (D-21, D-25).
 *
 * Invariants: the row is locked first, judged after, and goes with everything that is its own in one transaction: its
 * tables by cascade, receipts of commands on it by name; what others are changing is skipped by sweeps, and waited for
 * by a person's delete. Which folder goes out of use with a row is noted by a trigger of `workstream`, whoever deletes.
 */
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import {
  folderKey,
  type Doomed,
  type Removal,
  type Removed,
  type RemovalOutcome,
  type Sweeper,
} from '../../ports/removal.ts';
import { insertReceipts } from './commit-batch.ts';
import { available } from './faults.ts';
import type { Orm } from './orm.ts';
import { live } from './ownership.ts';

/** Most that one transaction of a sweep deletes, and most folders that are asked for at once. */
const sweepSize = 100;

/** A new workstream is open and configured, and nothing has been done to it. */
const revisionAtBirth = 2;
/** Who has not looked for so long has lost its session (D-100). */
const forgetDeletions = `delete from workstream_deletion where at < clock_timestamp() - interval '1 hour'`;
/** Nor has a server that was not there for so long a folder that anybody waits to see vanish. */
const forgetFolders = `delete from left_folder where at < clock_timestamp() - interval '30 days'`;

/** Rolls the deletion back: its key is taken. */
class DuplicateError extends Error {
  override readonly name = 'DuplicateError';
}

export function createRemoval(orm: Orm): Removal {
  /** Some of these, whatever of them is nobody's, in one transaction. */
  const sweep = (by: Sweeper, condition: string, values: readonly unknown[], doomed?: Doomed) =>
    available(() =>
      orm.em.fork().transactional(async (em) => {
        const rows = await em.execute<(Removed & { readonly workspace: string })[]>(
          `select w.id, w.incarnation, w.workspace from workstream w where ${condition} and w.id <> all(string_to_array(?, ','))
           order by w.created_at desc, w.id desc limit ${sweepSize} for update of w skip locked`,
          [...values, by.except.join()],
        );
        const removed = rows.map(({ id, incarnation }) => ({ id, incarnation }));
        doomed?.(removed);
        // Two sweeps that note the same folders wait for each other in one order.
        for (const { id } of rows.toSorted((a, b) => (a.workspace < b.workspace ? -1 : 1)))
          await deleteLocked(em, id);
        return removed;
      }),
    );

  return {
    remove: ({ receipt, ...which }) =>
      available(async () => {
        try {
          return await orm.em.fork().transactional(async (em) => {
            const refused = await lockExact(em, which);
            if (refused) return refused;
            if (!(await insertReceipts(em, [receipt], null))) throw new DuplicateError();
            await deleteLocked(em, which.workstreamId);
            return { type: 'removed' as const };
          });
        } catch (error) {
          if (error instanceof DuplicateError) return { type: 'duplicate' };
          throw error;
        }
      }),

    async reap(by, olderThanMs) {
      for (const forget of [forgetDeletions, forgetFolders])
        await available(() => orm.em.fork().execute(forget));
      return sweep(
        by,
        `w.lifecycle = 'CREATING' and w.created_at < clock_timestamp() - ? * interval '1 millisecond'
         and (w.owner_session_id is null or w.owner_session_id = ? or not ${live('w.owner_session_id')})`,
        [olderThanMs, by.sessionId],
      );
    },

    sweepUnused: (by, olderThanMs, doomed) =>
      sweep(
        by,
        `w.lifecycle = 'OPEN' and w.created_at < clock_timestamp() - ? * interval '1 millisecond'
         and w.projection #>> '{configuration,titleSource}' = 'DEFAULT' and ${unowned}
         and w.revision = ${revisionAtBirth} and w.projection #> '{configuration,instructions}' is null
         and w.projection #> '{configuration,tokenBudget}' is null`,
        [olderThanMs],
        doomed,
      ),

    sweepClosed: (by, olderThanMs, doomed) =>
      sweep(
        by,
        `w.lifecycle = 'CLOSED' and w.updated_at < clock_timestamp() - ? * interval '1 millisecond' and ${unowned}`,
        [olderThanMs],
        doomed,
      ),

    leftFolders: (beginning) =>
      available(async () => {
        const rows = await orm.em
          .fork()
          .execute<{ path: string }[]>(
            `select path from left_folder where starts_with(path, ?) order by path limit ${sweepSize}`,
            [beginning],
          );
        return rows.map(({ path }) => path);
      }),

    letGo: (folder, take) =>
      available(() =>
        orm.em.fork().transactional(async (em) => {
          await lockFolder(em, folder);
          // First: whoever goes from now on waits to note it again, and of whoever went before, the next line knows.
          await em.execute('delete from left_folder where path = ?', [folder]);
          const users = await em.execute(
            'select 1 from workstream where right(workspace, 33) = right(?, 33) and (workspace = ? or right(workspace, 33) = ?) limit 1',
            [folder, folder, folderKey(folder)],
          );
          return users.length > 0 ? 'inUse' : take();
        }),
      ),
  };
}

/** Until the transaction ends, nobody else settles in this folder or lets go of it. */
export async function lockFolder(em: SqlEntityManager, folder: string): Promise<void> {
  await em.execute(`select pg_advisory_xact_lock(hashtextextended('weir folder ' || ?, 0))`, [
    folderKey(folder),
  ]);
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

async function deleteLocked(em: SqlEntityManager, id: string): Promise<void> {
  await em.execute('delete from receipt where workstream_id = ?', [id]);
  await em.execute('delete from workstream where id = ?', [id]);
}
