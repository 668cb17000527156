/**
 * Owns: what each audit must find: statements that make a sound database say something else than its journal, or its
 * journal say what never may be. Does not own: the audits (`../support/audits.ts`).
 */

/** One row of a table, by a condition on it. */
const one = (table: string, where: string): string =>
  `ctid = (select ctid from ${table} one where ${where} order by one::text limit 1)`;

const entry = (set: string, where: string): string => `update entry set ${set} where ${one('entry', where)}`;
const put = (path: string, json: string, where: string): string =>
  entry(`payload = jsonb_set(payload, '${path}', '${json}')`, where);
const row = (table: string, set: string, where = 'true'): string =>
  `update ${table} set ${set} where ${one(table, where)}`;
const gone = (table: string, where = 'true'): string => `delete from ${table} where ${one(table, where)}`;
const fold = (path: string, json: string, where: string): string =>
  row('workstream', `projection = jsonb_set(projection, '${path}', '${json}')`, where);

/** Another entry of the same workstream that stands in some relation. */
const other = (kind: string, where: string): string =>
  `exists (select from entry other where other.workstream_id = one.workstream_id and other.kind = '${kind}' and ${where})`;
const sameTurn = `other.payload #>> '{turn,id}' = one.payload #>> '{turn,id}'`;
const sameCall = `other.payload ->> 'callId' = one.payload ->> 'callId'`;
const isSettled = `one.payload #> '{turn,outcome}' <> 'null'`;
const item = `one.payload #> '{cycle,items,0,decision}'`;

/** A summary that nobody made, at the end of a workstream, of all up to a place among its entries `e`. */
const summaryOf = (watermark: string, above = 10_000, where = 'true'): string =>
  `insert into entry (workstream_id, revision, id, kind, epoch, generation, commit_key, payload, at)
   select workstream_id, last + ${above}, workstream_id || '!${above}', 'CHECKPOINT', 1, 1, '!${above}', jsonb_build_object('watermark', watermark), now()
   from (select e.workstream_id, max(e.revision) as last, ${watermark} as watermark from entry e group by e.workstream_id) one
   where watermark is not null and ${where} order by workstream_id limit 1`;

const someone = `(select * from workstream where lifecycle <> 'CREATING' order by id limit 1) w`;
const aWatch = (more = '{}'): string =>
  `'{"id": "a watch", "version": 1, "status": "ACTIVE", "createdAt": "2026-01-01T00:00:00.000Z", "definition": {"name": "a", "everySeconds": 60, "deadline": null}}'::jsonb || '${more}'`;

/** An entry at the end of a workstream, `times` times. */
const said = (kind: string, payload: string, times = 1): string =>
  `insert into entry (workstream_id, revision, id, kind, epoch, generation, commit_key, payload, at)
   select w.id, w.revision + n, w.id || '!' || n, '${kind}', w.epoch, w.generation, '!' || n, ${payload}, now() from ${someone}, generate_series(1, ${times}) n`;
const saidWatch = said('WATCH', `jsonb_build_object('watch', ${aWatch()})`);
const saidFire = (times = 1): string =>
  said(
    'SYSTEM',
    `'{"text": "it fired", "source": "WATCH", "fire": {"watchId": "a watch", "poll": 1}}'`,
    times,
  );

/** The row of that watch. */
const kept = ({ watch = aWatch(), name = 'a', host = 'w.host', polls = 0 } = {}): string =>
  `insert into watch (id, workstream_id, host, slot, name, version, status, every_seconds, watch, created_at, polls, fires, errors)
   select 'a watch', w.id, ${host}, 1, '${name}', 1, 'ACTIVE', 60, ${watch}, '2026-01-01T00:00:00Z', ${polls}, 0, 0 from ${someone}`;
const told = (poll: number): string =>
  `insert into watch_delivery (watch_id, poll, workstream_id, fire, at)
   select 'a watch', ${poll}, w.id, '{"watchId": "a watch", "poll": ${poll}}', now() from ${someone}`;

