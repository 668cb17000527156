/**
 * Owns: what every database of Weir must say, whatever happened, as plain SQL over its tables. Each audit works out from
 * the payloads of entries what a column or a table says, and gives the rows that say otherwise.
 *
 * Invariants: nothing of the product is used here, not even its fold: an audit that shared the code could only agree.
 * An audit looks at what is committed, at any moment; it needs no end of a turn. PostgreSQL 15 or newer.
 */
import pg from 'pg';

export interface Audit {
  /** What holds, with the rule it comes from. */
  readonly says: string;
  /** Gives `workstream` and `detail` of what is wrong. */
  readonly sql: string;
}

/** Runs SQL and gives the rows. */
export type Query = (sql: string) => Promise<readonly object[]>;

/** All that is wrong, a line each; at most five lines for an audit. */
export async function audit(query: Query): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const { says, sql } of audits)
    for (const row of await query(`select * from (${sql}) as wrong limit 5`)) {
      const { workstream, detail } = row as { readonly workstream: string | null; readonly detail: string };
      wrong.push(`${says} ${workstream ?? 'No workstream'}: ${detail}`);
    }
  return wrong;
}

/** The same, of the database at this URL. */
export async function auditAt(url: string): Promise<readonly string[]> {
  const client = new pg.Client(url);
  // It may be that its server is killed meanwhile; the query says so too.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await audit(async (sql) => (await client.query<Record<string, unknown>>(sql)).rows);
  } finally {
    await client.end();
  }
}

// ---- what the payloads say ----

const turns = `
  select workstream_id, revision, epoch, generation, payload -> 'turn' as turn, payload #>> '{turn,id}' as id,
    payload #>> '{turn,phase}' as phase, payload #>> '{turn,kind}' as kind, payload #> '{turn,outcome}' <> 'null' as settled
  from entry where kind = 'TURN'`;

/** The last word on each turn. */
const lastTurns = `select distinct on (workstream_id, id) * from (${turns}) t order by workstream_id, id, revision desc`;

/** The TURN entry that is the last one at each entry, itself included. */
const under = (entry: string): string => `
  left join lateral (select * from (${turns}) t where t.workstream_id = ${entry}.workstream_id
    and t.revision <= ${entry}.revision order by t.revision desc limit 1) live on true`;

const calls = `
  select workstream_id, revision, turn_id, id as message_id, place, call, call ->> 'callId' as id
  from entry, jsonb_array_elements(payload -> 'calls') with ordinality as declared (call, place)
  where kind = 'ASSISTANT'`;

const ofCall = (kind: string): string =>
  `select workstream_id, revision, payload, payload ->> 'callId' as id from entry where kind = '${kind}'`;

const cycles = `
  select workstream_id, revision, payload -> 'cycle' as cycle, payload #>> '{cycle,id}' as id,
    payload #>> '{cycle,status}' as status
  from entry where kind = 'APPROVAL'`;

const lastCycles = `select distinct on (id) * from (${cycles}) c order by id, revision desc`;

const items = `
  select c.*, item, place, item ->> 'callId' as call_id, nullif(item -> 'decision', 'null') as decision
  from (${cycles}) c, jsonb_array_elements(cycle -> 'items') with ordinality as asked (item, place)`;

const queues = `
  select workstream_id, revision, payload -> 'queue' as queue,
    lag(payload -> 'queue') over (partition by workstream_id order by revision) as before
  from entry where kind = 'QUEUE'`;

const waiting = `
  select workstream_id, revision, item, place, item ->> 'id' as id
  from (${queues}) q, jsonb_array_elements(queue -> 'items') with ordinality as waits (item, place)`;

const last = (kind: string): string =>
  `(select e.payload from entry e where e.workstream_id = w.id and e.kind = '${kind}' order by e.revision desc limit 1)`;

/** Where the batch of calls that a fold still knows can begin: behind the last end of a turn. */
const lastEnd = `coalesce((select max(t.revision) from (${turns}) t where t.workstream_id = w.id and t.settled), 0)`;

const openBatch = `
  select c.workstream_id, c.message_id, c.call, c.place, c.id
  from workstream w join (${calls}) c on c.workstream_id = w.id
  where c.revision = (select max(d.revision) from (${calls}) d where d.workstream_id = w.id) and c.revision > ${lastEnd}
    and not exists (select from (${ofCall('TOOL')}) tool where tool.workstream_id = w.id and tool.id = c.id)`;

const standingCycles = `
  select c.* from workstream w join (${cycles}) c on c.workstream_id = w.id
  where not exists (select from (${cycles}) later where later.id = c.id and later.revision > c.revision)
    and c.revision > ${lastEnd}
    and c.revision > coalesce((select max(e.revision) from entry e where e.workstream_id = w.id and e.kind = 'ASSISTANT'), 0)`;

const lastTurn = `
  select distinct on (workstream_id) * from (${turns}) t order by workstream_id, revision desc`;

const rewinds = `
  select workstream_id, revision, (payload ->> 'after')::bigint as after, payload ->> 'reason' as reason,
    payload -> 'by' as by
  from entry where kind = 'REWIND'`;

const checkpoints = `
  select workstream_id, revision, id, (payload ->> 'watermark')::bigint as watermark,
    lag((payload ->> 'watermark')::bigint) over (partition by workstream_id order by revision) as before
  from entry where kind = 'CHECKPOINT'`;

