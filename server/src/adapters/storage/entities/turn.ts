/** Owns: the table of turns, a projection of TURN entries. One live turn per workstream, by index (D-32). */
import { defineEntity, p } from '@mikro-orm/core';
import type { TurnPhase } from 'schema/projection';
import { WorkstreamRow } from './workstream.ts';

const schema = defineEntity({
  name: 'TurnRow',
  tableName: 'turn',
  properties: {
    id: p.text().primary(),
    workstream: () => p.manyToOne(WorkstreamRow).mapToPk().deleteRule('cascade'),
    kind: p.text(),
    phase: p.text().$type<TurnPhase>(),
    generation: p.bigint('number'),
    principalId: p.text(),
    principalName: p.text(),
    outcome: p.text().nullable(),
    outcomeReason: p.text().nullable(),
    outcomeMessage: p.text().nullable(),
    recoveries: p.integer(),
    startedAt: p.datetime(3),
    settledAt: p.datetime(3).nullable(),
  },
  uniques: [
    {
      name: 'turn_one_live',
      expression: `create unique index "turn_one_live" on "turn" ("workstream_id") where outcome is null`,
    },
  ],
  indexes: [{ properties: ['workstream'] }],
});
export class TurnRow extends schema.class {}
schema.setClass(TurnRow);
