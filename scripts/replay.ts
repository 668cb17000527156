/**
 * Owns: running recorded bodies of model answers through the real adapter over real HTTP, one line a file, with what a
 * turn would make of it under the usual settings.
 *
 *   pnpm replay <folder>    every *.sse (as it is) and *.chunks.txt (one JSON chunk a line) in it and below
 *   pnpm replay <file>      one of these
 *
 * Ends with status 1 when a file was not through after 10 s or made the adapter throw; a typed fault is a result.
 */
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';
import { argv, cwd, env, exit, stdout } from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../server/src/adapters/clock/index.ts';
import { usualTraits, type Binding } from '../server/src/adapters/model/binding.ts';
import { createCaller, type Attempted } from '../server/src/adapters/model/caller.ts';
import { parseEndpoint } from '../server/src/adapters/model/endpoint.ts';
import { remedies } from '../server/src/core/models/fault.ts';

/** A file that takes longer hangs. */
const patienceMs = 10_000;

const isRecording = (name: string): boolean => name.endsWith('.sse') || name.endsWith('.chunks.txt');
const refuse = (why: string): never => {
  console.error(why);
  exit(2);
};

const given =
  argv.slice(2).find((arg) => arg !== '--') ??
  refuse('What to replay? pnpm replay <folder or file>, with recordings named *.sse or *.chunks.txt');
/** Where the person stood who gave the command: pnpm moves to the project first. */
const path = resolve(env['INIT_CWD'] ?? cwd(), given);
const found = statSync(path, { throwIfNoEntry: false }) ?? refuse(`There is no ${path}.`);
if (!found.isDirectory() && !isRecording(path))
  refuse(
    `${path} is neither *.sse (the bytes as they came) nor *.chunks.txt (one JSON chunk a line): name it so.`,
  );
const folder = found.isDirectory() ? path : dirname(path);
const files = found.isDirectory()
  ? readdirSync(path, { recursive: true, encoding: 'utf8' }).filter(isRecording).sort()
  : [basename(path)];
if (files.length === 0)
  refuse(
    `There is nothing to replay in ${path}: it looks for files named *.sse or *.chunks.txt, there and below.`,
  );

let body: Buffer = Buffer.alloc(0);
const server = createServer((request, response) => {
  request.resume().once('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body);
  });
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const endpoint = parseEndpoint(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, undefined);
if (!endpoint) throw new Error('the server has no URL');

let failures = 0;
for (const file of files) {
  body = framed(file, readFileSync(join(folder, file)));
  const line = await replay(/"type"\s*:\s*"response\./.test(body.toString('latin1')) ? 'RESPONSES' : 'CHAT');
  stdout.write(`${file}: ${line}\n`);
}
stdout.write(`replay: ${files.length} files, ${failures} failures\n`);
server.closeAllConnections();
server.close();
exit(failures > 0 ? 1 : 0);

function framed(name: string, recorded: Buffer): Buffer {
  if (name.endsWith('.sse')) return recorded;
  const chunks = recorded
    .toString('utf8')
    .split('\n')
    .filter((line) => line.trim() !== '');
  return Buffer.from([...chunks, '[DONE]'].map((chunk) => `data: ${chunk}\n\n`).join(''));
}

async function replay(dialect: Binding['dialect']): Promise<string> {
  const stop = new AbortController();
  const late = new AbortController();
  let text = 0;
  let reasoning = 0;
  try {
    const answered = createCaller({ clock: systemClock }, binding(dialect)).call(
      { messages: [{ role: 'user', text: 'replay' }], tools: [], temperature: null, effort: null },
      stop.signal,
      (delta) => {
        if (delta.type === 'text') text += delta.text.length;
        else reasoning += delta.text.length;
      },
    );
    const outcome = await Promise.race([
      answered,
      pause(patienceMs, 'late' as const, { signal: late.signal }),
    ]);
    if (outcome === 'late' || outcome.type === 'aborted') throw new Error(`no end within ${patienceMs} ms`);
    return `text ${text}, reasoning ${reasoning}, ${described(outcome)}`;
  } catch (error) {
    failures += 1;
    return `FAILED: ${String(error)}`;
  } finally {
    late.abort();
    stop.abort();
  }
}

/** What a turn would make of it (`core/turn/answer.ts`, `core/models/fault.ts`). */
function described(outcome: Exclude<Attempted, { type: 'aborted' }>): string {
  if (outcome.type === 'failed') {
    // These settings stand in no file.
    const sentence = outcome.message.replace(/its "(\w+)" in weir\.config\.json/g, 'the $1');
    return `fault ${outcome.kind} (${remedies[outcome.kind]}): ${sentence}`;
  }
  const { calls, finish, usage } = outcome;
  const names = calls.length === 0 ? 'none' : calls.map((call) => call.name).join(' ');
  const isCut = finish === 'LENGTH' || finish === 'CONTENT_FILTER';
  const run = calls.length > 0 && isCut ? ' (not run)' : '';
  const fails = calls.length === 0 && finish === 'OTHER' ? ' (the turn fails)' : '';
  return `calls ${names}${run}, finish ${finish}${fails}, usage ${usage === null ? 'none' : JSON.stringify(usage)}`;
}

/** One of which nothing is said. */
function binding(dialect: Binding['dialect']): Binding {
  return {
    alias: 'replay',
    endpoint: endpoint!,
    model: 'replay',
    dialect,
    fallbacks: [],
    window: null,
    maxOutput: null,
    temperature: null,
    effort: null,
    concurrency: null,
    price: null,
    source: 'FILE',
    traits: usualTraits,
  };
}
