/**
 * Owns: two real servers on one database, and a third hand that reaps, racing over the same workstreams: 200 rounds of
 * loading, closing, opening, deleting and reaping at once (D-20 to D-26, D-101). A failure prints the seed;
 * `LIFECYCLE_SEED` runs the same choices again.
 */
import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newKey, type Api, type Result } from '../../../e2e/support/api.ts';
import type { Storage } from '../../src/adapters/storage/index.ts';
import { setBench, type Bench } from './support.ts';

const rounds = 200;
const seed = Number(process.env['LIFECYCLE_SEED'] ?? randomInt(2 ** 31));

let bench: Bench;
let servers: readonly Api[];
let storage: Storage;
let reaper: string;

beforeAll(async () => {
  bench = await setBench();
  const [first, second] = await Promise.all([bench.join(), bench.join()]);
  servers = [first.api, second.api];
  storage = await bench.database.openStorage();
  const begun = await storage.sessions.begin('reaper', 'elsewhere');
  if (begun.type === 'busy') throw new Error('the node is taken');
  reaper = begun.session.id;
}, 120_000);
afterAll(() => bench.end());

const rowOf = (id: string): string => Buffer.from(id, 'base64').toString().split(':')[1]!;

/** mulberry32. */
function chance(state: number): (below: number) => number {
  let a = state;
  return (below) => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

async function command(api: Api, verb: 'close' | 'open' | 'delete', id: string): Promise<Result> {
  const Verb = `${verb[0]!.toUpperCase()}${verb.slice(1)}`;
  const { data, errors } = await api.query<{ answer: Result }>(
    `mutation ($input: ${Verb}WorkstreamInput!) { answer: ${verb}Workstream(input: $input) {
       __typename ... on Rejection { code message retryable } } }`,
    { input: { key: newKey(), workstreamId: id } },
  );
  if (!data) throw new Error(JSON.stringify(errors));
  return data.answer;
}

/** What anybody may be told who races with others; everything else is wrong. */
const fair = new Set(['OWNER_ELSEWHERE', 'WORKSTREAM_NOT_FOUND', 'WORKSTREAM_CLOSED', 'CLOSING']);

it('two servers that load, close, open and delete at once, while reservations are reaped, do nothing wrong and hang nowhere (D-22 to D-26)', async () => {
  const random = chance(seed);
  const wrong = (round: number): string => `round ${round} of seed ${seed}`;
  let deletions = 0;
  for (let round = 0; round < rounds; round += 1) {
    const api = () => servers[random(2)]!;
    const id = await api().create();
    const stale = newKey();
    await storage.reservations.reserve({ id: stale, incarnation: newKey(), sessionId: reaper });
    await bench.database.sql(`update workstream set created_at = now() - interval '3 hours' where id = $1`, [
      stale,
    ]);
    const moves = Array.from({ length: 3 + random(4) }, () => {
      const verb = (['send', 'send', 'close', 'open', 'delete'] as const)[random(5)]!;
      const at = api();
      return { verb, answer: verb === 'send' ? at.send(id, 'Go on.') : command(at, verb, id) };
    });
    const reaping = [0, 1].map(() =>
      storage.removal.reap({ sessionId: reaper, except: [] }, 2 * 60 * 60_000),
    );
    const answers = await Promise.all(moves.map(async ({ verb, answer }) => ({ verb, ...(await answer) })));
    const reaped = (await Promise.all(reaping)).flat().map((r) => r.id);
    expect(reaped, wrong(round)).toEqual([stale]);
    const deleted = answers.filter((a) => a.verb === 'delete' && a.code === undefined);
    expect(deleted.length, wrong(round)).toBeLessThanOrEqual(1);
    for (const { verb, code } of answers)
      if (code !== undefined) expect(fair, `${verb} in ${wrong(round)}`).toContain(code);
    const row = rowOf(id);
    const left = await bench.database.sql<{ lifecycle: string; entries: number }>(
      `select lifecycle, (select count(*)::int from entry where workstream_id = w.id) as entries
         from workstream w where id = $1`,
      [row],
    );
    expect(left, wrong(round)).toHaveLength(1 - deleted.length);
    if (deleted.length === 1) {
      deletions += 1;
      const rests = await bench.database.sql(
        `select workstream_id from entry where workstream_id = $1 union all
           select workstream_id from turn where workstream_id = $1 union all
           select workstream_id from receipt where workstream_id = $1`,
        [row],
      );
      expect(rests, wrong(round)).toEqual([]);
      for (const server of servers)
        expect(await server.send(id, 'Still there?'), wrong(round)).toMatchObject({
          code: 'WORKSTREAM_NOT_FOUND',
        });
      continue;
    }
    const entries = await storage.journal.read(row, { after: 0, through: 9_999, limit: 9_999 });
    expect(
      entries.map((e) => e.revision),
      wrong(round),
    ).toEqual(entries.map((_, i) => i + 1));
    entries.forEach((entry, i) => {
      if (entry.kind !== 'LIFECYCLE' || entry.lifecycle !== 'CLOSED' || i + 1 === entries.length) return;
      expect(entries[i + 1], wrong(round)).toMatchObject({ kind: 'LIFECYCLE', lifecycle: 'OPEN' });
    });
    const said = entries.filter((e) => e.kind === 'USER').length;
    const queued = entries.findLast((e) => e.kind === 'QUEUE')?.queue.items.length ?? 0;
    const sends = answers.filter((a) => a.verb === 'send' && a.code === undefined).length;
    expect(said + queued > 0, wrong(round)).toBe(sends > 0);
  }
  expect(deletions).toBeGreaterThan(rounds / 10);
}, 300_000);
