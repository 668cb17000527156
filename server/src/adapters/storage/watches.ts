/**
 * Owns: how polls of watches go, in PostgreSQL (D-81, D-84, D-86). Does not own: what a watch is (`write-watches.ts`).
 *
 * Invariants: of those who want a poll one gets it, until its lease or its session is over; only who has it lands what
 * came of it, once, with all that follows from it, in one statement. Times are the database's, and one that goes back
 * puts no poll off by more than its interval. No statement looks at more than what is due, waits, or is asked for.
 */
import { isFired, type Fire, type Watch } from 'schema/projection';
import { cutHead } from '../../core/kit/cut.ts';
import { fireCapacity } from '../../core/watches/definition.ts';
import { storable } from '../../core/kit/storable.ts';
import {
  outputBytesKept,
  pollsKept,
  tailKept,
  type ClaimedPoll,
  type PollOutcome,
  type PollRecord,
  type WatchCounts,
  type WatchRow as Row,
  type WatchStore,
} from '../../ports/watches.ts';
import { WatchPollRow, WatchRow } from './entities/watch.ts';
import { available } from './faults.ts';
import type { Orm } from './orm.ts';
import { live } from './ownership.ts';
import { publishedOnly } from './published.ts';

/** Of one statement, and one that an index can be asked with. */
const now = 'statement_timestamp()';
/** Back by so much: the clock was set, and not only read out of turn. */
const jumpMs = 1_000;

const ms = (interval: string): string => `(extract(epoch from ${interval}) * 1000)::float8`;

/** SQL: a workstream `w` is one that this session can load, if it has not. */
const loadable = `w.lifecycle = 'OPEN' and w.quarantine is null
  and (w.owner_session_id is null or w.owner_session_id = :sessionId or not ${live('w.owner_session_id')})`;

/**
 * SQL: the same, of the workstream of a watch `t`. Not a join, which the planner would begin with the workstreams as long as
 * nobody has counted them, and then read all that is due for each.
 */
const ofLoadable = `(select ${loadable} from workstream w where w.id = t.workstream_id)`;

/** SQL: a poll of it is under way. */
const running = (watch: string): string =>
  `coalesce(${watch}.lease_until > ${now} and ${live(`${watch}.claimed_by`)}, false)`;

/**
 * Those before it that are due count like those under way: whoever claims at the same time comes to the same. It is the
 * place in the order that a poll is given by.
 */
const roomInWorkstream = `(select count(*) from watch o where o.workstream_id = t.workstream_id and o.slot is not null and o.id <> t.id
  and (${running('o')} or (o.next_poll_at, o.id) < (t.next_poll_at, t.id))) < :perWorkstream`;

const claimSql = `
  with due as (
    select t.id, ${ms(`${now} - t.next_poll_at`)} as late
    from watch t
    where t.host = :host and t.next_poll_at <= ${now} and not ${running('t')} and ${ofLoadable} and ${roomInWorkstream}
      and ${live(':sessionId')}
    order by t.next_poll_at, t.id limit :limit for no key update of t skip locked)
  update watch t set claim = gen_random_uuid()::text, claimed_by = :sessionId, lease_until = ${now} + :leaseMs * interval '1 millisecond',
    claim_canceled = false
  from due where t.id = due.id
  returning t.id, t.claim, t.workstream_id as "workstreamId", t.watch, t.polls, t.fires, due.late, t.errors, t.last_output as output,
    ${ms('t.next_poll_at')} as scheduled, coalesce(t.deadline <= ${now}, false) as overdue,
    (select workspace from workstream w where w.id = t.workstream_id) as workspace`;

interface Claimed {
  readonly id: string;
  readonly claim: string;
  readonly workstreamId: string;
  readonly watch: Watch;
  readonly workspace: string;
  readonly polls: number;
  readonly fires: number;
  readonly late: number;
  readonly errors: number;
  readonly output: string | null;
  readonly scheduled: number;
  readonly overdue: boolean;
}