/** What was said about how much may be spent: a budget that changes, and a grant, which never makes it less (D-33). */
const limits = `
  select workstream_id, revision, budget::bigint as at, true as is_set
  from (
    select workstream_id, revision, payload #>> '{configuration,tokenBudget}' as budget,
      lag(payload #>> '{configuration,tokenBudget}') over (partition by workstream_id order by revision) as before
    from entry where kind = 'CONFIGURATION') c where budget is distinct from before
  union all
  select workstream_id, revision, (cycle #>> '{budget,spent}')::bigint + (cycle #>> '{budget,grant}')::bigint, false
  from (${cycles}) c where jsonb_path_exists(cycle, '$ ? (exists(@.budget)).items[*] ? (@.decision.verdict == "APPROVED")')`;

const watchEntries = `
  select workstream_id, revision, payload -> 'watch' as watch, payload #>> '{watch,id}' as id, payload #>> '{watch,status}' as status,
    min(revision) over (partition by workstream_id, payload #>> '{watch,id}') as first
  from entry where kind = 'WATCH'`;

/** The last word on each watch. */
const lastWatches = `select distinct on (workstream_id, id) * from (${watchEntries}) s order by workstream_id, id, revision desc`;

const fires = `
  select workstream_id, revision, payload #>> '{fire,watchId}' as watch_id, (payload #>> '{fire,poll}')::int as poll
  from entry where kind = 'SYSTEM' and payload ? 'fire'`;

const sums = `count(*) as calls, count(*) filter (where estimated) as estimated_calls, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
  coalesce(sum(cached_input_tokens), 0) as cached_input_tokens, coalesce(sum(reasoning_tokens), 0) as reasoning_tokens, sum(cost) as cost`;

