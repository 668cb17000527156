/**
 * Owns: the tables of watches: what their workstream says of them, a projection of WATCH entries, and beside it how their
 * polls go (D-81, D-84, D-86).
 *
 * Relies on: who changes rows of several of these tables takes that of the workstream first, then that of the watch; polls
 * and deliveries refer to the watch alone. So none waits for another in a circle.
 */
import { defineEntity, p } from '@mikro-orm/core';
import type { Fire, Watch } from 'schema/projection';
import { WorkstreamRow } from './workstream.ts';

const watchSchema = defineEntity({
  name: 'WatchRow',
  tableName: 'watch',
  properties: {
    id: p.text().primary(),
    workstream: () => p.manyToOne(WorkstreamRow).mapToPk().deleteRule('cascade'),
    /** As the workstream has it: what is due is looked for by it. */
    host: p.text().nullable(),
    /** Its place among those that have not ended, 1 to 5 (D-80); null: it has ended. */
    slot: p.smallint().nullable(),
    name: p.text(),
    version: p.integer(),
    status: p.text().$type<Watch['status']>(),
    everySeconds: p.integer(),
    deadline: p.datetime(3).nullable(),
    /** As the last WATCH entry has it. */
    watch: p.json().$type<Watch>(),
    createdAt: p.datetime(3),
    /** Null: no poll is due, now or later. Stays as it is while the poll is under way. */
    nextPollAt: p.datetime(3).nullable(),
    /** Who polls it, or did last; it is under way until `leaseUntil`. */
    claim: p.text().nullable(),
    claimedBy: p.text().nullable(),
    leaseUntil: p.datetime(3).nullable(),
    /** Since it was claimed, the watch was edited, paused or ended: what comes of it tells nothing. */
    claimCanceled: p.boolean().default(false),
    polls: p.integer(),
    fires: p.integer(),
    /** Conditions in a row that failed. */
    errors: p.integer(),
    lastPollAt: p.datetime(3).nullable(),
    lastExitCode: p.integer().nullable(),
    /** What the next poll of this command is compared with; null: it has not run yet. */
    lastOutput: p.text().nullable(),
    lastError: p.text().nullable(),
  },
  uniques: [
    {
      name: 'watch_name_unique',
      expression: `create unique index "watch_name_unique" on "watch" ("workstream_id", "name") where slot is not null`,
    },
    {
      name: 'watch_slot_unique',
      expression: `create unique index "watch_slot_unique" on "watch" ("workstream_id", "slot") where slot is not null`,
    },
  ],
  indexes: [
    {
      name: 'watch_due',
      expression: `create index "watch_due" on "watch" ("host", "next_poll_at", "id") where next_poll_at is not null`,
    },
    {
      name: 'watch_latest',
      expression: `create index "watch_latest" on "watch" ("created_at" desc, "id" desc) where slot is not null`,
    },
    {
      name: 'watch_latest_or_ended',
      expression: `create index "watch_latest_or_ended" on "watch" ("created_at" desc, "id" desc)`,
    },
    {
      name: 'watch_latest_of_workstream',
      expression: `create index "watch_latest_of_workstream" on "watch" ("workstream_id", "created_at" desc, "id" desc)`,
    },
  ],
  checks: [
    { name: 'watch_slot_known', expression: `slot >= 1 and slot <= 5` },
    { name: 'watch_slot_held', expression: `(status = 'ENDED') = (slot is null)` },
    {
      name: 'watch_rests',
      expression: `status = 'ACTIVE' or next_poll_at is null`,
    },
  ],
});
export class WatchRow extends watchSchema.class {}
watchSchema.setClass(WatchRow);

const pollSchema = defineEntity({
  name: 'WatchPollRow',
  tableName: 'watch_poll',
  properties: {
    watch: () => p.manyToOne(WatchRow).mapToPk().primary().deleteRule('cascade'),
    poll: p.integer().primary(),
    at: p.datetime(3),
    durationMs: p.bigint('number'),
    exitCode: p.integer().nullable(),
    fired: p.boolean(),
    error: p.text().nullable(),
    outputTail: p.text(),
  },
});
export class WatchPollRow extends pollSchema.class {}
pollSchema.setClass(WatchPollRow);

const deliverySchema = defineEntity({
  name: 'WatchDeliveryRow',
  tableName: 'watch_delivery',
  properties: {
    watch: () => p.manyToOne(WatchRow).mapToPk().primary().deleteRule('cascade'),
    /** Of the poll it comes from: the watch says nothing twice. */
    poll: p.integer().primary(),
    workstreamId: p.text(),
    fire: p.json().$type<Fire>(),
    at: p.datetime(3),
  },
  indexes: [{ name: 'watch_delivery_of_workstream', properties: ['workstreamId', 'poll', 'watch'] }],
});
export class WatchDeliveryRow extends deliverySchema.class {}
deliverySchema.setClass(WatchDeliveryRow);
