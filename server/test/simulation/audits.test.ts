/**
 * Owns: that the end states of simulated lives, taken to a real PostgreSQL, are what four independent sides say they
 * are: the actor that grew its state step by step, a fold from zero over what is stored, a snapshot with the entries
 * after it, and SQL written by hand (`../support/audits.ts`), each audit of which is seen to find what it is about.
 *
 * `SIM_SEED` and `SIM_LIVES` look at other lives, and more.
 */
import { applyEntries, emptyProjection, type Entry, type Projection } from 'schema/projection';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Storage } from '../../src/adapters/storage/index.ts';
import { audit, audits } from '../support/audits.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { createChance } from './chance.ts';
import { damages } from './damages.ts';
import { inWorld, land, landingsOf } from './landings.ts';
import { movesOf } from './moves.ts';
import { live } from './run.ts';
import { toldOf } from './told.ts';
import type { Landing } from './world.ts';

const firstSeed = Number(process.env['SIM_SEED'] ?? 1);
const lives = Number(process.env['SIM_LIVES'] ?? 200);
/** Lives that are written at once. */
const writers = 4;

/** What an actor held at the end of a life, and where the life was cut short. */
interface Ended {
  readonly seed: number;
  readonly workstreamId: string;
  /** The fold as an actor grew it. */
  readonly grown: Projection;
  readonly isCut: boolean;
}

let database: TestDatabase;
let storage: Storage;
/** One connection, for what is undone again. */
let client: pg.Client;
const ended: Ended[] = [];

beforeAll(async () => {
  database = await createDatabase();
  storage = await database.openStorage();
  client = new pg.Client(database.url);
  await client.connect();
  const begun = await storage.sessions.begin('loader', 'here');
  if (begun.type !== 'begun') throw new Error('The database is in use.');
  const seeds = Array.from({ length: lives }, (_, i) => firstSeed + i);
  const work = async (): Promise<void> => {
    for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift())
      await land(storage, database.sql, begun.session.id, await lifeOf(seed));
  };
  await Promise.all(Array.from({ length: writers }, work));
}, 600_000);
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** Every second life to its rest; the others up to a seeded place, with whatever is under way there. */
async function lifeOf(seed: number): Promise<readonly Landing[]> {
  const all: Landing[] = [];
  const world = seed - firstSeed + 1;
  let atRest: Projection | null = null;
  let workstreamId = '';
  const { violation } = await live(movesOf(seed), {
    landed: (landing) => void all.push(landing),
    atRest(end) {
      workstreamId = end.workstreamId;
      atRest = end.owner()?.up?.registry.peek(workstreamId)?.state().durable ?? null;
    },
  });
  expect({ seed, violation }).toEqual({ seed, violation: null });
  const landings = landingsOf(world, all);
  if (seed % 2 === 0) {
    ended.push({
      seed,
      workstreamId: inWorld(world, workstreamId),
      grown: inWorld(world, atRest!),
      isCut: false,
    });
    return landings;
  }
  let end = 1 + Math.floor(createChance(seed)() * landings.length);
  // What brings no entries belongs to what was before it.
  for (
    let next = landings[end];
    next && 'batch' in next && next.batch.entries.length === 0;
    next = landings[end]
  )
    end += 1;
  const cut = landings.slice(0, end);
  const last = cut.at(-1)!;
  if ('batch' in last)
    ended.push({ seed, workstreamId: last.batch.workstreamId, grown: last.batch.projection, isCut: true });
  return cut;
}

async function stored(id: string): Promise<readonly Entry[]> {
  return storage.journal.read(id, { after: 0, through: Number.MAX_SAFE_INTEGER, limit: 100_000 });
}

