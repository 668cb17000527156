/**
 * Measures: durable entries a second through the journal (fence, entries, fold and head in one transaction each), on
 * one workstream and on 200 at once, beside the limit: the same entries as raw batched inserts over `pg`, one
 * transaction a batch, no fence and no head, on the same server in the same run.
 *
 * Prints one JSON object a line: {bench, workstreams, batches, entriesPerSecond, p50Ms, p99Ms, rawEntriesPerSecond,
 * ratio}; `ratio` is ours to the limit, 1 would be free.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { applyEntries, emptyProjection, stateOf, type Entry, type EntryBody } from 'schema/projection';
import { openStorage, type Storage } from '../src/adapters/storage/index.ts';
import { startEmbeddedPostgres } from '../src/adapters/storage/embedded-postgres.ts';
import type { Batch } from '../src/ports/journal.ts';

const seconds = Number(process.argv[2] ?? 5);
const entriesPerBatch = 3;
const random = (): string => randomBytes(16).toString('hex');
const text = 'x'.repeat(500);

let session: Promise<string> | null = null;
const place = mkdtempSync(join(tmpdir(), 'weir-bench-'));
const started = await startEmbeddedPostgres({ dataDir: place });
if (started.type === 'refused') throw new Error(started.message);
const { host, port, user, database } = started.server.connection;
const databaseUrl = `postgresql://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
try {
  const opened = await openStorage({ databaseUrl });
  if (opened.type === 'refused') throw new Error(opened.message);
  const { storage } = opened;
  const raw = new pg.Pool({ host, port, user, database, max: 10 });
  // The server is stopped under it when the bench breaks; what broke is said by the first error.
  raw.on('error', () => undefined);
  await raw.query(
    'create table raw_entry (workstream text, revision int, id text, payload jsonb, primary key (workstream, revision))',
  );
  for (const workstreams of [1, 200]) await measure(storage, raw, workstreams);
  await raw.end();
  await storage.close();
} finally {
  await started.server.stop();
  rmSync(place, { recursive: true, force: true });
}

async function measure(storage: Storage, raw: pg.Pool, workstreams: number): Promise<void> {
  const limit = await load(workstreams, () => rawWriter(raw));
  const ours = await load(workstreams, () => journalWriter(storage));
  const rate = (run: Run): number => Math.round((run.durations.length * entriesPerBatch) / run.seconds);
  console.log(
    JSON.stringify({
      bench: 'append',
      workstreams,
      batches: ours.durations.length,
      entriesPerSecond: rate(ours),
      p50Ms: percentile(ours.durations, 0.5),
      p99Ms: percentile(ours.durations, 0.99),
      rawEntriesPerSecond: rate(limit),
      ratio: Number((rate(ours) / rate(limit)).toFixed(3)),
    }),
  );
}

interface Run {
  readonly seconds: number;
  /** Milliseconds each batch took. */
  readonly durations: readonly number[];
}

/** Every workstream writes its next batch as soon as the last one has landed. */
async function load(workstreams: number, writer: () => Promise<() => Promise<void>>): Promise<Run> {
  const writers = await Promise.all(Array.from({ length: workstreams }, writer));
  const durations: number[] = [];
  const began = performance.now();
  const end = began + seconds * 1_000;
  await Promise.all(
    writers.map(async (write) => {
      while (performance.now() < end) {
        const from = performance.now();
        await write();
        durations.push(performance.now() - from);
      }
    }),
  );
  return { seconds: (performance.now() - began) / 1_000, durations };
}

function rawWriter(pool: pg.Pool): Promise<() => Promise<void>> {
  const workstream = random();
  let revision = 0;
  return Promise.resolve(async () => {
    const rows = Array.from({ length: entriesPerBatch }, () => (revision += 1));
    await pool.query(
      `insert into raw_entry select $1, r, i, p from unnest($2::int[], $3::text[], $4::jsonb[]) as t(r, i, p)`,
      [workstream, rows, rows.map(random), rows.map(() => JSON.stringify({ kind: 'USER', text }))],
    );
  });
}

async function journalWriter(storage: Storage): Promise<() => Promise<void>> {
  const id = random();
  const incarnation = random();
  const session = await sessionOf(storage);
  await storage.reservations.reserve({ id, incarnation, sessionId: session });
  const birth = batchOf({ id, incarnation, epoch: 0, projection: emptyProjection }, [
    { kind: 'LIFECYCLE', lifecycle: 'OPEN', by: null },
    {
      kind: 'CONFIGURATION',
      configuration: { ...emptyProjection.configuration, title: 'bench', model: 'demo', workspace: '/' },
    },
  ]);
  await storage.reservations.publish(birth);
  const claim = await storage.ownership.claim(id, session);
  if (claim.type !== 'claimed') throw new Error(`the bench could not claim its workstream: ${claim.type}`);
  let { projection } = claim.workstream;
  const { epoch } = claim.workstream;
  const bodies = Array.from({ length: entriesPerBatch }, (): EntryBody => ({
    kind: 'USER',
    text,
    author: { id: 'bench', name: 'Bench' },
    source: 'MESSAGE',
  }));
  return async () => {
    const batch = batchOf({ id, incarnation, epoch, projection }, bodies);
    const outcome = await storage.journal.commit(batch);
    if (outcome.type !== 'committed') throw new Error(`a batch was not stored: ${outcome.type}`);
    ({ projection } = batch);
  };
}

function sessionOf(storage: Storage): Promise<string> {
  return (session ??= storage.sessions.begin('bench', 'bench').then((begun) => {
    if (begun.type === 'busy') throw new Error('the bench node is taken');
    const beat = setInterval(() => void begun.session.renew().catch(() => undefined), 5_000);
    beat.unref();
    return begun.session.id;
  }));
}

function batchOf(
  made: Pick<Batch, 'incarnation' | 'epoch' | 'projection'> & { readonly id: string },
  bodies: readonly EntryBody[],
): Batch {
  const head = made.projection.revision;
  const at = new Date().toISOString();
  const entries = bodies.map((body, i): Entry => ({
    ...body,
    id: random(),
    revision: head + 1 + i,
    epoch: made.epoch,
    generation: 0,
    lane: null,
    turnId: null,
    at,
  }));
  const projection = applyEntries(made.projection, entries);
  return {
    workstreamId: made.id,
    incarnation: made.incarnation,
    epoch: made.epoch,
    expectedHead: head,
    entries,
    projection,
    state: stateOf(projection),
    receipts: [],
    calls: [],
  };
}

function percentile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return Number((sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0).toFixed(2));
}
