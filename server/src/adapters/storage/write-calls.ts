/**
 * Owns: how model calls are counted: once by their id, in the rows of calls, in the sums of the day and in what the
 * workstream has spent, all in one statement. Does not own: the transaction, and who may.
 *
 * Relies on: the caller has locked the row of the workstream, if there is one. So all take it before the sums of the
 * day, and none waits for another in a circle.
 */
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { storable } from '../../core/kit/storable.ts';
import type { ModelCall } from '../../core/models/spending.ts';

const sums = {
  calls: 'count(*)',
  estimated_calls: 'count(*) filter (where estimated)',
  input_tokens: 'sum(input_tokens)',
  output_tokens: 'sum(output_tokens)',
  cached_input_tokens: 'sum(coalesce(cached_input_tokens, 0))',
  reasoning_tokens: 'sum(coalesce(reasoning_tokens, 0))',
};
const summed = Object.keys(sums);

/** Parameters: the workstream, the calls as JSON, the workstream. */
const countCalls = `
  with added as (
    insert into model_call (id, workstream_id, turn_id, purpose, alias, model, input_tokens, output_tokens, cached_input_tokens, reasoning_tokens, estimated, outcome, cost, at)
    select id, ?, turn_id, purpose, alias, model, input_tokens, output_tokens, cached_input_tokens, reasoning_tokens, estimated, outcome, cost, now()
    from jsonb_to_recordset(?::jsonb) as told (id text, turn_id text, purpose text, alias text, model text, input_tokens bigint,
      output_tokens bigint, cached_input_tokens bigint, reasoning_tokens bigint, estimated boolean, outcome text, cost numeric)
    order by id
    on conflict (id) do nothing
    returning *),
  days as (
    insert into usage_day (workstream_id, day, alias, ${summed.join(', ')}, cost)
    select workstream_id, (at at time zone 'utc')::date, alias, ${Object.values(sums).join(', ')}, sum(cost)
    from added group by 1, 2, 3 order by 1, 2, 3
    on conflict (workstream_id, day, alias) do update set ${summed.map((column) => `${column} = usage_day.${column} + excluded.${column}`).join(', ')},
      cost = case when excluded.cost is null then usage_day.cost else coalesce(usage_day.cost, 0) + excluded.cost end)
  update workstream set spent = spent + (select sum(input_tokens + output_tokens) from added)
  where id = ? and exists (select from added)`;

/** Counts those of the calls that are not counted yet. Nothing is asked of the database when there are none. */
export async function writeCalls(
  em: SqlEntityManager,
  workstreamId: string,
  calls: readonly ModelCall[],
): Promise<void> {
  if (calls.length === 0) return;
  await em.execute(countCalls, [workstreamId, JSON.stringify(calls.map(callRow)), workstreamId]);
}

function callRow(call: ModelCall) {
  const { id, turnId, purpose, alias, model, usage, estimated, outcome, cost } = storable(call);
  return {
    id,
    turn_id: turnId,
    purpose,
    alias,
    model,
    input_tokens: Math.round(usage.inputTokens),
    output_tokens: Math.round(usage.outputTokens),
    cached_input_tokens: rounded(usage.cachedInputTokens),
    reasoning_tokens: rounded(usage.reasoningTokens),
    estimated,
    outcome,
    cost,
  };
}

const rounded = (count: number | undefined): number | null =>
  count === undefined ? null : Math.round(count);
