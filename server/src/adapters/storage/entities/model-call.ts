/**
 * Owns: the tables of usage: every model call, and their sums by day. They name a workstream and do not depend on it:
 * what was spent outlives it.
 */
import { defineEntity, p } from '@mikro-orm/core';
import type { ModelCall } from '../../../core/models/spending.ts';

/** United States dollars: any number of digits, so that sums of small prices stay what they are. */
const dollars = () => p.decimal('number').columnType('numeric').nullable();

const callSchema = defineEntity({
  name: 'ModelCallRow',
  tableName: 'model_call',
  properties: {
    id: p.text().primary(),
    workstreamId: p.text(),
    turnId: p.text().nullable(),
    purpose: p.text().$type<ModelCall['purpose']>(),
    /** The model that was asked: its alias, and its name at the provider. */
    alias: p.text(),
    model: p.text(),
    inputTokens: p.bigint('number'),
    outputTokens: p.bigint('number'),
    /** Null: not counted apart. */
    cachedInputTokens: p.bigint('number').nullable(),
    reasoningTokens: p.bigint('number').nullable(),
    estimated: p.boolean(),
    outcome: p.text().$type<ModelCall['outcome']>(),
    /** Null: no price was set. */
    cost: dollars(),
    at: p.datetime(3),
  },
  indexes: [
    { name: 'model_call_latest', properties: ['workstreamId', 'at', 'id'] },
    { name: 'model_call_turn', properties: ['workstreamId', 'turnId'] },
  ],
});
export class ModelCallRow extends callSchema.class {}
callSchema.setClass(ModelCallRow);

const daySchema = defineEntity({
  name: 'UsageDayRow',
  tableName: 'usage_day',
  properties: {
    workstreamId: p.text().primary(),
    /** In UTC. */
    day: p.date().primary(),
    alias: p.text().primary(),
    calls: p.bigint('number'),
    estimatedCalls: p.bigint('number'),
    inputTokens: p.bigint('number'),
    outputTokens: p.bigint('number'),
    cachedInputTokens: p.bigint('number'),
    reasoningTokens: p.bigint('number'),
    /** Of the calls that had a price; null: none had. */
    cost: dollars(),
  },
  indexes: [{ name: 'usage_day_day', properties: ['day'] }],
});
export class UsageDayRow extends daySchema.class {}
daySchema.setClass(UsageDayRow);
