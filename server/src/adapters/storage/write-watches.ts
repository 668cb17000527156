/**
 * Owns: what a batch changes of watches: what its WATCH entries say, one after the other, and that what a watch had to
 * tell waits no more once it is written down, or the watch has ended (D-80, D-84).
 * Does not own: how polls go (`watches.ts`).
 *
 * Relies on: the caller has locked the row of the workstream, so that nobody else gives out its places.
 */
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Entry, Fire, Watch } from 'schema/projection';
import { watchCapacity } from '../../core/watches/definition.ts';

/** A watch that has a deadline is due then at the latest. Now is not rounded to the next millisecond, where it would be late. */
const due = `case when :status <> 'ACTIVE' then null
  when :due::text = 'NOW' then least(date_trunc('milliseconds', clock_timestamp()), :deadline::timestamptz)
  when :due::text = 'LATER' then least(clock_timestamp() + :everySeconds * interval '1 second', :deadline::timestamptz) end`;

/** The place it has, or the first that is free; none is when there are too many, which the table refuses. */
const slot = `case when :status <> 'ENDED' then coalesce((select slot from watch where id = :id),
  (select min(s) from generate_series(1, ${watchCapacity}) s
    where not exists (select from watch o where o.workstream_id = w.id and o.slot = s))) end`;

/**
 * What waits to be told is its end, as it is now: nothing makes it due any more, or it would find what nobody is told. (As
 * `core/watches/fires.ts` has it; one that waits for something else by now goes on.)
 */
const saysItsEnd = `exists (select from watch_delivery d where d.watch_id = t.id and (d.fire ->> 'ended')::boolean
  and (d.fire ->> 'reason' = 'DEADLINE' or d.fire -> 'definition' = excluded.watch -> 'definition'))`;

/**
 * An edit, a pause and an end cancel a claim: its outcome tells nothing. It is held still, until its command has ended, and
 * the next poll waits for that. What a command of before has put out is nothing to compare with.
 */
const putWatch = `
  insert into watch as t (id, workstream_id, host, slot, name, version, status, every_seconds, deadline, watch, created_at,
    next_poll_at, polls, fires, errors)
  select :id, w.id, w.host, ${slot}, :name, :version, :status, :everySeconds, :deadline::timestamptz, :watch::jsonb,
    :createdAt::timestamptz, ${due}, 0, 0, 0
  from workstream w where w.id = :workstreamId
  on conflict (id) do update set slot = excluded.slot, name = excluded.name, version = excluded.version,
    status = excluded.status, every_seconds = excluded.every_seconds, deadline = excluded.deadline, watch = excluded.watch,
    next_poll_at = case when ${saysItsEnd} then null
      when excluded.status = 'ACTIVE' and :due::text is null then t.next_poll_at else excluded.next_poll_at end,
    claim_canceled = t.claim_canceled or excluded.status <> 'ACTIVE' or excluded.version <> t.version,
    errors = case when excluded.version = t.version then t.errors else 0 end,
    last_output = case when excluded.watch #>> '{definition,command}' = t.watch #>> '{definition,command}' then t.last_output end`;

/** And what is of an earlier poll, which nobody will write down after that. */
const writtenDown = `
  delete from watch_delivery d using jsonb_to_recordset(:fires::jsonb) as said ("watchId" text, poll int)
  where d.workstream_id = :workstreamId and d.watch_id = said."watchId" and d.poll <= said.poll`;

/** Nothing is asked of the database when no entry is about a watch. */
export async function writeWatches(
  em: SqlEntityManager,
  workstreamId: string,
  entries: readonly Entry[],
): Promise<void> {
  const fires: Pick<Fire, 'watchId' | 'poll'>[] = [];
  for (const entry of entries) {
    if (entry.kind === 'SYSTEM' && entry.fire)
      fires.push({ watchId: entry.fire.watchId, poll: entry.fire.poll });
    if (entry.kind !== 'WATCH') continue;
    // Not only the last word on each: when it is due may be said by an earlier one.
    await em.execute(putWatch, { ...columns(entry.watch), workstreamId });
    if (entry.watch.status === 'ENDED')
      await em.execute('delete from watch_delivery where watch_id = :id', { id: entry.watch.id });
  }
  if (fires.length > 0) await em.execute(writtenDown, { workstreamId, fires: JSON.stringify(fires) });
}

function columns(watch: Watch) {
  const { id, version, status, definition, createdAt, due } = watch;
  const { name, everySeconds, deadline } = definition;
  return { id, version, status, name, everySeconds, deadline, createdAt, due, watch: JSON.stringify(watch) };
}
