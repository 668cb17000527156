/**
 * Owns: which rows there are for a reader: not those of a workstream that is being made (D-20).
 *
 * Invariant: whatever is asked through it is asked of published workstreams only, without naming that.
 */
import { raw } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { ApprovalCycleRow, ApprovalItemRow } from './entities/approval.ts';
import { EntryRow } from './entities/entry.ts';
import { QueuedMessageRow } from './entities/queued-message.ts';
import { TurnRow } from './entities/turn.ts';
import { WorkstreamRow } from './entities/workstream.ts';
import type { Orm } from './orm.ts';

/** SQL: the workstream with this id is published. */
const isPublished = (id: string): string =>
  `exists (select 1 from workstream published where published.id = ${id} and published.lifecycle <> 'CREATING')`;

/** Gives an entity manager for one read. */
export function publishedOnly(orm: Orm): () => SqlEntityManager {
  const em = orm.em.fork();
  em.addFilter({ name: 'published', entity: [WorkstreamRow], cond: { lifecycle: { $ne: 'CREATING' } } });
  em.addFilter({
    name: 'ofPublished',
    entity: [ApprovalCycleRow, EntryRow, QueuedMessageRow, TurnRow],
    cond: () => ({ [raw((row) => isPublished(`${row}.workstream_id`))]: [] }),
  });
  em.addFilter({
    name: 'ofCycleOfPublished',
    entity: [ApprovalItemRow],
    cond: () => ({
      [raw(
        (row) =>
          `exists (select 1 from approval_cycle c where c.id = ${row}.cycle_id and ${isPublished('c.workstream_id')})`,
      )]: [],
    }),
  });
  return () => em.fork();
}
