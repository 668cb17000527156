/**
 * Owns: which rows there are for a reader: not those of a workstream that is being made (D-20).
 *
 * Invariant: whatever is asked through it is asked of published workstreams only, without naming that.
 */
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { WorkstreamRow } from './entities/workstream.ts';
import type { Orm } from './orm.ts';

/** Gives an entity manager for one read. Rows that refer to a workstream are joined with it by the ORM, and so filtered. */
export function publishedOnly(orm: Orm): () => SqlEntityManager {
  const em = orm.em.fork();
  em.addFilter({ name: 'published', entity: [WorkstreamRow], cond: { lifecycle: { $ne: 'CREATING' } } });
  return () => em.fork();
}