describe(`After ${lives} simulated lives from seed ${firstSeed}, written to PostgreSQL,`, () => {
  it('what an actor grew, a fold from zero, and a snapshot with its tail are what the row says (D-58, I5)', async () => {
    for (const { seed, workstreamId, grown } of ended) {
      const entries = await stored(workstreamId);
      const fromZero = applyEntries(emptyProjection, entries);
      expect({ seed, ...grown }).toEqual({ seed, ...fromZero });
      expect({ seed, ...(await storage.catalog.get(workstreamId))?.projection }).toEqual({ seed, ...grown });
      const chance = createChance(seed);
      for (let n = 0; n < 5; n += 1) {
        const k = Math.floor(chance() * (entries.length + 1));
        const snapshot = JSON.parse(
          JSON.stringify(applyEntries(emptyProjection, entries.slice(0, k))),
        ) as Projection;
        expect({ seed, k, ...applyEntries(snapshot, entries.slice(k)) }).toEqual({ seed, k, ...fromZero });
      }
    }
    expect(ended).toHaveLength(lives);
  });

  it('what a model is to be told is read as it is worked out from all entries, from the last summary on (D-40)', async () => {
    let summarised = 0;
    for (const { seed, workstreamId, grown } of ended) {
      const { superseded, checkpoint, revision: through } = grown;
      const told = toldOf(await stored(workstreamId)).entries;
      const { incarnation } = (await storage.journal.head(workstreamId))!;
      const range = { incarnation, through, superseded, checkpoint };
      const read = await storage.journal.conversation(workstreamId, range);
      expect({ seed, read }).toEqual({ seed, read: told });
      const last = await storage.journal.checkpointAt(workstreamId, through);
      expect({ seed, last }).toEqual({ seed, last: told.find((e) => e.kind === 'CHECKPOINT') ?? null });
      if (last) summarised += 1;
    }
    expect(summarised).toBeGreaterThan(lives / 25);
  });

  it('every audit agrees', async () => {
    const began = performance.now();
    expect(await audit(database.sql)).toEqual([]);
    console.log(`${audits.length} audits took ${Math.round(performance.now() - began)} ms.`);
  });

  it('they were about something: turns under way, open questions, queues, steers, rewinds, recoveries, summaries, budgets', async () => {
    const counts = `
      select (select count(*) from turn where outcome is null) as live, (select count(*) from turn where phase = 'INTERRUPTING') as stopping,
        (select count(*) from approval_cycle where status = 'OPEN') as asked, (select count(*) from queued_message) as queued,
        (select count(*) from entry where kind = 'REWIND') as rewound, (select count(*) from entry where kind = 'RECOVERY') as recovered,
        (select count(*) from entry where kind = 'USER' and payload ->> 'source' = 'STEER') as steered,
        (select count(*) from approval_item where source like 'TRUST%') as trusted,
        (select count(*) from entry where kind = 'CHECKPOINT') as summaries, (select count(*) from turn where phase = 'COMPACTING') as summarising,
        (select count(*) from approval_cycle where kind = 'BUDGET') as budgets, (select count(*) from model_call) as calls,
        (select count(*) from model_call where purpose = 'SUMMARY') as asked_to_summarise, (select count(*) from model_call where estimated) as estimated,
        (select count(*) from entry) as entries, (select count(*) from receipt) as receipts`;
    const [found] = await database.sql<Record<string, string>>(counts);
    console.log(JSON.stringify(found));
    for (const [what, count] of Object.entries(found!))
      expect({ what, some: Number(count) > 0 }).toEqual({ what, some: true });
  });

  describe.each(audits)('the audit “$says”', ({ says, sql }) => {
    it('finds what it is about, once it is so', async () => {
      const found = Object.entries(damages).filter(([beginning]) => says.startsWith(beginning));
      expect(found).toHaveLength(1);
      const missed: string[] = [];
      for (const damage of found[0]![1]) {
        await client.query('begin');
        try {
          const { rowCount } = await client.query(damage);
          if (rowCount === 0) missed.push(`touches nothing: ${damage}`);
          else if ((await client.query(sql)).rowCount === 0) missed.push(damage);
        } catch (error) {
          missed.push(`${String(error)}: ${damage}`);
        } finally {
          await client.query('rollback');
        }
      }
      expect(missed).toEqual([]);
    });
  });
});
