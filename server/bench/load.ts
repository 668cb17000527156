/**
 * Measures what a history costs where it should cost nothing: loading a workstream with 100 and with 100,000 entries
 * (the claim, as a command waits for it), and what a server does at boot before it serves, with 2,000 open workstreams
 * and with none.
 *
 * Prints one JSON object a line: {bench, entries, loads, p50Ms, p99Ms}, {bench, workstreams, boots, p50Ms} and at last
 * {bench, ratio, bootRatio}; `ratio` is the long history to the short one, 1 would be free.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyEntries, emptyProjection, stateOf, type Entry, type EntryBody } from 'schema/projection';
import { startEmbeddedPostgres } from '../src/adapters/storage/embedded-postgres.ts';
import { openStorage, type Storage } from '../src/adapters/storage/index.ts';
import type { Receipt } from '../src/ports/journal.ts';

const loads = Number(process.argv[2] ?? 200);
const boots = 15;
const random = (): string => randomBytes(16).toString('hex');
const text = 'x'.repeat(500);
const author = { id: 'bench', name: 'Bench' };

const place = mkdtempSync(join(tmpdir(), 'weir-bench-'));
const started = await startEmbeddedPostgres({ dataDir: place });
if (started.type === 'refused') throw new Error(started.message);
const { host, port, user, database } = started.server.connection;
const databaseUrl = `postgresql://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
try {
  const storage = await open();
  const begun = await storage.sessions.begin('bench', 'bench');
  if (begun.type === 'busy') throw new Error('the bench node is taken');
  const sessionId = begun.session.id;
  setInterval(() => void begun.session.renew().catch(() => undefined), 5_000).unref();
  const empty = await boot(sessionId);
  say({ workstreams: 0, boots, p50Ms: empty });
  const short = await make(storage, sessionId, 100);
  const long = await make(storage, sessionId, 100_000);
  // Alternately, so that what warms up or disturbs one does so to the other.
  const times = { short: [] as number[], long: [] as number[] };
  for (let i = 0; i < loads; i += 1) {
    times.short.push(await timeOf(() => load(storage, sessionId, short)));
    times.long.push(await timeOf(() => load(storage, sessionId, long)));
  }
  const [few, many] = [percentile(times.short, 0.5), percentile(times.long, 0.5)];
  say({ entries: 100, loads, p50Ms: few, p99Ms: percentile(times.short, 0.99) });
  say({ entries: 100_000, loads, p50Ms: many, p99Ms: percentile(times.long, 0.99) });
  for (let i = 0; i < 2_000; i += 1) await make(storage, sessionId, 2);
  const full = await boot(sessionId);
  say({ workstreams: 2_002, boots, p50Ms: full });
  say({ ratio: round(many / few), bootRatio: round(full / empty) });
  await begun.session.end();
  await storage.close();
} finally {
  await started.server.stop();
  rmSync(place, { recursive: true, force: true });
}

function say(line: Readonly<Record<string, number>>): void {
  console.log(JSON.stringify({ bench: 'load', ...line }));
}

async function open(): Promise<Storage> {
  const opened = await openStorage({ databaseUrl });
  if (opened.type === 'refused') throw new Error(opened.message);
  return opened.storage;
}

/** Opening the database and looking for turns to carry on: what of a boot could grow with what there is. */
async function boot(sessionId: string): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < boots; i += 1) {
    let storage: Storage | null = null;
    times.push(
      await timeOf(async () => {
        storage = await open();
        await storage.ownership.liveTurns(sessionId);
      }),
    );
    await (storage as Storage | null)?.close();
  }
  return percentile(times, 0.5);
}

async function load(storage: Storage, sessionId: string, id: string): Promise<void> {
  const claim = await storage.ownership.claim(id, sessionId);
  if (claim.type !== 'claimed') throw new Error(`the bench could not claim its workstream: ${claim.type}`);
}

/** A workstream with a conversation of so many entries, every fourth of them said under a key. */
async function make(storage: Storage, sessionId: string, entries: number): Promise<string> {
  const id = random();
  const incarnation = random();
  await storage.reservations.reserve({ id, incarnation, sessionId });
  const configuration = {
    ...emptyProjection.configuration,
    title: 'bench',
    model: 'demo',
    workspace: `/${id}`,
  };
  let projection = emptyProjection;
  const batchOf = (bodies: readonly EntryBody[], epoch: number, receipts: readonly Receipt[] = []) => {
    const expectedHead = projection.revision;
    const at = new Date().toISOString();
    const made = bodies.map((body, i): Entry => ({
      ...body,
      id: random(),
      revision: expectedHead + 1 + i,
      epoch,
      generation: 0,
      lane: null,
      turnId: null,
      at,
    }));
    projection = applyEntries(projection, made);
    const state = stateOf(projection);
    return {
      workstreamId: id,
      incarnation,
      epoch,
      expectedHead,
      entries: made,
      projection,
      state,
      receipts,
      calls: [],
    };
  };
  await storage.reservations.publish(
    batchOf(
      [
        { kind: 'LIFECYCLE', lifecycle: 'OPEN', by: author },
        { kind: 'CONFIGURATION', configuration },
      ],
      0,
    ),
  );
  if (entries <= 2) return id;
  await load(storage, sessionId, id);
  for (let left = entries - 2; left > 0; left -= 1_000) {
    const bodies = Array.from({ length: Math.min(left, 1_000) }, (): EntryBody => ({
      kind: 'USER',
      text,
      author,
      source: 'MESSAGE',
    }));
    const receipts = bodies
      .filter((_, i) => i % 4 === 0)
      .map(() => ({ scope: `bench/${id}`, key: random(), inputHash: 'h', outcome: {} }));
    const outcome = await storage.journal.commit(batchOf(bodies, 1, receipts));
    if (outcome.type !== 'committed') throw new Error(`a batch was not stored: ${outcome.type}`);
  }
  return id;
}

async function timeOf(work: () => Promise<void>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

function round(n: number): number {
  return Number(n.toFixed(2));
}

function percentile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return round(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0);
}
