/**
 * Measures what Weir adds to a turn, in conversations of 0, 100 and 1,000 earlier turns: from the accepted message (its
 * batch is durable) to the request at the provider, and from the provider's last bytes to the settled turn (its batch
 * is durable). Over the server's own parts, an embedded PostgreSQL that syncs, and HTTP to a provider in a thread of
 * its own. Beside each the limit in the same run: the very same bytes, ready, sent in the same way by a bare `fetch`.
 *
 * Prints one JSON object a line: {bench, earlierTurns, turns, bodyBytes, toWireMs, toArrivedMs, toSettledMs, bare…},
 * each measure as {p50, p99}, and at last {bench, ratio}: the median with 1,000 earlier turns over the one with none.
 * `toWire` ends when the provider has the head of the request, with the body following; it is the one to be flat.
 * `toArrived` ends with the last byte of the body, which takes its time for anybody: the ratio of the limit says how
 * much. `addedMs` is what Weir takes to the wire beyond the limit: the median difference of a turn and the bare request
 * that follows it. The first turn after a load writes the whole conversation, so it is told apart: `firstToWireMs` is of
 * these, the other measures of those that follow. p99 of so few is nearly the worst of all, and is to be read beside the
 * one of the limit, which tells what else the machine was doing.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { applyEntries, emptyProjection, stateOf, type Entry, type EntryBody } from 'schema/projection';
import { systemClock } from '../src/adapters/clock/index.ts';
import { createModels } from '../src/adapters/model/index.ts';
import { postOf } from '../src/adapters/model/post.ts';
import { createProcesses } from '../src/adapters/process/index.ts';
import { systemIds } from '../src/adapters/random/index.ts';
import { startEmbeddedPostgres } from '../src/adapters/storage/embedded-postgres.ts';
import { openStorage, type Storage } from '../src/adapters/storage/index.ts';
import { createTools } from '../src/adapters/tools/index.ts';
import { createPrompt } from '../src/app/actor/prompt.ts';
import { createRegistry, type Registry } from '../src/app/actor/registry.ts';
import { createHub } from '../src/app/feed/hub.ts';
import type { Batch, Journal } from '../src/ports/journal.ts';

/** What the provider saw of one request, in milliseconds since 1970 with fractions. */
interface Seen {
  readonly begunAt: number;
  readonly arrivedAt: number;
  /** Just before it sent its last bytes. */
  readonly lastAt: number;
}

type Body = Uint8Array<ArrayBuffer>;

/** Turns in one conversation, which thereby has so many more than it is said to have. */
const stepTurns = 5;
const author = { id: 'bench', name: 'Bench' };

const random = (): string => randomBytes(16).toString('hex');
const now = (): number => performance.timeOrigin + performance.now();

if (!isMainThread) await provide();
else await measure();

// ---- the provider, in a thread of its own ----

