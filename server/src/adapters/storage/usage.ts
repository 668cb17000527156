/** Owns: what model calls cost, in PostgreSQL. Does not own: how they are counted (`write-calls.ts`). */
import type {
  ModelCall,
  RecordedCall,
  UsageGroup,
  UsageKey,
  UsageStore,
  UsageTotal,
} from '../../ports/usage.ts';
import { ModelCallRow } from './entities/model-call.ts';
import { available } from './faults.ts';
import type { Orm } from './orm.ts';
import { writeCalls } from './write-calls.ts';

const columns: Readonly<Record<UsageKey, string>> = {
  DAY: 'day',
  WORKSTREAM: 'workstream_id',
  MODEL: 'alias',
};

const sum = (column: string): string => `coalesce(sum(${column}), 0)::float8`;

/** Of rows that are sums already. */
const totalOfDays = `${sum('calls')} as calls, ${sum('estimated_calls')} as "estimatedCalls",
  ${sum('input_tokens')} as "inputTokens", ${sum('output_tokens')} as "outputTokens",
  ${sum('cached_input_tokens')} as "cachedInputTokens", ${sum('reasoning_tokens')} as "reasoningTokens", sum(cost)::float8 as cost`;

/** Of rows that are one call each. */
const totalOfCalls = `count(*)::float8 as calls, (count(*) filter (where estimated))::float8 as "estimatedCalls",
  ${sum('input_tokens')} as "inputTokens", ${sum('output_tokens')} as "outputTokens",
  ${sum('cached_input_tokens')} as "cachedInputTokens", ${sum('reasoning_tokens')} as "reasoningTokens", sum(cost)::float8 as cost`;

export function createUsageStore(orm: Orm): UsageStore {
  const one = async (sql: string, values: readonly unknown[]): Promise<UsageTotal> => {
    const [total] = await orm.em.fork().execute<UsageTotal[]>(sql, [...values]);
    return total!;
  };

  return {
    record: (workstreamId, calls) =>
      available(() =>
        orm.em.fork().transactional(async (em) => {
          await em.execute('select from workstream where id = ? for no key update', [workstreamId]);
          await writeCalls(em, workstreamId, calls);
        }),
      ),

    groups: ({ from, through, workstreamId, by, limit }) =>
      available(async () => {
        const shown = (key: UsageKey, as: string, value: string): string =>
          `${by.includes(key) ? value : 'null'} as "${as}"`;
        const keys = [...new Set(by)].map((key) => columns[key]);
        const order = [
          ...(by.includes('DAY') ? ['day desc'] : []),
          'sum(input_tokens + output_tokens) desc nulls last',
          ...keys,
        ];
        return orm.em.fork().execute<UsageGroup[]>(
          `select ${shown('DAY', 'day', 'day::text')}, ${shown('WORKSTREAM', 'workstreamId', 'workstream_id')},
             ${shown('MODEL', 'alias', 'alias')}, ${totalOfDays}
           from usage_day where day between ?::date and ?::date ${workstreamId === null ? '' : 'and workstream_id = ?'}
           ${keys.length > 0 ? `group by ${keys.join(', ')}` : ''} order by ${order.join(', ')} limit ?`,
          [from, through, ...(workstreamId === null ? [] : [workstreamId]), limit],
        );
      }),

    totalOf: (workstreamId) =>
      available(() => one(`select ${totalOfDays} from usage_day where workstream_id = ?`, [workstreamId])),

    totalOfTurn: (workstreamId, turnId) =>
      available(() =>
        one(`select ${totalOfCalls} from model_call where workstream_id = ? and turn_id = ?`, [
          workstreamId,
          turnId,
        ]),
      ),

    calls: (workstreamId, { limit, before }) =>
      available(async () => {
        const em = orm.em.fork();
        const last = before === null ? null : await em.findOne(ModelCallRow, { id: before, workstreamId });
        if (before !== null && !last) return [];
        const rows = await em.find(
          ModelCallRow,
          {
            workstreamId,
            ...(last && {
              at: { $lte: last.at },
              $or: [{ at: { $lt: last.at } }, { id: { $lt: last.id } }],
            }),
          },
          { orderBy: { at: 'desc', id: 'desc' }, limit, disableIdentityMap: true },
        );
        return rows.map(recordedCall);
      }),
  };
}

function recordedCall(row: ModelCallRow): RecordedCall {
  const { id, workstreamId, purpose, alias, model, inputTokens, outputTokens, estimated, outcome, at } = row;
  const { cachedInputTokens, reasoningTokens } = row;
  const usage: ModelCall['usage'] = {
    inputTokens,
    outputTokens,
    ...(typeof cachedInputTokens === 'number' && { cachedInputTokens }),
    ...(typeof reasoningTokens === 'number' && { reasoningTokens }),
  };
  return {
    id,
    workstreamId,
    turnId: row.turnId ?? null,
    purpose,
    alias,
    model,
    usage,
    estimated,
    outcome,
    cost: row.cost ?? null,
    at: at.toISOString(),
  };
}