/** By the beginning of what the audit says. */
export const damages: Readonly<Record<string, readonly string[]>> = {
  'Revisions are': [gone('entry', 'revision = 3'), row('workstream', 'revision = revision + 1')],
  'Epochs never': [entry('epoch = epoch + 9', 'revision = 2'), row('workstream', 'epoch = -1', 'epoch > 0')],
  'Generations never': [
    entry('generation = generation + 1', `kind = 'USER'`),
    put('{turn,generation}', '900', `kind = 'TURN'`),
  ],
  'A turn begins': [
    entry(
      'generation = generation - 1',
      `kind = 'TURN' and not ${other('TURN', `other.revision < one.revision and ${sameTurn}`)} and ${other('TURN', 'other.revision < one.revision and other.generation = one.generation - 1')}`,
    ),
  ],
  'Commit keys': [
    entry(`commit_key = 'entry:other'`, `kind = 'TOOL'`),
    entry(`commit_key = id`, `kind = 'USER'`),
    saidFire(),
  ],
  'An entry names': [
    entry('turn_id = null', `kind = 'USER'`),
    entry(`turn_id = 'of before'`, `kind = 'REWIND'`),
  ],
  'One turn lives': [
    put(
      '{turn,outcome}',
      'null',
      `kind = 'TURN' and ${isSettled} and ${other('TURN', 'other.revision > one.revision')}`,
    ),
    put(
      '{turn,outcome}',
      '{"type": "COMPLETED"}',
      `kind = 'TURN' and not ${isSettled} and ${other('TURN', `other.revision > one.revision and ${sameTurn}`)}`,
    ),
  ],
  'A turn is settled': [
    put('{turn,settledAt}', 'null', `kind = 'TURN' and ${isSettled}`),
    put('{turn,phase}', '"COMPLETED"', `kind = 'TURN' and not ${isSettled}`),
  ],
  'After the stop latch': [
    put(
      '{turn,phase}',
      '"INTERRUPTING"',
      `kind = 'TURN' and not ${isSettled} and ${other('ASSISTANT', `other.revision > one.revision and other.turn_id = one.turn_id`)}`,
    ),
  ],
  'The turn table': [
    gone('turn'),
    row('turn', `phase = 'FAILED'`, `phase <> 'FAILED'`),
    row('turn', 'recoveries = recoveries + 1'),
    row('turn', `outcome_reason = 'OTHER'`, 'outcome is not null'),
    row('turn', `settled_at = settled_at + interval '1 ms'`, 'outcome is not null'),
  ],
  'Each declared call': [
    gone('entry', `kind = 'TOOL' and ${other('ASSISTANT', 'other.revision > one.revision')}`),
    entry(
      `revision = revision + 10000`,
      `kind = 'TOOL' and ${other('ASSISTANT', 'other.revision > one.revision')}`,
    ),
    `insert into entry select workstream_id, revision + 10000, id || '!', kind, epoch, generation, lane, turn_id, commit_key || '!', payload, at from entry where ${one('entry', `kind = 'TOOL'`)}`,
  ],
  'What starts, ends': [
    put('{callId}', '"stranger"', `kind = 'TOOL_STARTED'`),
    put('{name}', '"other"', `kind = 'TOOL'`),
  ],
  'Calls start, then end': [
    entry('revision = revision + 10000', `kind = 'TOOL_STARTED' and ${other('TOOL_SETTLED', sameCall)}`),
    put(
      '{result,content}',
      '"other"',
      `kind = 'TOOL_SETTLED' and ${other('TOOL', `${sameCall} and other.payload ->> 'content' !~ 'there is no room for'`)}`,
    ),
    entry(
      'revision = 0',
      `kind = 'TOOL' and ${other('TOOL', 'other.revision = one.revision - 1')} and not ${other('TOOL', 'other.revision = one.revision + 1')}`,
    ),
  ],
  'NONE is not said': [
    put('{effect}', '"COMMITTED"', `kind = 'TOOL' and not ${other('TOOL_STARTED', sameCall)}`),
    put(
      '{effect}',
      '"NONE"',
      `kind = 'TOOL' and ${other('TOOL_STARTED', sameCall)} and ${other('TOOL_SETTLED', `${sameCall} and exists (select from entry r where r.workstream_id = one.workstream_id and r.kind = 'RECOVERY' and r.revision < other.revision and r.revision > other.revision - 4)`)} and payload ->> 'effect' = 'UNKNOWN'`,
    ),
  ],
  'A decision is made': [
    put(
      '{cycle,items,0,decision,verdict}',
      '"OTHER"',
      `kind = 'APPROVAL' and ${item} <> 'null' and ${other('APPROVAL', `other.revision > one.revision and other.payload #> '{cycle,id}' = one.payload #> '{cycle,id}'`)}`,
    ),
    put('{cycle,closedAt}', 'null', `kind = 'APPROVAL' and payload #>> '{cycle,status}' <> 'OPEN'`),
    put('{cycle,items,0,decision}', 'null', `kind = 'APPROVAL' and payload #>> '{cycle,status}' = 'SETTLED'`),
  ],
  'What a mode decides': [
    put(
      '{cycle,items,0,decision,source}',
      '"TRUST_ALL"',
      `kind = 'APPROVAL' and ${item} ->> 'source' = 'PERSON' and not ${other('CONFIGURATION', `other.payload::text like '%TRUST_ALL%'`)} and not ${other('APPROVAL', `other.revision < one.revision and other.payload #> '{cycle,id}' = one.payload #> '{cycle,id}' and other.payload #> '{cycle,items,0,decision}' <> 'null'`)}`,
    ),
    put(
      '{cycle,items,0,decision,by}',
      '{"id": "mallory"}',
      `kind = 'APPROVAL' and ${item} ->> 'source' like 'TRUST%' and not ${other('APPROVAL', `other.revision < one.revision and other.payload #> '{cycle,id}' = one.payload #> '{cycle,id}' and other.payload #> '{cycle,items,0,decision}' <> 'null'`)}`,
    ),
  ],
  'What was asked about': [
    `update entry set payload = replace(payload::text, '"verdict": "APPROVED"', '"verdict": "DENIED"')::jsonb where kind = 'APPROVAL'`,
    `update entry set payload = jsonb_set(payload, '{cycle,items,0,arguments}', '"other"') where kind = 'APPROVAL'`,
    entry(
      'revision = 0',
      `kind = 'TOOL_STARTED' and exists (select from approval_item i where i.call_id = payload ->> 'callId' and i.source = 'PERSON')`,
    ),
  ],
  'The tables of approvals': [
    gone('approval_item'),
    gone('approval_cycle'),
    row('approval_cycle', `status = 'OPEN'`, `status <> 'OPEN'`),
    row('approval_cycle', `budget = '{}'`),
    row('approval_cycle', `closed_at = closed_at + interval '1 ms'`, `status <> 'OPEN'`),
    row('approval_item', `verdict = 'OTHER'`, 'verdict is not null'),
    row('approval_item', `arguments_hash = 'other'`),
    row('approval_item', `decided_by_id = 'mallory'`, 'verdict is not null'),
    row('approval_item', `position = position + 1`),
  ],
  'A question is open': [row('approval_cycle', `status = 'OPEN'`, `status = 'SUPERSEDED'`)],
  'The rows of the queue': [
    gone('queued_message'),
    row('queued_message', 'position = position + 50'),
    row('queued_message', `delivery = 'STEER'`, `delivery = 'QUEUE'`),
    row('queued_message', `turn_id = 'other'`),
    row('queued_message', 'after_stop = not after_stop'),
    row('queued_message', `text = 'other'`),
    row('queued_message', `author_id = 'mallory'`),
  ],
  'At most 20': [
    put(
      '{queue,items,0,turnId}',
      '"other"',
      `kind = 'QUEUE' and payload #>> '{queue,items,0,delivery}' = 'STEER'`,
    ),
    put(
      '{queue,items,0,delivery}',
      '"STEER"',
      `kind = 'QUEUE' and payload #>> '{queue,items,0,delivery}' = 'QUEUE'`,
    ),
    entry(
      `payload = jsonb_set(payload, '{queue,items}', (select jsonb_agg(copy.item) from (select entry.payload #> '{queue,items,0}' as item from generate_series(1, 21)) copy))`,
      `kind = 'QUEUE' and payload #> '{queue,items,0}' is not null`,
    ),
  ],
  'What leaves the queue': [
    put(
      '{text}',
      '"other"',
      `kind = 'USER' and payload ->> 'source' = 'STEER' and not exists (select from receipt r where r.workstream_id = one.workstream_id and r.outcome ? 'queue')`,
    ),
    `update receipt set outcome = outcome - 'queue'`,
    entry(
      `id = (select q.payload #>> '{queue,items,0,id}' from entry q where q.kind = 'QUEUE' and q.workstream_id = entry.workstream_id and q.payload #> '{queue,items,0}' is not null order by q.revision desc limit 1)`,
      `kind = 'LIFECYCLE' and revision = 1 and ${other('QUEUE', `other.payload #> '{queue,items,0}' is not null and not exists (select from entry said where said.id = other.payload #>> '{queue,items,0,id}')`)} and not exists (select from entry q join entry said on said.id = q.payload #>> '{queue,items,0,id}' where q.workstream_id = one.workstream_id and q.kind = 'QUEUE')`,
    ),
  ],
  'What a person says': [`update turn set principal_id = 'mallory'`],
  'Nothing is taken back': [
    put('{by}', '{"id": "mallory"}', `kind = 'REWIND' and payload ->> 'reason' <> 'REWIND'`),
    put('{after}', '100000', `kind = 'REWIND'`),
    `update entry set payload = jsonb_set(payload, '{turn,outcome}', 'null') where kind = 'TURN'`,
  ],
  'A cut parts': [
    entry(
      `payload = jsonb_set(payload, '{after}', (select to_jsonb(max(c.revision)) from entry c where c.workstream_id = entry.workstream_id and c.revision < entry.revision and c.kind = 'ASSISTANT' and c.payload #> '{calls,0}' is not null))`,
      `kind = 'REWIND' and ${other('ASSISTANT', `other.revision < one.revision and other.payload #> '{calls,0}' is not null`)}`,
    ),
  ],
  'What is superseded': [
    fold('{superseded}', '[]', `projection -> 'superseded' <> '[]'`),
    fold('{superseded}', '[{"after": 1, "through": 2}]', `projection -> 'superseded' = '[]'`),
  ],
  'The head row': [
    row('workstream', `title = title || '!'`),
    row('workstream', `model = model || '!'`),
    row('workstream', 'stopping = not stopping'),
    row('workstream', 'generation = generation + 1'),
    row('workstream', `updated_at = updated_at + interval '1 ms'`),
    row('workstream', `lifecycle = 'CLOSED'`),
  ],
  'The state in the list': ['ATTENTION', 'RUNNING', 'THINKING', 'ERROR', 'IDLE'].map((state) =>
    row('workstream', `state = '${state}'`, `state <> '${state}'`),
  ),
  'The projection has the counters': [
    fold('{epoch}', '77', 'true'),
    fold('{queue,held}', 'true', `projection #> '{queue,held}' = 'false'`),
    fold('{configuration,approvalMode}', '"OTHER"', 'true'),
    fold('{updatedAt}', 'null', 'true'),
    fold('{watches}', '[{}]', 'true'),
    saidWatch,
  ],
  'The projection has the last turn': [
    fold('{turn}', 'null', `projection -> 'turn' <> 'null'`),
    fold('{turn,recoveries}', '7', `projection -> 'turn' <> 'null'`),
  ],
  'The projection has the calls': [
    fold('{batch}', 'null', `projection -> 'batch' <> 'null'`),
    fold('{batch,calls,0,started}', '"other"', `projection -> 'batch' <> 'null'`),
    fold('{cycles}', '[]', `projection -> 'cycles' <> '[]'`),
  ],
  'Nothing below a watermark': [
    summaryOf('max(e.revision) + 10000'),
    `with first as (${summaryOf('3')} returning workstream_id) ${summaryOf('3', 20_000, 'workstream_id = (select workstream_id from first)')}`,
    // Of an answer, and not of the results of its calls.
    summaryOf(`max(e.revision) filter (where e.kind = 'ASSISTANT' and e.payload #> '{calls,0}' is not null)`),
    entry(
      `kind = 'CHECKPOINT', payload = jsonb_build_object('watermark', revision - 1)`,
      `kind = 'USER' and ${other('REWIND', `other.revision > one.revision and (other.payload ->> 'after')::bigint < one.revision - 1`)}
        and not ${other('ASSISTANT', `other.revision < one.revision and other.payload #> '{calls,0}' is not null`)}`,
    ),
  ],
  'The projection has the last summary': [
    fold('{checkpoint}', '{"id": "other", "revision": 4, "watermark": 3}', 'true'),
    summaryOf('3'),
    fold('{context,told}', '77777', 'true'),
    put(
      '{tokens}',
      '77777',
      `kind = 'USER' and not ${other('REWIND', 'other.revision > one.revision')} and not ${other('CHECKPOINT', 'other.revision > one.revision')}`,
    ),
    fold('{budgetLimit}', '77777', 'true'),
    `update entry set payload = jsonb_set(payload, '{configuration,tokenBudget}', '5') where kind = 'CONFIGURATION' and revision = 2`,
  ],
  'What was spent': [
    row('workstream', 'spent = spent + 1'),
    gone('model_call'),
    gone('usage_day'),
    row('model_call', `cost = coalesce(cost, 0) + 0.000001`),
    row('model_call', 'estimated = not estimated'),
    row('model_call', `alias = alias || '!'`),
    row('model_call', `at = at + interval '1 day'`),
    row('usage_day', 'reasoning_tokens = reasoning_tokens + 1'),
    `insert into usage_day (workstream_id, day, alias, calls, estimated_calls, input_tokens, output_tokens, cached_input_tokens, reasoning_tokens) values ('gone', now(), 'a', 1, 0, 1, 1, 0, 0)`,
  ],
  'The table of watches': [
    saidWatch,
    kept(),
    `with said as (${saidWatch}) ${kept({ watch: aWatch('{"depth": 9}') })}`,
    `with said as (${saidWatch}) ${kept({ name: 'another' })}`,
    `with said as (${saidWatch}) ${kept({ host: `'elsewhere'` })}`,
  ],
  'What a watch tells': [
    saidFire(2),
    kept({ polls: 3 }),
    `with kept as (${kept()}) ${told(9)}`,
    `with kept as (${kept()}), said as (${saidFire()}) ${told(1)}`,
  ],
  'A receipt is of': [
    row('receipt', `workstream_id = 'other'`),
    row('receipt', 'workstream_id = null', `scope like '%/%'`),
  ],
  'What a receipt says': [
    row('receipt', `outcome = jsonb_set(outcome, '{revision}', '100000')`, `outcome ? 'revision'`),
    row('receipt', `outcome = jsonb_set(outcome, '{messageId}', '"other"')`, `outcome ? 'messageId'`),
    row('receipt', `outcome = jsonb_set(outcome, '{turnId}', '"other"')`, `outcome ? 'turnId'`),
    row('receipt', `outcome = jsonb_set(outcome, '{cycle,id}', '"other"')`, `outcome ? 'cycle'`),
    row('receipt', `outcome = jsonb_set(outcome, '{queue,held}', '"other"')`, `outcome ? 'queue'`),
    row(
      'receipt',
      `outcome = jsonb_set(outcome, '{configuration,title}', '"other"')`,
      `outcome ? 'configuration'`,
    ),
    row('receipt', `outcome = jsonb_set(outcome, '{workstreamId}', '"other"')`, `outcome ? 'workstreamId'`),
  ],
  'No two receipts': [
    `insert into receipt (scope, key, workstream_id, input_hash, outcome, created_at) select scope, key || '!', workstream_id, input_hash, outcome, created_at from receipt where ${one('receipt', `outcome ? 'messageId'`)}`,
  ],
};
