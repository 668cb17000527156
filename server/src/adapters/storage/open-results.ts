/**
 * Owns: that results which wait for the others of their batch are stored once, in their entries, and not written anew into
 * the head row with every entry that follows: of 128 results with 4 MiB together that was half a gigabyte.
 *
 * Invariants: what is read back is what was written; rows of earlier builds, which hold the results whole, are read as well.
 */
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Batch, BatchCall, Projection, ToolResult } from 'schema/projection';
import { settledKey } from '../../core/journal/entry.ts';
import { EntryRow } from './entities/entry.ts';
import type { StoredProjection } from './entities/workstream.ts';

export function withoutResults(projection: Projection): StoredProjection {
  const { batch } = projection;
  if (!batch) return projection;
  const calls = batch.calls.map((open) => {
    if (!open.result) return open;
    const { content: _, ...result } = open.result;
    return { ...open, result };
  });
  return { ...projection, batch: { ...batch, calls } };
}

/** The fold as it was; one question more while a batch is open. */
export async function withResults(
  em: SqlEntityManager,
  workstream: string,
  { batch, ...rest }: StoredProjection,
): Promise<Projection> {
  const elsewhere = (batch?.calls ?? []).flatMap(({ call, result }) =>
    result && result.content === undefined ? [settledKey(call.callId)] : [],
  );
  if (!batch || elsewhere.length === 0) return { ...rest, batch: batch as Batch | null };
  const rows = await em.find(
    EntryRow,
    { workstream, commitKey: { $in: elsewhere } },
    { disableIdentityMap: true },
  );
  const results = new Map(rows.map(({ commitKey, payload }) => [commitKey, payload['result'] as ToolResult]));
  const calls = batch.calls.map((open): BatchCall => {
    const { call, result } = open;
    // One that is not there was deleted with its workstream, a moment ago.
    const whole = result && { content: results.get(settledKey(call.callId))?.content ?? '', ...result };
    return { ...open, result: whole };
  });
  return { ...rest, batch: { ...batch, calls } };
}