/** The first that nobody polls, and when the first that somebody does is free again at the latest. */
const untilDueSql = `
  with free as (
    select t.next_poll_at as at from watch t
    where t.host = :host and t.next_poll_at is not null and not ${running('t')} and ${ofLoadable}
    order by t.next_poll_at, t.id limit 1)
  select ${ms(now)} as now, ${ms(`least((select at from free), case when (select at from free) <= ${now} then null else (
    select min(t.lease_until) from watch t
    where t.host = :host and t.next_poll_at <= ${now} and ${running('t')} and ${ofLoadable}) end) - ${now}`)} as until`;

/** After the clock went back: nothing is due later than an interval from now, and nobody has it for longer than a lease. */
const bringForwardSql = `
  update watch t set next_poll_at = case when late.poll then least(late.next, deadline) else next_poll_at end,
    lease_until = case when late.lease then late.until else lease_until end
  from (
    select id, next, until, next_poll_at > next as poll, lease_until > until as lease
    from watch, lateral (select ${now} + every_seconds * interval '1 second' as next, ${now} + :leaseMs * interval '1 millisecond' as until) latest
    where next_poll_at > next or lease_until > until for no key update of watch skip locked) late
  where t.id = late.id`;

/** All that are active are looked at: it is done when an answer was lost. */
const giveBackSql = `
  update watch set claim = null, claimed_by = null, lease_until = null
  where slot is not null and claimed_by = :sessionId and claim <> all(string_to_array(:except, ','))`;

/**
 * The next poll keeps the cadence: missed ones are left out, and none is put off by more than an interval when the clock
 * went back. What was made due meanwhile stays so. The poll of a claim that was canceled is written down and tells
 * nothing; one that was not run is no poll. Where too many wait, what is neither among the first of its watch nor an end
 * makes room for the new one.
 */
const recordSql = `
  with held as (
    select id, version = :version and status = 'ACTIVE' and not claim_canceled as fresh
    from watch where id = :watchId and claim = :claim for no key update),
  landed as (
    update watch t set claim = null, claimed_by = null, lease_until = null,
      polls = t.polls + :ran::int, fires = t.fires + (held.fresh and :fired)::int,
      last_poll_at = case when :ran then ${now} - :durationMs * interval '1 millisecond' else t.last_poll_at end,
      errors = case when held.fresh then :errors else t.errors end,
      last_exit_code = case when held.fresh and :ran then :exitCode::int else t.last_exit_code end,
      last_error = case when held.fresh and :ran then :error::text else t.last_error end,
      last_output = case when held.fresh and :ran then coalesce(:output::text, t.last_output) else t.last_output end,
      next_poll_at = case
        when held.fresh and :ended then null
        when not held.fresh or t.next_poll_at is distinct from :scheduledAt::timestamptz(3) then t.next_poll_at
        else least(
          t.next_poll_at + t.every_seconds * (floor(greatest(0, extract(epoch from ${now} - t.next_poll_at)) / t.every_seconds) + 1)::float8 * interval '1 second',
          ${now} + t.every_seconds * interval '1 second', t.deadline) end
    from held where t.id = held.id
    returning t.id, t.workstream_id, t.polls, held.fresh),
  kept as (
    insert into watch_poll (watch_id, poll, at, duration_ms, exit_code, fired, error, output_tail)
    select id, polls, ${now} - :durationMs * interval '1 millisecond', :durationMs, :exitCode::int, fresh and :fired, :error::text, :tail
    from landed where :ran),
  forgotten as (
    delete from watch_poll p using landed where p.watch_id = landed.id and p.poll <= landed.polls - ${pollsKept}),
  skipped as (
    delete from watch_delivery d using landed
    where fresh and d.watch_id = landed.id and d.poll < (:fire::jsonb ->> 'poll')::int and not (d.fire ->> 'ended')::boolean
      and (select count(*) from watch_delivery o where o.watch_id = d.watch_id and o.poll < d.poll) >= ${fireCapacity - 1}),
  told as (
    insert into watch_delivery (watch_id, poll, workstream_id, fire, at)
    select id, (:fire::jsonb ->> 'poll')::int, workstream_id, :fire::jsonb, ${now} from landed where fresh and :fire::text is not null
    on conflict (watch_id, poll) do nothing)
  select fresh from landed`;

