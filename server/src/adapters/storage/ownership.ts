/**
 * Owns: who runs a workstream: taking it, giving it up, finding what needs taking (D-22, D-100).
 *
 * Invariant: a workstream changes hands only by one conditional UPDATE that adds 1 to its epoch; of two that try, one
 * wins. A session that ended, or whose term is over by the database's clock, owns nothing.
 */
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Projection } from 'schema/projection';
import { onlyWaits } from '../../core/workstream/lifecycle.ts';
import { failedLoadsBeforeQuarantine, type ClaimOutcome, type Ownership } from '../../ports/ownership.ts';
import { NodeSessionRow } from './entities/node-session.ts';
import { WorkstreamRow } from './entities/workstream.ts';
import { available } from './faults.ts';
import { withResults } from './open-results.ts';
import type { Orm } from './orm.ts';

/** SQL: the session with this id is live. */
export const live = (session: string) =>
  `exists (select 1 from node_session s where s.id = ${session} and s.ended_at is null and s.expires_at > clock_timestamp())`;

export function createOwnership(orm: Orm): Ownership {
  return {
    claim: (workstreamId, sessionId) =>
      available(() => orm.em.fork().transactional((em) => claim(em, workstreamId, sessionId))),

    release: (workstreamId, sessionId, epoch) =>
      available(async () => {
        await orm.em
          .fork()
          .nativeUpdate(
            WorkstreamRow,
            { id: workstreamId, ownerSession: sessionId, epoch, lifecycle: { $ne: 'CREATING' } },
            { ownerSession: null },
          );
      }),

    held: (sessionId) =>
      available(async () => {
        const rows = await orm.em
          .fork()
          .find(
            WorkstreamRow,
            { ownerSession: sessionId, lifecycle: { $ne: 'CREATING' } },
            { fields: ['epoch'], disableIdentityMap: true },
          );
        return rows.map(({ id, epoch }) => ({ id, epoch }));
      }),

    liveTurns: (sessionId) =>
      available(async () => {
        const rows = await orm.em.fork().execute<{ id: string; projection: Projection | null }[]>(
          `select w.id, case w.state when 'ATTENTION' then w.projection end as projection from turn t join workstream w on w.id = t.workstream_id
           where t.outcome is null and w.lifecycle = 'OPEN' and w.quarantine is null
             and (w.owner_session_id is null or w.owner_session_id = ? or not ${live('w.owner_session_id')})
           order by w.created_at, w.id`,
          [sessionId],
        );
        // What results say is not there (`open-results.ts`), and not asked for.
        return rows.filter(({ projection }) => !projection || !onlyWaits(projection)).map((row) => row.id);
      }),

    over: (sessionIds) =>
      available(async () => {
        if (sessionIds.length === 0) return [];
        const rows = await orm.em
          .fork()
          .execute<{ id: string }[]>(
            `select n.id from node_session n where n.id in (${sessionIds.map(() => '?').join(', ')}) and not ${live('n.id')}`,
            [...sessionIds],
          );
        return rows.map((row) => row.id);
      }),

    recordFailedLoad: (workstreamId, reason) =>
      available(async () => {
        const em = orm.em.fork();
        if (reason === null) {
          await em.nativeUpdate(WorkstreamRow, { id: workstreamId }, { failedLoads: 0, quarantine: null });
          return 0;
        }
        const rows = await em.execute<{ failed_loads: number }[]>(
          `update workstream set failed_loads = failed_loads + 1,
             quarantine = case when failed_loads + 1 >= ? then ? else quarantine end
           where id = ? returning failed_loads`,
          [failedLoadsBeforeQuarantine, reason, workstreamId],
        );
        return rows[0]?.failed_loads ?? 0;
      }),
  };
}

async function claim(em: SqlEntityManager, workstreamId: string, sessionId: string): Promise<ClaimOutcome> {
  // Locked first, judged after: the UPDATE must see the sessions as they are once the row is ours to change, not as
  // they were when it began to wait for it.
  const [before] = await em.execute<{ lifecycle: string; owner: string | null; quarantine: string | null }[]>(
    'select lifecycle, owner_session_id as owner, quarantine from workstream where id = ? for update',
    [workstreamId],
  );
  if (!before || before.lifecycle === 'CREATING') return { type: 'notFound' };
  if (before.quarantine !== null) return { type: 'quarantined', reason: before.quarantine };
  const taken = await em.execute<{ id: string }[]>(
    `with taken as (
       update workstream set epoch = epoch + 1, owner_session_id = ?,
         host = coalesce((select s.host from node_session s where s.id = ?), host)
       where id = ? and lifecycle <> 'CREATING' and ${live('?')}
         and (owner_session_id is null or owner_session_id = ? or not ${live('owner_session_id')})
       returning id, host),
     moved as (
       update watch t set host = taken.host from taken
       where t.workstream_id = taken.id and t.slot is not null and t.host is distinct from taken.host)
     select id from taken`,
    [sessionId, sessionId, workstreamId, sessionId, sessionId],
  );
  if (taken.length === 0) return { type: 'elsewhere' };

  const row = await em.findOneOrFail(WorkstreamRow, { id: workstreamId });
  const previous = before.owner === null ? null : await em.findOne(NodeSessionRow, { id: before.owner });
  return {
    type: 'claimed',
    workstream: {
      id: row.id,
      incarnation: row.incarnation,
      epoch: row.epoch,
      projection: await withResults(em, workstreamId, row.projection),
      spent: row.spent,
      previousHost: previous?.host ?? null,
      failedLoads: row.failedLoads,
      createdAt: row.createdAt.toISOString(),
    },
  };
}