const iso = (column: string): string =>
  `to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const time = (json: string): string => `(${json})::timestamptz`;

export const audits: readonly Audit[] = [
  // ---- the journal ----
  {
    says: 'Revisions are 1, 2, 3 … up to the head (I1).',
    sql: `
      select w.id as workstream, format('%s entries from %s to %s, head %s', count(e.id), min(e.revision), max(e.revision), w.revision) as detail
      from workstream w left join entry e on e.workstream_id = w.id group by w.id
      having count(e.id) <> w.revision or coalesce(max(e.revision), 0) <> w.revision or coalesce(min(e.revision), 1) <> 1`,
  },
  {
    says: 'Epochs never fall, and the row is not behind its entries (D-7, D-22).',
    sql: `
      select workstream_id as workstream, format('epoch %s at %s after %s', epoch, revision, before) as detail
      from (select *, lag(epoch) over (partition by workstream_id order by revision) as before from entry) e where epoch < before
      union all
      select w.id, format('the row is of epoch %s, entry %s of %s', w.epoch, e.revision, e.epoch)
      from workstream w join entry e on e.workstream_id = w.id where e.epoch > w.epoch`,
  },
  {
    says: 'Generations never fall, and are those of the claims of turns (D-7, I28).',
    sql: `
      select workstream_id as workstream, format('generation %s at %s after %s, claimed %s', generation, revision, before, claimed) as detail
      from (
        select *, lag(generation) over earlier as before,
          coalesce(max(case kind when 'TURN' then (payload #>> '{turn,generation}')::bigint end) over (earlier rows unbounded preceding), 0) as claimed
        from entry window earlier as (partition by workstream_id order by revision)) e
      where generation < before or generation <> claimed`,
  },
  {
    says: 'A turn begins under a claim of its own (D-32).',
    sql: `
      select t.workstream_id as workstream, format('turn %s begins at %s under generation %s', t.id, t.revision, t.generation) as detail
      from (select distinct on (workstream_id, id) * from (${turns}) t order by workstream_id, id, revision) t
      where exists (select from entry e where e.workstream_id = t.workstream_id and e.revision < t.revision and e.generation >= t.generation)`,
  },
  {
    says: 'Commit keys say what must not be written twice, and are not (D-4, I26, I38).',
    sql: `
      select workstream_id as workstream, format('%s at %s has the key %s', kind, revision, commit_key) as detail
      from (
        select *, count(*) over (partition by workstream_id, commit_key) as times, case
          when kind = 'TOOL' then 'tool:' || (payload ->> 'callId')
          when kind = 'TOOL_STARTED' then 'started:' || (payload ->> 'callId')
          when kind = 'TOOL_SETTLED' then 'settled:' || (payload ->> 'callId')
          when kind = 'TURN' and payload #> '{turn,outcome}' <> 'null' then 'settle:' || (payload #>> '{turn,id}')
          when kind = 'SYSTEM' and payload ? 'fire' then 'fire:' || (payload #>> '{fire,watchId}') || ':' || (payload #>> '{fire,poll}')
          else 'entry:' || id end as expected
        from entry) e
      where times > 1 or commit_key <> expected`,
  },
  {
    says: 'An entry names the turn that lives when it is written (I34).',
    sql: `
      select e.workstream_id as workstream, format('%s at %s names turn %s; turn %s lives', e.kind, e.revision, e.turn_id, case when live.settled then null else live.id end) as detail
      from entry e ${under('e')}
      where e.turn_id is distinct from case when live.settled and e.kind <> 'TURN' then null else live.id end`,
  },

  // ---- turns ----
  {
    says: 'One turn lives at a time, and the first end of a turn stays (I25, I26).',
    sql: `
      select workstream_id as workstream, format('turn %s at %s, after %s of turn %s', id, revision, phase_before, id_before) as detail
      from (
        select *, lag(id) over earlier as id_before, lag(settled) over earlier as settled_before, lag(phase) over earlier as phase_before
        from (${turns}) t window earlier as (partition by workstream_id order by revision)) t
      where (id <> id_before and not settled_before) or (id = id_before and settled_before)
      union all
      select workstream_id, format('turn %s ends %s times', id, count(*)) from (${turns}) t where settled
      group by workstream_id, id having count(*) > 1
      union all
      select workstream_id, format('%s rows of live turns', count(*)) from turn where outcome is null
      group by workstream_id having count(*) > 1`,
  },
  {
    says: 'A turn is settled if and only if it has an outcome, a time and a last phase (I27).',
    sql: `
      select workstream_id as workstream, format('turn %s at %s: %s', id, revision, turn) as detail from (${turns}) t
      where settled <> (turn -> 'settledAt' <> 'null') or settled <> (phase in ('COMPLETED', 'FAILED', 'CANCELED'))
        or (settled and turn #>> '{outcome,type}' <> phase)`,
  },
  {
    says: 'After the stop latch a turn only ends, and nothing of it begins (I31).',
    sql: `
      select e.workstream_id as workstream, format('%s at %s of turn %s, latched at %s', e.kind, e.revision, t.id, t.revision) as detail
      from (${turns}) t join entry e on e.workstream_id = t.workstream_id and e.revision > t.revision and e.turn_id = t.id
      where t.phase = 'INTERRUPTING' and (e.kind in ('ASSISTANT', 'TOOL_STARTED', 'CHECKPOINT')
        or (e.kind = 'TURN' and e.payload #>> '{turn,phase}' not in ('INTERRUPTING', 'CANCELED')))`,
  },
  {
    says: 'The turn table is the last word on each turn (D-6).',
    sql: `
      select coalesce(row.workstream_id, t.workstream_id) as workstream, format('turn %s is %s, not %s', coalesce(row.id, t.id), to_jsonb(row), t.turn) as detail
      from turn row full join (${lastTurns}) t on t.workstream_id = row.workstream_id and t.id = row.id
      where row.id is null or t.id is null
        or (row.kind, row.phase, row.generation, row.principal_id, row.principal_name, row.recoveries)
          is distinct from (turn ->> 'kind', t.phase, (turn ->> 'generation')::bigint, turn #>> '{principal,id}', turn #>> '{principal,name}', (turn ->> 'recoveries')::int)
        or (row.outcome, row.outcome_reason, row.outcome_message)
          is distinct from (turn #>> '{outcome,type}', turn #>> '{outcome,reason}', turn #>> '{outcome,message}')
        or (row.started_at, row.settled_at) is distinct from (${time(`turn ->> 'startedAt'`)}, ${time(`turn ->> 'settledAt'`)})`,
  },

  // ---- calls ----
  {
    says: 'Each declared call has one result, before the model speaks again and before its turn ends (I38, D-35).',
    sql: `
      select c.workstream_id as workstream, format('call %s declared at %s, answered at %s, the model speaks again at %s, the turn ends at %s', c.id, c.revision, answered, again, ended) as detail
      from (
        select c.*,
          (select count(*) from (${ofCall('TOOL')}) t where t.workstream_id = c.workstream_id and t.id = c.id) as times,
          (select min(t.revision) from (${ofCall('TOOL')}) t where t.workstream_id = c.workstream_id and t.id = c.id) as answered,
          (select min(e.revision) from entry e where e.workstream_id = c.workstream_id and e.kind = 'ASSISTANT' and e.revision > c.revision) as again,
          (select min(t.revision) from (${turns}) t where t.workstream_id = c.workstream_id and t.id = c.turn_id and t.settled) as ended
        from (${calls}) c) c
      where times > 1 or answered < revision or (answered is null and (again is not null or ended is not null))
        or answered > again or answered > ended`,
  },
  {
    says: 'What starts, ends or is answered was declared once, by an answer before it (D-35).',
    sql: `
      select e.workstream_id as workstream, format('%s at %s of %s', e.kind, e.revision, e.payload ->> 'callId') as detail
      from entry e where e.kind in ('TOOL', 'TOOL_STARTED', 'TOOL_SETTLED')
        and 1 <> (select count(*) from (${calls}) c where c.workstream_id = e.workstream_id and c.id = e.payload ->> 'callId' and c.revision < e.revision and c.call ->> 'name' = e.payload ->> 'name')`,
  },
  {
    says: 'Calls start, then end, then are answered with what their end said, or as much as there is room for, in the order they were declared (D-34).',
    sql: `
      select t.workstream_id as workstream, format('call %s started at %s, ended at %s, answered at %s', t.id, started.revision, ended.revision, t.revision) as detail
      from (${ofCall('TOOL')}) t
      left join (${ofCall('TOOL_STARTED')}) started on started.workstream_id = t.workstream_id and started.id = t.id
      left join (${ofCall('TOOL_SETTLED')}) ended on ended.workstream_id = t.workstream_id and ended.id = t.id
      where started.revision > t.revision or ended.revision > t.revision
        or (ended.payload -> 'result') - 'content' <> t.payload - '{callId,name,tokens,content}'::text[]
        or (ended.payload #>> '{result,content}' <> t.payload ->> 'content' and not t.payload ->> 'content' ~ 'there is no room for')
      union all
      select started.workstream_id, format('call %s started at %s and ended at %s', started.id, started.revision, ended.revision)
      from (${ofCall('TOOL_STARTED')}) started join (${ofCall('TOOL_SETTLED')}) ended on ended.workstream_id = started.workstream_id and ended.id = started.id
      where started.revision > ended.revision
      union all
      select t.workstream_id, format('call %s, declared at %s, is answered at %s', t.id, t.declared, t.revision)
      from (
        select t.*, c.revision as declared,
          lag((c.revision, c.place)) over (partition by t.workstream_id order by t.revision) as before, (c.revision, c.place) as here
        from (${ofCall('TOOL')}) t join (${calls}) c on c.workstream_id = t.workstream_id and c.id = t.id) t
      where t.here < t.before`,
  },
  {
    says: 'NONE is not said of what started and was lost, nor anything else of what never started (D-9).',
    sql: `
      select t.workstream_id as workstream, format('call %s at %s: %s, and never started', t.id, t.revision, t.payload ->> 'effect') as detail
      from (${ofCall('TOOL')}) t
      where t.payload ->> 'effect' <> 'NONE'
        and not exists (select from (${ofCall('TOOL_STARTED')}) s where s.workstream_id = t.workstream_id and s.id = t.id)
      union all
      select r.workstream_id, format('call %s was lost at %s and is said to have done NONE', s.id, r.revision)
      from entry r join (${ofCall('TOOL_STARTED')}) s on s.workstream_id = r.workstream_id and s.revision < r.revision
      join (${ofCall('TOOL')}) t on t.workstream_id = r.workstream_id and t.id = s.id and t.revision > r.revision
      where r.kind = 'RECOVERY' and r.payload ->> 'reason' <> 'DISCARDED' and t.payload ->> 'effect' = 'NONE'
        and not exists (select from (${ofCall('TOOL_SETTLED')}) e where e.workstream_id = r.workstream_id and e.id = s.id and e.revision < r.revision)`,
  },

  // ---- approvals ----
  {
    says: 'A decision is made once and stays; what is closed stays closed (I39, D-64).',
    sql: `
      select workstream_id as workstream, format('call %s of cycle %s at %s: %s, before %s', call_id, id, revision, decision, before) as detail
      from (select *, lag(decision) over (partition by id, call_id order by revision) as before from (${items}) i) i
      where before is not null and before is distinct from decision
      union all
      select workstream_id, format('cycle %s at %s is %s, before %s', id, revision, cycle, before)
      from (select *, lag(cycle) over (partition by id order by revision) as before from (${cycles}) c) c
      where before ->> 'status' <> 'OPEN' and before <> cycle
      union all
      select workstream_id, format('cycle %s at %s is %s', id, revision, cycle) from (${cycles}) c
      where (status = 'OPEN') <> (cycle -> 'closedAt' = 'null')
        or (status <> 'SUPERSEDED') and (status = 'OPEN') <> (jsonb_path_exists(cycle, '$.items[*] ? (@.decision == null)'))`,
  },
  {
    says: 'What a mode decides is what the mode was, in the name of who set it (D-64, I41).',
    sql: `
      select i.workstream_id as workstream, format('call %s at %s: %s, the mode is %s', i.call_id, i.revision, i.decision, mode.payload) as detail
      from (select distinct on (id, call_id) * from (${items}) i where decision is not null order by id, call_id, revision) i
      join lateral (select e.payload from entry e where e.workstream_id = i.workstream_id and e.kind = 'CONFIGURATION' and e.revision < i.revision order by e.revision desc limit 1) mode on true
      where i.decision ->> 'source' <> 'PERSON'
        and (i.decision ->> 'source' is distinct from mode.payload #>> '{configuration,approvalMode}'
          or i.decision -> 'by' is distinct from mode.payload #> '{configuration,approvalModeBy}')`,
  },
  {
    says: 'What was asked about starts only once it is approved, as it was declared (I40, I45).',
    sql: `
      select s.workstream_id as workstream, format('call %s starts at %s, decided %s', s.id, s.revision, i.decision) as detail
      from (${ofCall('TOOL_STARTED')}) s join lateral (
        select * from (${items}) i where i.workstream_id = s.workstream_id and i.call_id = s.id and i.revision < s.revision order by i.revision desc limit 1) i on true
      join (${calls}) c on c.workstream_id = s.workstream_id and c.id = s.id
      where i.decision ->> 'verdict' is distinct from 'APPROVED' or i.item ->> 'arguments' <> c.call ->> 'arguments' or i.item ->> 'name' <> c.call ->> 'name'
      union all
      select i.workstream_id, format('call %s is asked about at %s, and started before', i.call_id, i.revision)
      from (${items}) i join (${ofCall('TOOL_STARTED')}) s on s.workstream_id = i.workstream_id and s.id = i.call_id
      where s.revision < i.revision and i.decision is null`,
  },
  {
    says: 'The tables of approvals are the last word on each cycle and item (D-6).',
    sql: `
      select coalesce(row.workstream_id, c.workstream_id) as workstream, format('cycle %s is %s, not %s', coalesce(row.id, c.id), to_jsonb(row), c.cycle) as detail
      from approval_cycle row full join (
        select c.*, case when c.status = 'OPEN' and t.settled then 'SUPERSEDED' else c.status end as now,
          case when c.status = 'OPEN' and t.settled then t.turn ->> 'settledAt' else c.cycle ->> 'closedAt' end as closed
        from (${lastCycles}) c left join (${lastTurns}) t on t.workstream_id = c.workstream_id and t.id = c.cycle ->> 'turnId') c
        on c.workstream_id = row.workstream_id and c.id = row.id
      where row.id is null or c.id is null
        or (row.kind, row.turn_id, row.status) is distinct from (cycle ->> 'kind', cycle ->> 'turnId', c.now) or row.budget is distinct from cycle -> 'budget'
        or (row.opened_at, row.closed_at) is distinct from (${time(`cycle ->> 'openedAt'`)}, ${time('c.closed')})
      union all
      select i.workstream_id, format('call %s of cycle %s is %s, not %s', coalesce(row.call_id, i.call_id), coalesce(row.cycle_id, i.id), to_jsonb(row), i.item)
      from approval_item row full join (
        select i.* from (${items}) i join (${lastCycles}) c on c.id = i.id and c.revision = i.revision) i
        on i.id = row.cycle_id and i.call_id = row.call_id
      where row.call_id is null or i.call_id is null
        or (row.position + 1, row.name, row.arguments, row.arguments_hash, row.preview, row.basis)
          is distinct from (i.place, item ->> 'name', item ->> 'arguments', item ->> 'argumentsHash', item -> 'preview', item ->> 'basis')
        or (row.verdict, row.source, row.decided_by_id, row.decided_by_name, row.feedback, row.decided_at)
          is distinct from (decision ->> 'verdict', decision ->> 'source', decision #>> '{by,id}', decision #>> '{by,name}', decision ->> 'feedback', ${time(`decision ->> 'at'`)})`,
  },
  {
    says: 'A question is open only while its turn lives and is not stopping (I42).',
    sql: `
      select row.workstream_id as workstream, format('cycle %s of turn %s, which is %s', row.id, row.turn_id, t.phase) as detail
      from approval_cycle row left join (${lastTurns}) t on t.workstream_id = row.workstream_id and t.id = row.turn_id
      where row.status = 'OPEN' and t.phase is distinct from 'RUNNING'`,
  },

  // ---- the queue, and what persons write ----
  {
    says: 'The rows of the queue are its last entry: text, author, delivery, turn, place and time (D-6, D-63).',
    sql: `
      select coalesce(row.workstream_id, q.workstream_id) as workstream, format('message %s waits as %s, not as %s', coalesce(row.id, q.id), to_jsonb(row), q.item) as detail
      from queued_message row full join (
        select q.* from (${waiting}) q where q.revision = (select max(e.revision) from entry e where e.workstream_id = q.workstream_id and e.kind = 'QUEUE')) q
        on q.workstream_id = row.workstream_id and q.id = row.id
      where row.id is null or q.id is null
        or (row.position + 1, row.text, row.author_id, row.author_name) is distinct from (q.place, item ->> 'text', item #>> '{author,id}', item #>> '{author,name}')
        or (row.delivery, row.turn_id, row.after_stop, row.at)
          is distinct from (item ->> 'delivery', item ->> 'turnId', (item ->> 'afterStop')::boolean, ${time(`item ->> 'at'`)})`,
  },
  {
    says: 'At most 20 messages wait; a steer waits for the turn that lives, by its principal (D-12, D-63).',
    sql: `
      select workstream_id as workstream, format('%s messages wait at %s', jsonb_array_length(queue -> 'items'), revision) as detail
      from (${queues}) q where jsonb_array_length(queue -> 'items') > 20
      union all
      select q.workstream_id, format('%s at %s: turn %s is %s', q.item, q.revision, live.id, live.phase)
      from (${waiting}) q ${under('q')}
      where case q.item ->> 'delivery'
        when 'STEER' then live.settled is distinct from false or live.id is distinct from q.item ->> 'turnId' or live.turn #>> '{principal,id}' <> q.item #>> '{author,id}'
        else q.item ->> 'delivery' <> 'QUEUE' or q.item ->> 'turnId' is not null end`,
  },
  {
    says: 'What leaves the queue is said in the same step, or somebody withdrew it; what was said waits no more (I21).',
    sql: `
      select q.workstream_id as workstream, format('%s left the queue at %s', gone, q.revision) as detail
      from (${queues}) q, jsonb_array_elements(before -> 'items') gone
      where not jsonb_path_exists(queue, '$.items[*] ? (@.id == $id)', jsonb_build_object('id', gone -> 'id'))
        and not exists (select from entry e where e.workstream_id = q.workstream_id and e.revision between q.revision + 1 and q.revision + 2
          and e.kind = 'USER' and position(gone ->> 'text' in e.payload ->> 'text') > 0 and e.payload -> 'author' = gone -> 'author')
        and not exists (select from receipt r where r.workstream_id = q.workstream_id and r.outcome -> 'queue' = q.queue)
      union all
      select q.workstream_id, format('message %s waits at %s and is said at %s', q.id, q.revision, e.revision)
      from (${waiting}) q join entry e on e.workstream_id = q.workstream_id and e.id = q.id and e.revision < q.revision`,
  },
  {
    says: 'What a person says is said in a turn of his own (D-12).',
    sql: `
      select e.workstream_id as workstream, format('USER at %s by %s in turn %s of %s', e.revision, e.payload #>> '{author,id}', t.id, t.principal_id) as detail
      from entry e left join turn t on t.workstream_id = e.workstream_id and t.id = e.turn_id
      where e.kind = 'USER' and t.principal_id is distinct from e.payload #>> '{author,id}'
        -- What was copied was said elsewhere.
        and not (e.turn_id is null
          and exists (select from entry f where f.workstream_id = e.workstream_id and f.kind = 'FORK' and f.revision < e.revision)
          and not exists (select from entry b where b.workstream_id = e.workstream_id and b.kind = 'TURN' and b.revision < e.revision))`,
  },

  // ---- going back ----
  {
    says: 'Nothing is taken back while a turn lives; a retry or an edit starts a turn of who asked, at once (D-59, D-12).',
    sql: `
      select r.workstream_id as workstream, format('%s at %s behind %s, under turn %s, then %s', r.reason, r.revision, r.after, live.id, next.payload) as detail
      from (${rewinds}) r ${under('r')}
      left join entry next on next.workstream_id = r.workstream_id and next.revision = r.revision + 1
      where live.settled is distinct from true or r.after < 0 or r.after >= r.revision
        or (r.reason in ('RETRY', 'EDIT') and (next.kind is distinct from 'TURN' or next.payload #> '{turn,principal}' is distinct from r.by))`,
  },
  {
    says: 'A cut parts no call from its result (I38, I47).',
    sql: `
      select r.workstream_id as workstream, format('%s at %s behind %s: call %s of %s is answered at %s', r.reason, r.revision, r.after, c.id, c.revision, t.revision) as detail
      from (${rewinds}) r join (${calls}) c on c.workstream_id = r.workstream_id and c.revision <= r.after
      join (${ofCall('TOOL')}) t on t.workstream_id = r.workstream_id and t.id = c.id and t.revision > r.after and t.revision < r.revision`,
  },
  {
    says: 'What is superseded is what the rewinds say (D-59).',
    sql: `
      select w.id as workstream, format('%s, not %s', w.projection -> 'superseded', coalesce(expected, '[]')) as detail
      from workstream w left join (
        select workstream_id, jsonb_agg(jsonb_build_object('after', lower(span) - 1, 'through', upper(span) - 1) order by span) as expected
        from (select workstream_id, range_agg(int8range(after + 1, revision)) as spans from (${rewinds}) r group by workstream_id) r, unnest(spans) span
        group by workstream_id) r on r.workstream_id = w.id
      where w.lifecycle <> 'CREATING' and w.projection -> 'superseded' is distinct from coalesce(expected, '[]')`,
  },

  // ---- the head row ----
  {
    says: 'The head row says what the last entries say (D-6).',
    sql: `
      select w.id as workstream, format('%s', to_jsonb(w) - 'projection') as detail
      from workstream w
      left join (${lastTurn}) t on t.workstream_id = w.id
      left join lateral (select max(e.generation) as generation, max(e.at) filter (where e.revision = w.revision) as at from entry e where e.workstream_id = w.id) e on true
      where w.lifecycle <> 'CREATING' and (
        (w.lifecycle, w.generation, w.stopping, w.updated_at)
          is distinct from (${last('LIFECYCLE')} ->> 'lifecycle', e.generation, coalesce(t.phase = 'INTERRUPTING', false), e.at)
        or (w.title, w.model, w.workspace)
          is distinct from (${last('CONFIGURATION')} #>> '{configuration,title}', ${last('CONFIGURATION')} #>> '{configuration,model}', ${last('CONFIGURATION')} #>> '{configuration,workspace}'))`,
  },
  {
    says: 'The state in the list is what the last entries make of it (I29).',
    sql: `
      select * from (
        select w.id as workstream, format('%s, not %s', w.state, expected) as detail, w.state, expected
        from workstream w left join (${lastTurn}) t on t.workstream_id = w.id
        cross join lateral (select case
          when w.lifecycle <> 'OPEN' then w.lifecycle
          when not t.settled and exists (select from (${standingCycles}) c where c.workstream_id = w.id and c.status = 'OPEN' and jsonb_path_exists(c.cycle, '$.items[*] ? (@.decision == null)')) then 'ATTENTION'
          when not t.settled and exists (select from (${openBatch}) b where b.workstream_id = w.id) then 'RUNNING'
          when not t.settled then 'THINKING'
          when t.phase = 'FAILED' and t.kind <> 'COMPACT' and not exists (select from (${rewinds}) r where r.workstream_id = w.id and r.revision > t.revision) then 'ERROR'
          else 'IDLE' end as expected) e) s
      where state <> expected`,
  },
  {
    says: 'The projection has the counters, the configuration, the queue, the watches and the time of the last entries (D-58).',
    sql: `
      select w.id as workstream, format('%s, not %s', w.projection - '{turn,batch,cycles,superseded,context,checkpoint,budgetLimit}'::text[], expected) as detail
      from workstream w cross join lateral (
        select jsonb_build_object(
          'revision', max(e.revision), 'epoch', max(e.epoch), 'generation', max(e.generation),
          'lifecycle', ${last('LIFECYCLE')} -> 'lifecycle', 'configuration', ${last('CONFIGURATION')} -> 'configuration',
          'queue', coalesce(${last('QUEUE')} -> 'queue', '{"items": [], "held": false}'),
          'watches', coalesce((select jsonb_agg(l.watch order by l.first) from (${lastWatches}) l where l.workstream_id = w.id and l.status <> 'ENDED'), '[]'),
          'origin', ${last('FORK')} -> 'origin',
          'updatedAt', ${iso('max(e.at) filter (where e.revision = w.revision)')}) as expected
        from entry e where e.workstream_id = w.id) e
      where w.lifecycle <> 'CREATING' and w.projection - '{turn,batch,cycles,superseded,context,checkpoint,budgetLimit}'::text[] is distinct from expected`,
  },
  {
    says: 'The projection has the last turn, which a rewind forgets; progress counts its recoveries anew (D-58, D-71).',
    sql: `
      select w.id as workstream, format('%s, not %s', w.projection -> 'turn', expected) as detail
      from workstream w left join (${lastTurn}) t on t.workstream_id = w.id
      cross join lateral (select case
        when t.turn is null or exists (select from (${rewinds}) r where r.workstream_id = w.id and r.revision > t.revision) then 'null'
        when not t.settled and exists (select from entry e where e.workstream_id = w.id and e.revision > t.revision and e.kind in ('ASSISTANT', 'TOOL_STARTED', 'TOOL_SETTLED', 'TOOL'))
          then jsonb_set(t.turn, '{recoveries}', '0')
        else t.turn end as expected) e
      where w.lifecycle <> 'CREATING' and w.projection -> 'turn' is distinct from expected`,
  },
  {
    says: 'The projection has the calls that are not answered, how far each has come but for what results say, and their questions (D-58).',
    sql: `
      select w.id as workstream, format('%s, not %s', w.projection -> 'batch', expected) as detail
      from workstream w left join (
        select b.workstream_id, jsonb_build_object('messageId', b.message_id, 'calls', jsonb_agg(jsonb_build_object('call', b.call,
          'started', exists (select from (${ofCall('TOOL_STARTED')}) s where s.workstream_id = b.workstream_id and s.id = b.id),
          'result', coalesce((select s.payload #- '{result,content}' -> 'result' from (${ofCall('TOOL_SETTLED')}) s where s.workstream_id = b.workstream_id and s.id = b.id), 'null')) order by b.place)) as expected
        from (${openBatch}) b group by b.workstream_id, b.message_id) b on b.workstream_id = w.id
      where w.lifecycle <> 'CREATING' and w.projection -> 'batch' is distinct from coalesce(expected, 'null')
      union all
      select w.id, format('%s, not %s', w.projection -> 'cycles', expected)
      from workstream w left join (
        select workstream_id, jsonb_agg(cycle order by revision) as expected from (${standingCycles}) c group by workstream_id) c on c.workstream_id = w.id
      where w.lifecycle <> 'CREATING' and w.projection -> 'cycles' is distinct from coalesce(expected, '[]')`,
  },

  // ---- context ----
  {
    says: 'Nothing below a watermark is needed above it: it parts no call from its result, grows, and no rewind goes below (D-40).',
    sql: `
      select workstream_id as workstream, format('the summary at %s is of all up to %s, the one before of all up to %s', revision, watermark, before) as detail
      from (${checkpoints}) k where watermark >= revision or watermark <= before
      union all
      select k.workstream_id, format('the summary at %s is of all up to %s; call %s, declared at %s, is not answered there', k.revision, k.watermark, c.id, c.revision)
      from (${checkpoints}) k join (${calls}) c on c.workstream_id = k.workstream_id and c.revision <= k.watermark
      where not exists (select from (${ofCall('TOOL')}) t where t.workstream_id = c.workstream_id and t.id = c.id and t.revision <= k.watermark)
      union all
      select r.workstream_id, format('%s at %s behind %s, the summary at %s is of all up to %s', r.reason, r.revision, r.after, k.revision, k.watermark)
      from (${rewinds}) r join (${checkpoints}) k on k.workstream_id = r.workstream_id and k.revision < r.revision and r.after < k.watermark`,
  },
  {
    says: 'The projection has the last summary, how much the model is told, and how much may be spent (D-39, D-40, D-33).',
    sql: `
      select w.id as workstream, format('%s, %s and %s, not %s, %s and %s', w.projection -> 'checkpoint', w.projection #> '{context,told}', w.projection -> 'budgetLimit', k.mark, told.tokens, coalesce(budget.at::text, 'null')) as detail
      from workstream w
      left join lateral (select k.revision, k.watermark, jsonb_build_object('id', k.id, 'revision', k.revision, 'watermark', k.watermark) as mark
        from (${checkpoints}) k where k.workstream_id = w.id order by k.revision desc limit 1) k on true
      cross join lateral (
        select coalesce(sum((e.payload ->> 'tokens')::bigint), 0) as tokens from entry e
        where e.workstream_id = w.id and (e.revision = k.revision
          or (e.kind in ('USER', 'ASSISTANT', 'TOOL', 'SYSTEM', 'CANCELLATION') and e.revision > coalesce(k.watermark, 0)
            and not exists (select from jsonb_to_recordset(w.projection -> 'superseded') as span ("after" bigint, "through" bigint)
              where e.revision > span."after" and e.revision <= span."through")))) told
      left join lateral (select l.revision, l.at from (${limits}) l where l.workstream_id = w.id and l.is_set order by l.revision desc limit 1) b on true
      cross join lateral (select case when b.at is not null then greatest(b.at, (select max(l.at) from (${limits}) l
        where l.workstream_id = w.id and not l.is_set and l.revision > b.revision)) end as at) budget
      where w.lifecycle <> 'CREATING' and (
        w.projection -> 'checkpoint' is distinct from coalesce(k.mark, 'null')
        or (w.projection #>> '{context,told}')::bigint is distinct from told.tokens
        or (w.projection ->> 'budgetLimit')::bigint is distinct from budget.at)`,
  },
  {
    says: 'What was spent for a workstream is the sum of its model calls, and so is what its days say (D-5, D-33).',
    sql: `
      select w.id as workstream, format('%s spent, by its calls %s', w.spent, c.tokens) as detail
      from workstream w cross join lateral (
        select coalesce(sum(input_tokens + output_tokens), 0) as tokens from model_call where workstream_id = w.id) c
      where w.spent <> c.tokens
      union all
      select coalesce(d.workstream_id, c.workstream_id), format('%s of %s: %s, by its calls %s', coalesce(d.alias, c.alias), coalesce(d.day, c.day), to_jsonb(d), to_jsonb(c))
      from usage_day d full join (
        select workstream_id, (at at time zone 'utc')::date as day, alias, ${sums} from model_call group by 1, 2, 3) c
        on c.workstream_id = d.workstream_id and c.day = d.day and c.alias = d.alias
      where (d.calls, d.estimated_calls, d.input_tokens, d.output_tokens, d.cached_input_tokens, d.reasoning_tokens, d.cost)
        is distinct from (c.calls, c.estimated_calls, c.input_tokens, c.output_tokens, c.cached_input_tokens, c.reasoning_tokens, c.cost)`,
  },

  // ---- watches ----
  {
    says: 'The table of watches says what the last entry on each says, and where its workstream is run (D-6, D-81, D-84).',
    sql: `
      select coalesce(l.workstream_id, t.workstream_id) as workstream, format('%s, by its entries %s', to_jsonb(t) - '{watch,last_output}'::text[], l.watch) as detail
      from (${lastWatches}) l full join watch t on t.id = l.id and t.workstream_id = l.workstream_id
      where t.watch is distinct from l.watch
        or (t.name, t.version, t.status, t.every_seconds, t.deadline, t.created_at, t.slot is null)
          is distinct from (l.watch #>> '{definition,name}', (l.watch ->> 'version')::int, l.status, (l.watch #>> '{definition,everySeconds}')::int,
            ${time(`l.watch #>> '{definition,deadline}'`)}, ${time(`l.watch ->> 'createdAt'`)}, l.status = 'ENDED')
        -- A poll that is cut short is held until its command has ended.
        or (t.status <> 'ACTIVE' and (t.next_poll_at is not null or t.lease_until is not null and not t.claim_canceled))
      union all
      select w.id, format('watch %s of %s, run on %s', t.id, t.host, w.host)
      from watch t join workstream w on w.id = t.workstream_id where t.slot is not null and t.host is distinct from w.host`,
  },
  {
    says: 'What a watch tells waits, or is written down once, or is of one that has ended; its last polls are there (D-84, D-86).',
    sql: `
      select d.workstream_id as workstream, format('poll %s of watch %s waits; it is %s and written at %s', d.poll, d.watch_id, t.status, f.revision) as detail
      from watch_delivery d join watch t on t.id = d.watch_id
      left join (${fires}) f on f.workstream_id = d.workstream_id and f.watch_id = d.watch_id and f.poll = d.poll
      where f.revision is not null or t.status = 'ENDED' or t.workstream_id <> d.workstream_id or d.poll > t.polls + 1
        or d.fire ->> 'watchId' <> d.watch_id or (d.fire ->> 'poll')::int <> d.poll
      union all
      select f.workstream_id, format('poll %s of watch %s is written %s times', f.poll, f.watch_id, count(*))
      from (${fires}) f group by f.workstream_id, f.watch_id, f.poll having count(*) > 1
      union all
      select t.workstream_id, format('watch %s of %s polls has %s, from %s to %s', t.id, t.polls, count(p.poll), min(p.poll), max(p.poll))
      from watch t left join watch_poll p on p.watch_id = t.id group by t.id
      having count(p.poll) <> least(t.polls, 200) or coalesce(max(p.poll), 0) <> t.polls`,
  },

  // ---- receipts ----
  {
    says: 'A receipt is of the workstream its scope names (D-60).',
    sql: `
      select r.workstream_id as workstream, format('%s of %s', r.key, r.scope) as detail
      from receipt r where r.workstream_id is distinct from nullif(split_part(r.scope, '/', 2), '')`,
  },
  {
    says: 'What a receipt says was done is there: entry, message, turn, cycle, queue, configuration (D-60, I18).',
    sql: `
      select r.workstream_id as workstream, format('%s of %s: %s', r.key, r.scope, o) as detail
      from receipt r cross join lateral (select r.outcome as o) outcome
      where o ->> 'type' = 'Accepted' and exists (select from workstream w where w.id = r.workstream_id) and (
        (o ? 'revision' and not exists (select from entry e where e.workstream_id = r.workstream_id and e.revision = (o ->> 'revision')::bigint
          and (e.kind in ('USER', 'QUEUE', 'TURN', 'REWIND') or (e.kind = 'APPROVAL' and e.payload #>> '{cycle,kind}' = 'BUDGET'))))
        or (o ? 'messageId' and not exists (select from entry e where e.workstream_id = r.workstream_id and e.revision <= (o ->> 'revision')::bigint
          and ((e.kind = 'USER' and e.id = o ->> 'messageId') or (e.kind = 'QUEUE' and jsonb_path_exists(e.payload, '$.queue.items[*] ? (@.id == $id)', jsonb_build_object('id', o -> 'messageId'))))))
        or (o ->> 'turnId' is not null and not exists (select from turn t where t.workstream_id = r.workstream_id and t.id = o ->> 'turnId'))
        or (o ? 'cycle' and not exists (select from entry e where e.workstream_id = r.workstream_id and e.kind = 'APPROVAL' and e.payload -> 'cycle' = o -> 'cycle'))
        or (o ? 'queue' and not exists (select from entry e where e.workstream_id = r.workstream_id and e.kind = 'QUEUE' and e.payload -> 'queue' = o -> 'queue'))
        or (o ? 'configuration' and not exists (select from entry e where e.workstream_id = r.workstream_id and e.kind = 'CONFIGURATION' and e.payload -> 'configuration' = o -> 'configuration')))
      union all
      select o ->> 'workstreamId', format('%s of %s made it, and it is not there', r.key, r.scope)
      from receipt r cross join lateral (select r.outcome as o) outcome
      where o ? 'workstreamId' and not exists (select from workstream w where w.id = o ->> 'workstreamId' and w.lifecycle <> 'CREATING')`,
  },
  {
    says: 'No two receipts of sends speak of one message (I20).',
    sql: `
      select workstream_id as workstream, format('%s receipts of message %s at %s', count(*), outcome ->> 'messageId', outcome ->> 'revision') as detail
      from receipt where outcome ? 'messageId'
      group by workstream_id, outcome ->> 'messageId', outcome ->> 'revision' having count(*) > 1`,
  },
];
