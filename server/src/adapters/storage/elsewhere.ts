/**
 * Owns: what became visible in the database between two looks, in one query.
 *
 * Invariant: a mark is a snapshot of PostgreSQL, not a time or a number: what is asked for is what was written by
 * transactions that the earlier snapshot does not see and this one does. None is missed that committed late, and none
 * comes twice, by whatever clock and in whatever order they began.
 */
import type { WorkstreamState } from 'schema/projection';
import type { SummaryRow } from '../../ports/catalog.ts';
import type { Elsewhere, StoredHead } from '../../ports/elsewhere.ts';
import { available } from './faults.ts';
import type { Orm } from './orm.ts';

interface Row extends Pick<SummaryRow, 'id' | 'title' | 'stopping' | 'model' | 'revision'> {
  readonly state: WorkstreamState;
  readonly lifecycle: 'OPEN' | 'CLOSED';
  readonly createdAt: string;
  readonly updatedAt: string;
}

// Nobody runs what is quarantined, whatever its last entry said (D-71).
const shown = `id, title, case when quarantine is null then state else 'ERROR' end as state, stopping, lifecycle, model,
  revision, created_at as "createdAt", updated_at as "updatedAt"`;

/**
 * The first bound lets the index begin at the oldest transaction the mark did not see. The second keeps out numbers of
 * another cluster, which a restored dump brings and which are not given out here yet.
 */
const since = (xid: string): string => `${xid} >= pg_snapshot_xmin(?::pg_snapshot)
  and ${xid} < pg_snapshot_xmax(pg_current_snapshot()) and not pg_visible_in_snapshot(${xid}, ?::pg_snapshot)`;

const all = (rows: string): string => `(select coalesce(json_agg(r), '[]') from (${rows}) r)`;

/** The one query, for `explain` too. Parameters: `lookParameters`. */
export const lookSql = `select pg_current_snapshot()::text as mark,
  ${all(`select ${shown}, incarnation, epoch from workstream
    where lifecycle <> 'CREATING' and id = any(string_to_array(?, ','))`)} as asked,
  ${all(`select ${shown} from workstream where lifecycle <> 'CREATING' and ${since('listed_xid')}`)} as changed,
  ${all(`select workstream_id as id from workstream_deletion where ${since('xid')}`)} as deleted`;

export const lookParameters = (ids: readonly string[], mark: string | null): (string | null)[] => [
  // Whoever follows may have asked for anything; what is no id is not there.
  ids.filter((id) => /^[\w-]+$/.test(id)).join(),
  mark,
  mark,
  mark,
  mark,
];

export function createElsewhere(orm: Orm): Elsewhere {
  return {
    look: (ids, mark) =>
      available(async () => {
        const [seen] = await orm.em.fork().execute<
          {
            readonly mark: string;
            readonly asked: readonly (Row & StoredHead)[];
            readonly changed: readonly Row[];
            readonly deleted: readonly { readonly id: string }[];
          }[]
        >(lookSql, lookParameters(ids, mark));
        return {
          mark: seen!.mark,
          asked: seen!.asked.map(timed),
          changed: seen!.changed.map(timed),
          deleted: seen!.deleted.map(({ id }) => id),
        };
      }),
  };
}

/** JSON writes times as PostgreSQL does. */
const timed = <T extends Row>(row: T): T => ({
  ...row,
  createdAt: new Date(row.createdAt).toISOString(),
  updatedAt: new Date(row.updatedAt).toISOString(),
});
