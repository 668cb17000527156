/**
 * Owns: taking what landed in the database of simulated worlds to a real one, batch by batch, through the statements
 * that write it there. Ids are the same in every world, so each world gets some of its own.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Storage } from '../../src/adapters/storage/index.ts';
import type { Batch } from '../../src/ports/journal.ts';
import type { Query } from '../support/audits.ts';
import type { Landing } from './world.ts';

/** What landed and was not deleted later, as the world of this number has it. */
export function landingsOf(world: number, all: readonly Landing[]): readonly Landing[] {
  const removedAt = (id: string): number =>
    all.findLastIndex((landing) => landing.type === 'removed' && landing.workstreamId === id);
  return all
    .filter((landing, i) => landing.type !== 'removed' && i > removedAt(workstreamOf(landing)))
    .flatMap((landing) => (landing.type === 'published' ? [landing, ...answersOf(landing, all)] : [landing]))
    .map((landing) => inWorld(world, landing));
}

/** Who took what out of the queue of a restored copy: those answers outlive what it was made of. */
function answersOf({ batch }: Extract<Landing, { readonly batch: Batch }>, all: readonly Landing[]) {
  const queues = batch.entries.flatMap((entry) => (entry.kind === 'QUEUE' ? [entry.queue] : []));
  const before = all.slice(
    0,
    all.findIndex((landing) => 'batch' in landing && landing.batch === batch),
  );
  const receipts = before
    .flatMap((other) =>
      'batch' in other && other.batch.workstreamId === batch.workstreamId ? other.batch.receipts : [],
    )
    .filter(({ outcome }) => queues.some((queue) => isDeepStrictEqual(queue, outcome['queue'])));
  const byKey = new Map(receipts.map((receipt) => [`${receipt.scope} ${receipt.key}`, receipt]));
  if (byKey.size === 0) return [];
  const answers: Landing = {
    type: 'committed',
    batch: {
      ...batch,
      entries: [],
      expectedHead: batch.entries.length,
      receipts: [...byKey.values()],
      calls: [],
    },
  };
  return [answers];
}

const workstreamOf = (landing: Landing): string =>
  'batch' in landing ? landing.batch.workstreamId : landing.workstreamId;

/** Numbers of a world do not reach the first four digits of an id (`idOf`). */
export const inWorld = <T>(world: number, value: T): T =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(/(?<![0-9a-f])[0-9a-f]{4}([0-9a-f]{28})(?![0-9a-f])/g, `${hex(world)}$1`)
      .replaceAll(/"key":"(k\d+)"/g, `"key":"${world}-$1"`),
  ) as T;

const hex = (world: number): string => world.toString(16).padStart(4, '0');

/** Writes it all; throws where the real database refuses what the simulated one took. */
export async function land(
  storage: Storage,
  query: Query,
  sessionId: string,
  landings: readonly Landing[],
): Promise<void> {
  const epochs = new Map<string, number>();
  for (const landing of landings) {
    if (landing.type === 'removed') continue;
    if (landing.type === 'counted') {
      await storage.usage.record(landing.workstreamId, landing.calls);
      continue;
    }
    const { batch } = landing;
    const { workstreamId: id, incarnation, epoch } = batch;
    if (landing.type === 'published') {
      await storage.reservations.reserve({ id, incarnation, sessionId });
      const { type } = await storage.reservations.publish(batch);
      if (type !== 'published') throw new Error(`${id} is ${type}`);
    } else {
      // What claims there were between them does not matter here.
      if (epochs.get(id) !== epoch) await query(`update workstream set epoch = ${epoch} where id = '${id}'`);
      const outcome = await storage.journal.commit(batch);
      if (outcome.type !== 'committed') throw new Error(`${whatOf(batch)}: ${JSON.stringify(outcome)}`);
    }
    epochs.set(id, epoch);
  }
}

const whatOf = (batch: Batch): string =>
  `${batch.workstreamId} behind ${batch.expectedHead}: ${batch.entries.map((e) => e.kind).join(' ')}`;
