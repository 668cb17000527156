/** Owns: reading workstreams and open approvals without loading them. CREATING rows do not exist here (D-20). */
import { raw } from '@mikro-orm/core';
import type { Catalog, Position } from '../../ports/catalog.ts';
import { ApprovalCycleRow, ApprovalItemRow } from './entities/approval.ts';
import { NodeSessionRow } from './entities/node-session.ts';
import { WorkstreamRow } from './entities/workstream.ts';
import { available } from './faults.ts';
import type { Orm } from './orm.ts';
import { withResults } from './open-results.ts';
import { publishedOnly } from './published.ts';
import { cycleOf, decisionOf } from './rows.ts';
import { newestFirst, summaryFields, summaryRow } from './summaries.ts';

export function createCatalog(orm: Orm): Catalog {
  const reader = publishedOnly(orm);
  return {
    get: (id) =>
      available(async () => {
        const em = reader();
        const row = await em.findOne(WorkstreamRow, { id });
        if (!row) return null;
        const { incarnation, epoch, revision, projection, quarantine, ownerSession } = row;
        const owner = ownerSession ? await em.findOne(NodeSessionRow, liveSession(ownerSession)) : null;
        return {
          id,
          incarnation,
          epoch,
          revision,
          projection: await withResults(em, id, projection),
          owner: owner?.id ?? null,
          quarantine: quarantine ?? null,
          createdAt: row.createdAt.toISOString(),
          updatedAt: row.updatedAt.toISOString(),
        };
      }),

    list: ({ first, after }, lifecycle) =>
      available(async () => {
        const em = reader();
        const listed = lifecycle ? { lifecycle } : {};
        const rows = await em.find(
          WorkstreamRow,
          after ? { ...listed, ...before('createdAt', after) } : listed,
          { fields: summaryFields, orderBy: newestFirst, limit: first + 1, disableIdentityMap: true },
        );
        const items = rows.slice(0, first).map(summaryRow);
        return { items, hasNext: rows.length > first, totalCount: await em.count(WorkstreamRow, listed) };
      }),

    overview: ({ newest, living }) =>
      available(async () => {
        const listed = { fields: summaryFields, disableIdentityMap: true } as const;
        const rows = await reader().find(
          WorkstreamRow,
          {},
          { ...listed, orderBy: newestFirst, limit: newest + 1 },
        );
        const first = rows.slice(0, newest).map(summaryRow);
        const last = first.at(-1);
        if (!last || rows.length <= newest) return { newest: first, living: [], older: null };
        const position = { at: last.createdAt, id: last.id };
        const has = async (lifecycle: 'OPEN' | 'CLOSED'): Promise<boolean> =>
          (await reader().findOne(
            WorkstreamRow,
            { lifecycle, ...before('createdAt', position) },
            { fields: ['id'], orderBy: newestFirst },
          )) !== null;
        const [live, open, closed] = await Promise.all([
          reader().find(
            WorkstreamRow,
            { lifecycle: 'OPEN', [raw(hasLiveTurn)]: [], ...before('createdAt', position) },
            { ...listed, orderBy: [{ [raw(waits)]: 'desc' }, newestFirst], limit: living },
          ),
          has('OPEN'),
          has('CLOSED'),
        ]);
        return { newest: first, living: live.map(summaryRow), older: { after: position, open, closed } };
      }),

    openCycles: ({ first, after }) =>
      available(async () => {
        const em = reader();
        const open = { status: 'OPEN' as const };
        const rows = await em.find(
          ApprovalCycleRow,
          after ? { ...open, ...before('openedAt', after) } : open,
          { orderBy: { openedAt: 'desc', id: 'desc' }, limit: first + 1, disableIdentityMap: true },
        );
        const page = rows.slice(0, first);
        const itemRows = await em.find(
          ApprovalItemRow,
          { cycle: { $in: page.map((row) => row.id) } },
          { disableIdentityMap: true },
        );
        const itemsByCycle = Map.groupBy(itemRows, (item) => item.cycle);
        const items = page.map((row) => ({
          workstreamId: row.workstream,
          cycle: cycleOf(row, itemsByCycle.get(row.id) ?? []),
        }));
        return { items, hasNext: rows.length > first, totalCount: await em.count(ApprovalCycleRow, open) };
      }),

    decisionOf: (workstreamId, cycleId, callId) =>
      available(async () => {
        const em = reader();
        const cycle = await em.findOne(ApprovalCycleRow, { id: cycleId, workstream: workstreamId });
        const item = cycle && (await em.findOne(ApprovalItemRow, { cycle: cycleId, callId }));
        return item && decisionOf(item);
      }),
  };
}

/** By the index of live turns: as many of them as run, whatever has ever been. */
const hasLiveTurn = 'id in (select workstream_id from turn where outcome is null)';
const waits = `state = 'ATTENTION'`;

const liveSession = (id: string) => ({
  id,
  endedAt: null,
  expiresAt: { $gt: raw<Date>('clock_timestamp()') },
});

/** What comes after a position when newest comes first. The first condition alone lets the index begin there. */
const before = <K extends string>(time: K, { at, id }: Position) => ({
  [time]: { $lte: new Date(at) },
  $or: [{ [time]: { $lt: new Date(at) } }, { id: { $lt: id } }],
});