async function provide(): Promise<void> {
  const server = createServer((request, response) => {
    const begunAt = now();
    if (request.method !== 'POST') return void response.writeHead(404).end();
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const arrivedAt = now();
      const body = new Uint8Array(Buffer.concat(parts));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const event = (choice: object): string =>
        `data: ${JSON.stringify({ model: 'bench', choices: [{ index: 0, finish_reason: null, ...choice }] })}\n\n`;
      for (let n = 0; n < 20; n += 1) response.write(event({ delta: { content: 'So it is said. ' } }));
      // The last bytes come apart from the others, as they do after an answer that took its time.
      setTimeout(() => {
        const lastAt = now();
        response.end(`${event({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`);
        // Not copied: whoever gets it has a turn to settle meanwhile.
        parentPort!.postMessage({ seen: { begunAt, arrivedAt, lastAt }, body }, [body.buffer]);
      }, 5);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.keepAliveTimeout = 60_000;
  parentPort!.postMessage({ port: (server.address() as AddressInfo).port });
}

// ---- the measurement ----

interface Sample {
  readonly toWire: number;
  readonly toArrived: number;
  readonly toSettled: number;
}

async function measure(): Promise<void> {
  const turnsEach = Number(process.argv[2] ?? 100);
  const sizes = [0, 100, 1_000] as const;
  const place = mkdtempSync(join(tmpdir(), 'weir-bench-'));
  const started = await startEmbeddedPostgres({ dataDir: place });
  if (started.type === 'refused') throw new Error(started.message);
  const { host, port, user, database } = started.server.connection;
  const databaseUrl = `postgresql://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
  const provider = await startProvider();
  try {
    const opened = await openStorage({ databaseUrl });
    if (opened.type === 'refused') throw new Error(opened.message);
    const { storage } = opened;
    const begun = await storage.sessions.begin('bench', 'bench');
    if (begun.type === 'busy') throw new Error('the bench node is taken');
    const { session } = begun;
    setInterval(() => void session.renew().catch(() => undefined), 5_000).unref();
    const bench = await setUp(storage, session.id, provider.url);

    // In small steps by turns, so that what warms up or disturbs one does so to the others.
    const samples = new Map(sizes.map((size) => [size as number, [] as Sample[]]));
    const bare = new Map(sizes.map((size) => [size as number, [] as Sample[]]));
    const bodies = new Map<number, Body>();
    for (let round = -1; round < Math.ceil(turnsEach / stepTurns); round += 1) {
      for (const size of sizes) {
        const id = await bench.make(size);
        for (let turn = 0; turn < stepTurns; turn += 1) {
          const { sample, body } = await oneTurn(bench, provider, id);
          bodies.set(size, body);
          const limit = await oneFetch(provider, body);
          // The first round is for the compiler, the pools and the caches.
          if (round < 0) continue;
          samples.get(size)!.push(sample);
          bare.get(size)!.push(limit);
        }
      }
    }

    for (const size of sizes) {
      const first = samples.get(size)!.filter((_, i) => isFirst(i));
      const [ours, limit] = [later(samples.get(size)!), later(bare.get(size)!)];
      say({
        earlierTurns: size,
        turns: ours.length,
        bodyBytes: bodies.get(size)!.length,
        toWireMs: spread(ours, 'toWire'),
        toArrivedMs: spread(ours, 'toArrived'),
        toSettledMs: spread(ours, 'toSettled'),
        bareToWireMs: spread(limit, 'toWire'),
        bareToArrivedMs: spread(limit, 'toArrived'),
        bareToEndMs: spread(limit, 'toSettled'),
        firstToWireMs: spread(first, 'toWire'),
        addedMs: median(ours.map(({ toWire }, i) => toWire - limit[i]!.toWire)),
        load: round(loadavg()[0]!),
      });
    }
    const p50 = (of: typeof samples, size: number, what: keyof Sample): number =>
      spread(later(of.get(size)!), what).p50;
    const ratioOf = (of: typeof samples, what: keyof Sample): number =>
      round(p50(of, 1_000, what) / p50(of, 0, what));
    say({
      ratio: {
        toWire: ratioOf(samples, 'toWire'),
        toArrived: ratioOf(samples, 'toArrived'),
        toSettled: ratioOf(samples, 'toSettled'),
        bareToWire: ratioOf(bare, 'toWire'),
        bareToArrived: ratioOf(bare, 'toArrived'),
      },
    });
    await bench.registry.stop(5_000);
    await session.end();
    await storage.close();
  } finally {
    await provider.stop();
    await started.server.stop();
    rmSync(place, { recursive: true, force: true });
  }
}

interface Provider {
  readonly url: string;
  /** What it sees of the next request. */
  next(): Promise<{ readonly seen: Seen; readonly body: Body }>;
  stop(): Promise<unknown>;
}

async function startProvider(): Promise<Provider> {
  const worker = new Worker(new URL(import.meta.url));
  worker.on('error', (error) => {
    throw error;
  });
  const next = (): Promise<Record<string, unknown>> =>
    new Promise((resolve) => worker.once('message', resolve));
  const { port } = await next();
  return {
    url: `http://127.0.0.1:${String(port)}/v1`,
    async next() {
      const { seen, body } = await next();
      return { seen: seen as Seen, body: body as Body };
    },
    stop: () => worker.terminate(),
  };
}

interface Bench {
  readonly registry: Registry;
  /** A workstream with so many turns. */
  make(turns: number): Promise<string>;
  /** When a batch with such an entry was stored; asked for before it is. */
  stored(fact: (entry: Entry) => boolean): Promise<number>;
}

async function setUp(storage: Storage, sessionId: string, url: string): Promise<Bench> {
  const watchers = new Set<{ fact: (entry: Entry) => boolean; tell: (at: number) => void }>();
  const journal: Journal = {
    ...storage.journal,
    async commit(batch) {
      const outcome = await storage.journal.commit(batch);
      const at = now();
      for (const watcher of watchers)
        if (batch.entries.some(watcher.fact)) {
          watchers.delete(watcher);
          watcher.tell(at);
        }
      return outcome;
    },
  };
  const log = {
    info: () => undefined,
    warn: (fields: object, message: string) => console.error(message, JSON.stringify(fields)),
    error: (fields: object, message: string) => console.error(message, JSON.stringify(fields)),
  };
  const clock = systemClock;
  const model = createModels({
    clock,
    log,
    config: { apiKey: 'bench', baseUrl: url, model: 'bench' },
  });
  const processes = createProcesses({ sessionId, clock });
  const registry = createRegistry({
    clock,
    ids: systemIds,
    log,
    hub: createHub(),
    model,
    tools: createTools({ processes, limits: { closedFolders: [] } }),
    prompt: createPrompt({
      guidance: { ofServer: () => null, ofWorkspace: () => Promise.resolve(null) },
      clock,
    }),
    processes,
    host: 'bench',
    journal,
    ownership: storage.ownership,
    usage: storage.usage,
    sessionId,
    random: Math.random,
    fires: () => Promise.resolve([]),
  });
  const stored: Bench['stored'] = (fact) => new Promise((tell) => watchers.add({ fact, tell }));
  return { registry, stored, make: (turns) => make(storage, sessionId, turns) };
}

async function make(storage: Storage, sessionId: string, turns: number): Promise<string> {
  const id = random();
  const incarnation = random();
  await storage.reservations.reserve({ id, incarnation, sessionId });
  let projection = emptyProjection;
  const batchOf = (
    bodies: readonly (EntryBody & { readonly turnId?: string; readonly generation?: number })[],
    epoch: number,
  ): Batch => {
    const expectedHead = projection.revision;
    const at = new Date().toISOString();
    const entries = bodies.map((body, i): Entry => ({
      generation: 0,
      turnId: null,
      ...body,
      id: random(),
      revision: expectedHead + 1 + i,
      epoch,
      lane: null,
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
  const configuration = {
    ...emptyProjection.configuration,
    title: 'bench',
    titleSource: 'PERSON' as const,
    model: 'bench',
    workspace: tmpdir(),
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
  if (turns === 0) return id;
  const claim = await storage.ownership.claim(id, sessionId);
  if (claim.type !== 'claimed') throw new Error(`the bench could not claim its workstream: ${claim.type}`);
  for (let from = 0; from < turns; from += 100) {
    const made = Array.from({ length: Math.min(100, turns - from) }, (_, i) => turnOf(from + i));
    const outcome = await storage.journal.commit(batchOf(made.flat(), claim.workstream.epoch));
    if (outcome.type !== 'committed') throw new Error(`a batch was not stored: ${outcome.type}`);
  }
  return id;
}

/** A message and its answer, and in every fourth turn a tool between them. */
function turnOf(
  n: number,
): readonly (EntryBody & { readonly turnId: string; readonly generation: number })[] {
  const turnId = random();
  const callId = random();
  const at = new Date().toISOString();
  const answer = {
    kind: 'ASSISTANT',
    reasoning: '',
    finish: 'STOP',
    model: 'bench',
    alias: 'bench',
    usage: null,
    discarded: [],
  } as const;
  const live = {
    id: turnId,
    kind: 'CHAT',
    phase: 'RUNNING',
    generation: n + 1,
    principal: author,
    outcome: null,
    recoveries: 0,
    startedAt: at,
    settledAt: null,
  } as const;
  const outcome = { type: 'COMPLETED', reason: 'DONE', message: '', unconfirmed: [] } as const;
  const call = { callId, providerId: `call_${n}`, name: 'read_file', arguments: '{"path":"src/index.ts"}' };
  const used: readonly EntryBody[] = [
    { ...answer, text: '', calls: [call] },
    {
      kind: 'TOOL',
      callId,
      name: 'read_file',
      outcome: 'OK',
      effect: 'NONE',
      content: 'const a = 1;\n'.repeat(40),
    },
  ];
  const bodies: readonly EntryBody[] = [
    { kind: 'USER', text: `Question ${n}. ${'Say more of it. '.repeat(12)}`, author, source: 'MESSAGE' },
    { kind: 'TURN', turn: live },
    ...(n % 4 === 0 ? used : []),
    { ...answer, text: `Answer ${n}. ${'That is "so", as ever.\n'.repeat(20)}`, calls: [] },
    { kind: 'TURN', turn: { ...live, phase: 'COMPLETED', outcome, settledAt: at } },
  ];
  return bodies.map((body) => ({ ...body, turnId, generation: n + 1 }));
}

async function oneTurn(
  { registry, stored }: Bench,
  provider: Provider,
  id: string,
): Promise<{ readonly sample: Sample; readonly body: Body }> {
  const loading = await registry.load(id);
  if (loading.type !== 'loaded') throw new Error(loading.code);
  // What a first message after a load waits for is another measure (`load`).
  await loading.actor.readConversation();
  const accepted = stored((entry) => entry.kind === 'USER');
  const settled = stored((entry) => entry.kind === 'TURN' && entry.turn.outcome !== null);
  const request = provider.next();
  loading.actor.ask(
    author,
    { scope: `bench/${id}`, key: random(), inputHash: 'h' },
    { type: 'send', text: 'And what of this?', delivery: 'QUEUE', turnId: null },
  );
  const [acceptedAt, settledAt, { seen, body }] = await Promise.all([accepted, settled, request]);
  return {
    sample: {
      toWire: seen.begunAt - acceptedAt,
      toArrived: seen.arrivedAt - acceptedAt,
      toSettled: settledAt - seen.lastAt,
    },
    body,
  };
}

/** The limit: the same body, ready as it is, sent, and the answer read, by nothing but `fetch`. */
async function oneFetch(provider: Provider, body: Body): Promise<Sample> {
  const request = provider.next();
  const from = now();
  const post = { method: 'POST', ...postOf([body]), duplex: 'half' };
  const response = await fetch(`${provider.url}/chat/completions`, post);
  await response.arrayBuffer();
  const endedAt = now();
  const { seen } = await request;
  return {
    toWire: seen.begunAt - from,
    toArrived: seen.arrivedAt - from,
    toSettled: endedAt - seen.lastAt,
  };
}

// ---- figures ----

/** Whether the turn is the first after a load, by its place among the samples. */
function isFirst(at: number): boolean {
  return at % stepTurns === 0;
}

function later(samples: readonly Sample[]): readonly Sample[] {
  return samples.filter((_, i) => !isFirst(i));
}

function say(line: Readonly<Record<string, unknown>>): void {
  console.log(JSON.stringify({ bench: 'turn', ...line }));
}

function median(values: readonly number[]): number {
  return round([...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!);
}

function spread(
  samples: readonly Sample[],
  what: keyof Sample,
): { readonly p50: number; readonly p99: number } {
  const sorted = samples.map((sample) => sample[what]).sort((a, b) => a - b);
  const at = (q: number): number =>
    round(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!);
  return { p50: at(0.5), p99: at(0.99) };
}

function round(n: number): number {
  return Number(n.toFixed(2));
}
