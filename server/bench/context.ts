/**
 * Measures what a summary is for: that what lies before it costs nothing. Two conversations with the same 60 entries after
 * their checkpoint, one with 100 entries before it and one with 100,000, on an embedded PostgreSQL that syncs.
 *
 * `loadMs`: the claim, as the first command waits for it. `readMs`: reading from the database what the model is told.
 * `lowerMs`: making messages of that. `prepareMs`: all that a first model call makes of it, to the bytes of its request.
 * `heapBytes`: what the loaded workstream, its conversation and these bytes keep.
 *
 * Prints one JSON object a line: {bench, before, after, rounds, bodyBytes, loadMs, readMs, lowerMs, prepareMs, heapBytes},
 * medians of the rounds, and at last {bench, ratio}: of each measure the long one over the short one; 1 would be free.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { applyEntries, emptyProjection, stateOf, type Entry, type EntryBody } from 'schema/projection';
import { usualTraits, type Binding } from '../src/adapters/model/binding.ts';
import { parseEndpoint } from '../src/adapters/model/endpoint.ts';
import { createBodyWriter } from '../src/adapters/model/wire/body.ts';
import { chatForm } from '../src/adapters/model/wire/chat-request.ts';
import { firstWants } from '../src/adapters/model/wire/wants.ts';
import { startEmbeddedPostgres } from '../src/adapters/storage/embedded-postgres.ts';
import { openStorage, type Storage } from '../src/adapters/storage/index.ts';
import { createTelling } from '../src/app/actor/telling.ts';
import { lower } from '../src/core/conversation/lower.ts';
import type { Batch } from '../src/ports/journal.ts';

const rounds = Number(process.argv[2] ?? 100);
const sizes = [100, 100_000] as const;
const after = 60;
const measures = ['loadMs', 'readMs', 'lowerMs', 'prepareMs', 'heapBytes'] as const;
type Measure = (typeof measures)[number];

const random = (): string => randomBytes(16).toString('hex');
const author = { id: 'bench', name: 'Bench' };
const system = 'You work in a folder. '.repeat(100);
const collect = collector();

const binding: Binding = {
  alias: 'bench',
  endpoint: parseEndpoint('http://127.0.0.1:1/v1', 'none')!,
  model: 'bench',
  dialect: 'CHAT',
  fallbacks: [],
  window: 200_000,
  maxOutput: null,
  temperature: null,
  effort: null,
  concurrency: null,
  price: null,
  source: 'ENVIRONMENT',
  traits: usualTraits,
};

const place = mkdtempSync(join(tmpdir(), 'weir-bench-'));
const started = await startEmbeddedPostgres({ dataDir: place });
if (started.type === 'refused') throw new Error(started.message);
const { host, port, user, database } = started.server.connection;
const databaseUrl = `postgresql://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
try {
  const opened = await openStorage({ databaseUrl });
  if (opened.type === 'refused') throw new Error(opened.message);
  const { storage } = opened;
  const begun = await storage.sessions.begin('bench', 'bench');
  if (begun.type === 'busy') throw new Error('the bench node is taken');
  const { session } = begun;
  setInterval(() => void session.renew().catch(() => undefined), 5_000).unref();
  const ids = new Map<number, string>();
  for (const size of sizes) ids.set(size, await make(storage, session.id, size));
  const samples = new Map(sizes.map((size) => [size as number, [] as Sample[]]));
  // Alternately, so that what warms up or disturbs one does so to the other; the first rounds warm up.
  for (let round = -5; round < rounds; round += 1)
    for (const size of sizes) {
      const sample = await oneRound(storage, session.id, ids.get(size)!);
      if (round >= 0) samples.get(size)!.push(sample);
    }
  const p50 = (size: number, what: Measure): number =>
    median(samples.get(size)!.map((sample) => sample[what]));
  const all = (of: (what: Measure) => number): object =>
    Object.fromEntries(measures.map((what) => [what, of(what)]));
  for (const size of sizes) {
    const { bodyBytes } = samples.get(size)![0]!;
    say({ before: size, after, rounds, bodyBytes, ...all((what) => p50(size, what)) });
  }
  say({ ratio: all((what) => round2(p50(sizes[1], what) / p50(sizes[0], what))) });
  await session.end();
  await storage.close();
} finally {
  await started.server.stop();
  rmSync(place, { recursive: true, force: true });
}

interface Sample extends Readonly<Record<Measure, number>> {
  readonly bodyBytes: number;
}

async function oneRound(storage: Storage, sessionId: string, id: string): Promise<Sample> {
  collect();
  const heapBefore = process.memoryUsage().heapUsed + process.memoryUsage().external;
  const [claim, loadMs] = await timed(() => storage.ownership.claim(id, sessionId));
  if (claim.type !== 'claimed') throw new Error(`the bench could not claim its workstream: ${claim.type}`);
  const { projection, incarnation } = claim.workstream;
  const range = {
    incarnation,
    through: projection.revision,
    superseded: projection.superseded,
    checkpoint: projection.checkpoint,
  };
  const [conversation, readMs] = await timed(() => storage.journal.conversation(id, range));
  if (conversation?.length !== after + 1) throw new Error(`${conversation?.length} entries are told`);
  const [, lowerMs] = await timed(() => lower(system, conversation));
  // As for a workstream that was just loaded: nothing is kept of an earlier call.
  const tell = createTelling();
  const bodies = createBodyWriter(chatForm);
  const [kept, prepareMs] = await timed(() => {
    const messages = tell(system, conversation);
    const asked = { messages, tools: [], temperature: null, effort: null };
    return { messages, pieces: bodies.write({ binding, asked, wants: firstWants(binding) }) };
  });
  collect();
  const usage = process.memoryUsage();
  const heapBytes = usage.heapUsed + usage.external - heapBefore;
  // Looked at after the heap is, so that all of it is kept until then.
  const bodyBytes = kept.pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  if (kept.messages.length === 0 || claim.workstream.id !== id || bodyBytes === 0)
    throw new Error('nothing was told');
  return { loadMs, readMs, lowerMs, prepareMs, heapBytes, bodyBytes };
}

/** A workstream with so many entries of a conversation, a summary of them, and the same ones after it. */
async function make(storage: Storage, sessionId: string, before: number): Promise<string> {
  const id = random();
  const incarnation = random();
  await storage.reservations.reserve({ id, incarnation, sessionId });
  const configuration = {
    ...emptyProjection.configuration,
    title: 'bench',
    model: 'bench',
    workspace: `/${id}`,
  };
  let projection = emptyProjection;
  const batchOf = (bodies: readonly EntryBody[], epoch: number): Batch => {
    const expectedHead = projection.revision;
    const at = new Date().toISOString();
    const entries = bodies.map((body, i): Entry => ({
      ...body,
      id: random(),
      revision: expectedHead + 1 + i,
      epoch,
      generation: 0,
      lane: null,
      turnId: null,
      at,
    }));
    projection = applyEntries(projection, entries);
    const state = stateOf(projection);
    return {
      workstreamId: id,
      incarnation,
      epoch,
      expectedHead,
      entries,
      projection,
      state,
      receipts: [],
      calls: [],
    };
  };
  const open: readonly EntryBody[] = [
    { kind: 'LIFECYCLE', lifecycle: 'OPEN', by: author },
    { kind: 'CONFIGURATION', configuration },
  ];
  await storage.reservations.publish(batchOf(open, 0));
  const claim = await storage.ownership.claim(id, sessionId);
  if (claim.type !== 'claimed') throw new Error(`the bench could not claim its workstream: ${claim.type}`);
  const commit = async (bodies: readonly EntryBody[]): Promise<void> => {
    const outcome = await storage.journal.commit(batchOf(bodies, claim.workstream.epoch));
    if (outcome.type !== 'committed') throw new Error(`a batch was not stored: ${outcome.type}`);
  };
  for (let from = 0; from < before; from += 1_000)
    await commit(Array.from({ length: Math.min(1_000, before - from) }, (_, i) => said(from + i)));
  const mark = { told: 300, counted: null, scale: 1, overhead: 1_000, window: 200_000 };
  const checkpoint: EntryBody = {
    kind: 'CHECKPOINT',
    summary: 'They talked, and it was so. '.repeat(40),
    watermark: projection.revision,
    request: null,
    trigger: 'MANUAL',
    before: 150_000,
    after: 1_300,
    model: 'bench',
    alias: 'bench',
    context: mark,
  };
  await commit([checkpoint, ...Array.from({ length: after }, (_, i) => said(before + i))]);
  return id;
}