/** Without a comma: ids of ours. */
const heldSql = `
  select claim from watch where id = any(string_to_array(:watchIds, ',')) and claim = any(string_to_array(:claims, ','))
  and not claim_canceled`;

const waitingSql = `
  select d.workstream_id as id from watch_delivery d join workstream w on w.id = d.workstream_id
  where w.host = :host and ${loadable} and d.workstream_id > :after
  group by d.workstream_id order by d.workstream_id limit :limit`;

/** A closed one is told nothing, which it could not write down. Not by time, which a clock may have turned round. */
const deliveriesSql = `
  select d.fire from watch_delivery d join workstream w on w.id = d.workstream_id
  where d.workstream_id = :workstreamId and w.lifecycle = 'OPEN'
  order by d.poll, d.watch_id limit :limit`;

/** Where a machine is gone, much more is due than is due here: the planner, who cannot know, would read all there is. */
export const byIndex = 'set local enable_seqscan = off';

const countsSql = `
  select count(*) filter (where not running)::float8 as due,
    count(*) filter (where running and claimed_by = :sessionId)::float8 as running,
    count(*) filter (where not running and next_poll_at < ${now} - interval '1 second')::float8 as late,
    (select count(*) from watch_delivery d join workstream w on w.id = d.workstream_id
      where w.host = :host and ${loadable})::float8 as waiting
  from (select t.next_poll_at, t.claimed_by, ${running('t')} as running from watch t join workstream w on w.id = t.workstream_id
    where t.host = :host and t.next_poll_at <= ${now} and ${loadable}) due`;

const newestFirst = { createdAt: 'desc', id: 'desc' } as const;

export function createWatchStore(orm: Orm): WatchStore {
  const reader = publishedOnly(orm);
  /** The database's clock as it was seen last; before it was, it may have gone back. */
  let seen = Infinity;

  return {
    claim: (request) =>
      available(async () => {
        const rows = await orm.em.fork().execute<Claimed[]>(claimSql, { ...request });
        return rows.toSorted((a, b) => a.scheduled - b.scheduled || (a.id < b.id ? -1 : 1)).map(claimedPoll);
      }),

    giveBack: (sessionId, except) =>
      available(async () => {
        const known = except.map(({ claim }) => claim).join();
        await orm.em.fork().execute(giveBackSql, { sessionId, except: known });
      }),

    untilDue: (request) =>
      available(async () => {
        const ask = async () =>
          (
            await orm.em
              .fork()
              .execute<{ readonly now: number; readonly until: number | null }[]>(untilDueSql, { ...request })
          )[0]!;
        const first = await ask();
        const wentBack = first.now < seen - jumpMs;
        seen = first.now;
        if (!wentBack) return first.until;
        await orm.em.fork().execute(bringForwardSql, { leaseMs: request.leaseMs });
        return (await ask()).until;
      }),

    held: (claims) =>
      available(async () => {
        const rows = await orm.em.fork().execute<{ readonly claim: string }[]>(heldSql, {
          watchIds: claims.map(({ watchId }) => watchId).join(),
          claims: claims.map(({ claim }) => claim).join(),
        });
        const held = new Set(rows.map(({ claim }) => claim));
        return claims.filter(({ claim }) => held.has(claim));
      }),

    record: (outcome) =>
      available(async () => {
        const [landed] = await orm.em
          .fork()
          .execute<{ readonly fresh: boolean }[]>(recordSql, recordParameters(outcome));
        if (!landed) return 'LOST';
        return landed.fresh ? 'RECORDED' : 'STALE';
      }),

    waiting: (request) =>
      available(async () => {
        const rows = await orm.em
          .fork()
          .execute<{ readonly id: string }[]>(waitingSql, { ...request, after: request.after ?? '' });
        return rows.map(({ id }) => id);
      }),

    deliveries: (request) =>
      available(async () => {
        const rows = await orm.em.fork().execute<{ readonly fire: Fire }[]>(deliveriesSql, { ...request });
        return rows.map(({ fire }) => fire);
      }),

    get: (watchId) =>
      available(async () => {
        const row = await reader().findOne(WatchRow, { id: watchId }, { disableIdentityMap: true });
        return row && watchRow(row);
      }),

    list: ({ workstreamId, ended, limit, after }) =>
      available(async () => {
        const em = reader();
        const last = after === null ? null : await em.findOne(WatchRow, { id: after });
        if (after !== null && !last) return [];
        const rows = await em.find(
          WatchRow,
          {
            ...(workstreamId !== null && { workstream: workstreamId }),
            ...(!ended && { slot: { $ne: null } }),
            ...(last && {
              createdAt: { $lte: last.createdAt },
              $or: [{ createdAt: { $lt: last.createdAt } }, { id: { $lt: last.id } }],
            }),
          },
          { orderBy: newestFirst, limit, disableIdentityMap: true },
        );
        return rows.map(watchRow);
      }),

    polls: (watchId, { limit, before }) =>
      available(async () => {
        const rows = await orm.em
          .fork()
          .find(
            WatchPollRow,
            { watch: watchId, ...(before !== null && { poll: { $lt: before } }) },
            { orderBy: { poll: 'desc' }, limit, disableIdentityMap: true },
          );
        return rows.map(pollRecord);
      }),

    counts: (request) =>
      available(async () => {
        const [counts] = await orm.em.fork().transactional(async (em) => {
          await em.execute(byIndex);
          return em.execute<WatchCounts[]>(countsSql, { ...request });
        });
        return counts!;
      }),
  };
}

