/**
 * Measures: what it costs the server to show one streaming answer to 1, 10, 100 and 1,000 subscribers of a workstream,
 * each on a socket of its own, beside the limit: a bare relay over `ws` that sends messages of the same size, as often,
 * to as many sockets, in the same run. Linux only: the time a process used is read from /proc.
 *
 * Prints one JSON object a line: {bench, subscribers, deliveries, deliveriesPerSecond, p50Ms, p99Ms, cpuMicros,
 * relayDeliveriesPerSecond, relayP50Ms, relayP99Ms, relayCpuMicros, ratio}. Milliseconds are from the moment the
 * provider wrote the last token of a message (the relay: the message) to its arrival; our frames account for up to 33
 * of them. `cpuMicros` is server time for one message to one subscriber, and `ratio` the relay's to ours: 1 would be
 * free.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { print } from 'graphql';
import { feedSubscription, newKey } from 'schema/client-kit';
import { WebSocket, WebSocketServer } from 'ws';
import { startWeir } from '../support/weir.ts';

/** Milliseconds by a clock that all processes of this machine share. */
const now = (): number => performance.timeOrigin + performance.now();

/** How often the server passes on what has come of a stream, milliseconds; the relay is as busy. */
const frameMs = 33;

if (process.argv[2] === 'relay') relay();
else await bench(Number(process.argv[2] ?? 5));

async function bench(seconds: number): Promise<void> {
  const provider = await startTalker();
  const weir = await startWeir({ provider });
  const token = await weir.signIn();
  const api = weir.api(token);
  const bare = await startRelay();
  try {
    for (const subscribers of [1, 10, 100, 1_000]) {
      const id = await api.create();
      const feed = {
        type: 'subscribe',
        id: 'f',
        payload: { query: print(feedSubscription), variables: { id } },
      };
      const ours = await measure(weir.pid, seconds, subscribers, {
        url: `${weir.url.replace('http', 'ws')}/graphql`,
        greet: [{ type: 'connection_init', payload: { token } }, feed],
        isReady: (text) => text.includes('"Synchronized"'),
        isCounted: (text) => text.includes('"StreamChunk"'),
        start: () => api.send(id, 'go', newKey()),
        stop: () => api.stop(id),
      });
      const limit = await measure(bare.process.pid!, seconds, subscribers, {
        url: bare.url,
        greet: [],
        isReady: (text) => text === 'ready',
        isCounted: (text) => text !== 'ready',
        start: () => bare.say({ start: true, size: ours.size }),
        stop: () => bare.say({ start: false, size: 0 }),
      });
      console.log(
        JSON.stringify({
          bench: 'feed',
          subscribers,
          deliveries: ours.deliveries,
          deliveriesPerSecond: Math.round(ours.deliveries / ours.seconds),
          p50Ms: percentile(ours.latencies, 0.5),
          p99Ms: percentile(ours.latencies, 0.99),
          cpuMicros: round(ours.cpuMicros),
          relayDeliveriesPerSecond: Math.round(limit.deliveries / limit.seconds),
          relayP50Ms: percentile(limit.latencies, 0.5),
          relayP99Ms: percentile(limit.latencies, 0.99),
          relayCpuMicros: round(limit.cpuMicros),
          ratio: Number((limit.cpuMicros / ours.cpuMicros).toFixed(3)),
        }),
      );
    }
  } finally {
    bare.process.kill();
    await weir.remove();
    provider.close();
  }
}

interface Side {
  readonly url: string;
  /** Sent when the socket is open, and when the first is acknowledged. */
  readonly greet: readonly object[];
  isReady(text: string): boolean;
  isCounted(text: string): boolean;
  start(): unknown;
  stop(): unknown;
}

interface Measured {
  readonly seconds: number;
  readonly deliveries: number;
  readonly latencies: readonly number[];
  /** Of the serving process, for one message to one subscriber. */
  readonly cpuMicros: number;
  /** Characters of a typical message. */
  readonly size: number;
}

/** Attaches the subscribers, lets the stream run, and counts what arrives in the time between. */
async function measure(pid: number, seconds: number, subscribers: number, side: Side): Promise<Measured> {
  const latencies: number[] = [];
  let counting = false;
  let deliveries = 0;
  let size = 0;
  const sockets: WebSocket[] = [];
  await Promise.all(
    Array.from({ length: subscribers }, async () => {
      const socket = new WebSocket(side.url, 'graphql-transport-ws');
      sockets.push(socket);
      const ready = new Promise<void>((resolve, reject) => {
        socket.on('message', (data: Buffer) => {
          const text = data.toString();
          if (text.includes('"connection_ack"')) socket.send(JSON.stringify(side.greet[1]));
          if (side.isReady(text)) resolve();
          if (!counting || !side.isCounted(text)) return;
          deliveries += 1;
          size = text.length;
          const stamp = text.slice(text.lastIndexOf('@') + 1);
          latencies.push(now() - parseFloat(stamp));
        });
        socket.once('error', reject);
        socket.once('close', (code) => {
          reject(new Error(`A socket was closed: ${code}.`));
        });
      });
      await once(socket, 'open');
      if (side.greet[0]) socket.send(JSON.stringify(side.greet[0]));
      await ready;
    }),
  );
  await side.start();
  await delay(1_000);
  const cpu = cpuMicrosOf(pid);
  const from = performance.now();
  counting = true;
  await delay(seconds * 1_000);
  counting = false;
  const used = cpuMicrosOf(pid) - cpu;
  const took = (performance.now() - from) / 1_000;
  await side.stop();
  for (const socket of sockets) socket.terminate();
  if (deliveries === 0) throw new Error('Nothing was delivered: the bench measures nothing.');
  return { seconds: took, deliveries, latencies, cpuMicros: used / deliveries, size };
}

/** A provider that never stops talking: a token of some twenty characters every 5 ms, with the time it was written. */
async function startTalker(): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((request, response) => {
    if (!request.url?.endsWith('/chat/completions')) {
      response.end(JSON.stringify({ data: [{ id: 'scripted' }] }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const timer = setInterval(() => {
      const chunk = { choices: [{ index: 0, delta: { content: `@${now().toFixed(1)} ` } }] };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    }, 5);
    response.on('close', () => {
      clearInterval(timer);
    });
    request.resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

interface Order {
  readonly start: boolean;
  readonly size: number;
}

async function startRelay(): Promise<{
  readonly url: string;
  readonly process: ChildProcess;
  say(order: Order): void;
}> {
  const child = spawn(process.execPath, [import.meta.filename, 'relay'], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [port] = (await once(child, 'message')) as [number];
  return { url: `ws://127.0.0.1:${port}`, process: child, say: (order) => void child.send(order) };
}

/** The limit, in a process of its own: one text to all sockets, once a frame. */
function relay(): void {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
  server.on('listening', () => process.send!((server.address() as AddressInfo).port));
  server.on('connection', (socket) => {
    socket.send('ready');
  });
  let timer: NodeJS.Timeout | undefined;
  process.on('message', ({ start, size }: Order) => {
    clearInterval(timer);
    if (!start) return;
    timer = setInterval(() => {
      const text = `@${now().toFixed(1)} `.padEnd(size, 'x');
      for (const socket of server.clients) socket.send(text);
    }, frameMs);
  });
  process.on('disconnect', () => {
    process.exit(0);
  });
}

/** User and system time of a process so far; a tick is 10 ms. */
function cpuMicrosOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

function round(value: number): number {
  return Number(value.toFixed(1));
}

function percentile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return round(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0);
}
