/** Owns: the tables of approval cycles and their items, a projection of APPROVAL entries (D-64). */
import { defineEntity, p } from '@mikro-orm/core';
import type { ApprovalCycle, ApprovalDecision, BudgetQuestion, Preview } from 'schema/projection';
import { WorkstreamRow } from './workstream.ts';

const cycleSchema = defineEntity({
  name: 'ApprovalCycleRow',
  tableName: 'approval_cycle',
  properties: {
    id: p.text().primary(),
    workstream: () => p.manyToOne(WorkstreamRow).mapToPk().deleteRule('cascade'),
    kind: p.text().$type<ApprovalCycle['kind']>(),
    turnId: p.text(),
    /** What is asked about, where that is no call. */
    budget: p.json().$type<BudgetQuestion>().nullable(),
    status: p.text().$type<ApprovalCycle['status']>(),
    openedAt: p.datetime(3),
    closedAt: p.datetime(3).nullable(),
  },
  indexes: [
    { properties: ['workstream'] },
    { properties: ['turnId'] },
    {
      name: 'approval_cycle_open',
      expression: `create index "approval_cycle_open" on "approval_cycle" ("opened_at" desc, "id" desc) where status = 'OPEN'`,
    },
  ],
});
export class ApprovalCycleRow extends cycleSchema.class {}
cycleSchema.setClass(ApprovalCycleRow);

const itemSchema = defineEntity({
  name: 'ApprovalItemRow',
  tableName: 'approval_item',
  properties: {
    cycle: () => p.manyToOne(ApprovalCycleRow).mapToPk().primary().deleteRule('cascade'),
    callId: p.text().primary(),
    /** Place in the cycle, from 0. */
    position: p.integer(),
    name: p.text(),
    arguments: p.text(),
    argumentsHash: p.text(),
    preview: p.json().$type<Preview>(),
    basis: p.text().nullable(),
    verdict: p.text().$type<ApprovalDecision['verdict']>().nullable(),
    source: p.text().$type<ApprovalDecision['source']>().nullable(),
    decidedById: p.text().nullable(),
    decidedByName: p.text().nullable(),
    feedback: p.text().nullable(),
    decidedAt: p.datetime(3).nullable(),
  },
});
export class ApprovalItemRow extends itemSchema.class {}
itemSchema.setClass(ApprovalItemRow);