export function recordParameters({ claim, durationMs, exitCode, output, error, errors, fire }: PollOutcome) {
  const text = output === null ? null : storable(output);
  return {
    watchId: claim.watchId,
    claim: claim.claim,
    version: claim.version,
    scheduledAt: claim.scheduledAt,
    ran: !claim.overdue,
    fired: fire !== null && isFired(fire),
    ended: fire?.ended ?? false,
    durationMs: Math.max(0, Math.round(durationMs)),
    exitCode,
    errors,
    error: storable(error),
    output: text === null ? null : cutBytes(text, outputBytesKept),
    tail: cutHead(text ?? '', tailKept),
    fire: fire === null ? null : JSON.stringify(storable(fire)),
  };
}

/** At most so many bytes of it, whole characters. */
function cutBytes(text: string, bytes: number): string {
  const all = Buffer.from(text);
  if (all.length <= bytes) return text;
  let end = bytes;
  // A byte 10xxxxxx goes on with a character that began before.
  while (end > 0 && (all[end]! & 0xc0) === 0x80) end -= 1;
  return all.toString('utf8', 0, end);
}

function claimedPoll(row: Claimed): ClaimedPoll {
  const {
    id,
    claim,
    workstreamId,
    watch,
    workspace,
    polls,
    fires,
    late,
    errors,
    output,
    scheduled,
    overdue,
  } = row;
  const { version, definition, author, depth, createdAt } = watch;
  return {
    claim,
    workstreamId,
    watchId: id,
    version,
    definition,
    author,
    depth,
    workspace,
    poll: polls + 1,
    scheduledAt: new Date(Math.round(scheduled)).toISOString(),
    createdAt,
    lateMs: Math.max(0, late),
    prevOutput: output,
    errors,
    fires,
    overdue,
  };
}

function watchRow(row: WatchRow): Row {
  return {
    workstreamId: row.workstream,
    watch: row.watch,
    polls: row.polls,
    fires: row.fires,
    nextPollAt: row.nextPollAt?.toISOString() ?? null,
    lastPollAt: row.lastPollAt?.toISOString() ?? null,
    lastExitCode: row.lastExitCode ?? null,
    lastOutput: row.lastOutput ?? null,
    lastError: row.lastError ?? null,
  };
}

function pollRecord({ poll, at, durationMs, exitCode, fired, error, outputTail }: WatchPollRow): PollRecord {
  return {
    poll,
    at: at.toISOString(),
    durationMs,
    exitCode: exitCode ?? null,
    fired,
    error: error ?? null,
    outputTail,
  };
}