/** By turns a question, a call, its result and an answer. */
function said(n: number): EntryBody {
  const answer = {
    kind: 'ASSISTANT',
    reasoning: '',
    finish: 'STOP',
    model: 'bench',
    alias: 'bench',
    usage: null,
    discarded: [],
  } as const;
  const callId = `call-${Math.floor(n / 4)}`;
  switch (n % 4) {
    case 0:
      return { kind: 'USER', text: `Question ${n}. ${'Say more. '.repeat(30)}`, author, source: 'MESSAGE' };
    case 1: {
      const call = { callId, providerId: `c${n}`, name: 'read_file', arguments: '{"path":"src/index.ts"}' };
      return { ...answer, text: '', calls: [call] };
    }
    case 2: {
      const content = 'const a = 1;\n'.repeat(80);
      return { kind: 'TOOL', callId, name: 'read_file', outcome: 'OK', effect: 'NONE', content };
    }
    default:
      return { ...answer, text: `Answer ${n}. ${'That is so.\n'.repeat(30)}`, calls: [] };
  }
}

async function timed<T>(work: () => T | Promise<T>): Promise<readonly [T, number]> {
  const from = performance.now();
  const made = await work();
  return [made, performance.now() - from];
}

/** Collects what is not used any more; what is left is kept by somebody. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

function say(line: Readonly<Record<string, unknown>>): void {
  console.log(JSON.stringify({ bench: 'context', ...line }));
}

function median(values: readonly number[]): number {
  return round2([...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!);
}

function round2(n: number): number {
  return Number(n.toFixed(2));
}
