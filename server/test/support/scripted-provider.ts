/**
 * Owns: an OpenAI-compatible endpoint over real HTTP that answers chat completions by a script.
 * Does not own: what a good answer is; a step may send any bytes a bad provider would.
 *
 * Invariants: a request for a name is answered apart and is none of `requests`; an unexpected one is answered 500 with
 * the reason and makes `assertDone` throw; so does a step nobody asked for. Nothing here sleeps: a stream waits only at
 * gates, which the test releases.
 *
 *   const provider = await startScriptedProvider();
 *   provider.script([
 *     { stream: ['Let me look. ', { call: { name: 'shell', arguments: { command: 'ls' } } }] },
 *     { when: (body) => lastMessage(body).role === 'tool', stream: ['Two ', { gate: 'half' }, 'files.'] },
 *   ]);
 *   … point the server at `provider.url` …
 *   await provider.waitForGate('half'); provider.release('half');
 *   provider.assertDone(); await provider.close();
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A message of the request as it came over the wire. */
export interface WireMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

/** The parsed body of a chat completion request. */
export interface ChatBody {
  readonly model: string;
  readonly messages: readonly WireMessage[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly stream?: boolean;
  readonly [key: string]: unknown;
}

/** One piece of a streamed answer, sent in order, each in a write of its own. A string is text. */
export type Piece =
  | string
  | { readonly text: string }
  | { readonly reasoning: string }
  /** One whole call in one chunk. `arguments` that are not text are sent as JSON text; `id` defaults to `call_<n>`, unique. */
  | { readonly call: { readonly name: string; readonly arguments?: unknown; readonly id?: string } }
  /** Waits until the test calls `release(name)`, or the client goes away. */
  | { readonly gate: string }
  /** A chunk as it is, as JSON in one `data:` event. */
  | { readonly chunk: unknown }
  /** Bytes as they are. */
  | { readonly raw: string | Uint8Array }
  /** Text, again and again, as fast as it is taken, until the client goes away. */
  | { readonly forever: string }
  /** Destroys the connection here. */
  | { readonly drop: true };

/** The answer to one request. */
export interface Step {
  /** Which request it answers; without it, any. */
  readonly when?: (body: ChatBody) => boolean;
  /** Answers with this HTTP status instead of a stream (default body: an OpenAI-style error object). */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** With `status`: text is sent as it is, anything else as JSON. */
  readonly body?: unknown;
  readonly stream?: readonly Piece[];
  /** Default: `tool_calls` when a call was sent, else `stop`. `null`: none is sent. */
  readonly finish?: string | null;
  /** Default: 10 prompt tokens and 5 completion tokens. `null`: none is sent. */
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
  /** Whether `data: [DONE]` is sent. Default true. */
  readonly done?: boolean;
}

export interface ScriptedProvider {
  /** Base URL to configure, ends in `/v1`. */
  readonly url: string;
  readonly port: number;
  /** Parsed bodies of chat completion requests as they came. */
  readonly requests: readonly ChatBody[];
  /** Header fields of those requests, in the same order. */
  readonly requestHeaders: readonly IncomingMessage['headers'][];
  /**
   * Adds steps. A request takes the first step left whose `when` accepts it, so steps without `when` answer in order
   * and steps with it may serve concurrent conversations.
   */
  script(steps: readonly Step[]): void;
  /** Answers every request that no step takes; for tests that cannot know how many requests will come. */
  respond(f: (body: ChatBody, n: number) => Step | Promise<Step>): void;
  /** Answers each request for a name from now on; without it all get one. */
  name(f: (body: ChatBody) => Step): void;
  /** Opens a gate for now and for ever. */
  release(gate: string): void;
  /** The body of the n-th request (1 is the first), as soon as it has come. Rejects when the provider is closed first. */
  waitForRequest(n: number): Promise<ChatBody>;
  /** Resolves when some stream waits at (or has passed) this gate. */
  waitForGate(gate: string): Promise<void>;
  /** Resolves when the client has closed the connection of the n-th request before its answer was complete. */
  waitForAbort(n: number): Promise<void>;
  /** Throws when a request was unexpected, a script function threw, or a step was never asked for. */
  assertDone(): void;
  /** Ends every connection and the server. */
  close(): Promise<void>;
}

/** The last message of a request; throws when there is none. */
export function lastMessage(body: ChatBody): WireMessage {
  const last = body.messages.at(-1);
  if (!last) throw new Error('the request has no messages');
  return last;
}

/** A model in the list of those there are, with whatever is said of it there. */
interface ListedModel {
  readonly id: string;
  readonly max_model_len?: number;
}

/** Starts the provider on 127.0.0.1, on a free port unless one is given. Its one model is `scripted`. */
export async function startScriptedProvider(
  options: { readonly port?: number; readonly models?: readonly (string | ListedModel)[] } = {},
): Promise<ScriptedProvider> {
  const models = options.models ?? ['scripted'];
  const requests: ChatBody[] = [];
  const requestHeaders: IncomingMessage['headers'][] = [];
  const failures: string[] = [];
  const facts = createFacts();
  const script = {
    steps: [] as Step[],
    respond: null as ((body: ChatBody, n: number) => Step | Promise<Step>) | null,
    name: (_body: ChatBody): Step => ({ stream: ['Named by the model'] }),
  };
  let calls = 0;

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      failures.push(`the scripted provider failed: ${String(error)}`);
      response.destroy();
    });
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A client that goes away is a fact of the test, not an error.
    response.on('error', () => undefined);
    const path = new URL(request.url ?? '/', 'http://provider').pathname;
    if (request.method === 'GET' && path === '/v1/models') {
      return sendJson(response, 200, {
        object: 'list',
        data: models.map((listed) => ({
          object: 'model',
          created: 0,
          owned_by: 'script',
          ...(typeof listed === 'string' ? { id: listed } : listed),
        })),
      });
    }
    if (request.method !== 'POST' || path !== '/v1/chat/completions') {
      return refuse(response, `unexpected ${request.method} ${path}`);
    }
    const text = await readBody(request);
    if (text === null) return;
    const body = JSON.parse(text) as ChatBody;
    // A name for the conversation may be asked for whenever one is over; no script is about that.
    if (asksForName(body)) {
      return answer(response, script.name(body), body, 0);
    }
    const n = requests.push(body);
    requestHeaders.push(request.headers);
    response.on('close', () => {
      if (!response.writableFinished) facts.tell(`abort ${n}`);
    });
    facts.tell(`request ${n}`);
    const step = await takeStep(body, n);
    if (!step) {
      return refuse(
        response,
        `unexpected request ${n}, last message: ${JSON.stringify(body.messages?.at(-1))}`,
      );
    }
    await answer(response, step, body, n);
  }

  async function answer(response: ServerResponse, step: Step, body: ChatBody, n: number): Promise<void> {
    if (step.status !== undefined) return sendStatus(response, step.status, step);
    await sendStream(response, step, body, n);
  }

  async function takeStep(body: ChatBody, n: number): Promise<Step | null> {
    const at = script.steps.findIndex((s) => s.when?.(body) ?? true);
    if (at >= 0) return script.steps.splice(at, 1)[0]!;
    return script.respond ? await script.respond(body, n) : null;
  }

  function refuse(response: ServerResponse, message: string): void {
    failures.push(message);
    sendJson(response, 500, { error: { message: `scripted provider: ${message}`, type: 'script_error' } });
  }

  async function sendStream(response: ServerResponse, step: Step, body: ChatBody, n: number): Promise<void> {
    const head = { id: `chatcmpl-${n}`, object: 'chat.completion.chunk', created: 0, model: body.model };
    const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
    const delta = (d: unknown): string =>
      event({ ...head, choices: [{ index: 0, delta: d, finish_reason: null }] });
    response.writeHead(200, { 'content-type': 'text/event-stream', ...step.headers });
    response.flushHeaders();
    const gone = closed(response);
    let slots = 0;
    for (const piece of step.stream ?? []) {
      if (response.destroyed) return;
      if (typeof piece === 'string') await write(response, delta({ content: piece }));
      else if ('text' in piece) await write(response, delta({ content: piece.text }));
      else if ('reasoning' in piece) await write(response, delta({ reasoning_content: piece.reasoning }));
      else if ('chunk' in piece) await write(response, event(piece.chunk));
      else if ('raw' in piece) await write(response, piece.raw);
      else if ('drop' in piece) return void response.destroy();
      else if ('forever' in piece) {
        let left = false;
        void gone.then(() => (left = true));
        while (!left) {
          await Promise.race([write(response, delta({ content: piece.forever })), gone]);
          // What is written at once would leave nobody else a turn.
          await new Promise((resolve) => setImmediate(resolve));
        }
        return;
      } else if ('gate' in piece) {
        facts.tell(`gate ${piece.gate}`);
        await Promise.race([facts.wait(`release ${piece.gate}`), gone]);
      } else {
        const { name, id, arguments: input = {} } = piece.call;
        await write(
          response,
          delta({
            tool_calls: [
              {
                index: slots++,
                id: id ?? `call_${++calls}`,
                type: 'function',
                function: { name, arguments: typeof input === 'string' ? input : JSON.stringify(input) },
              },
            ],
          }),
        );
      }
    }
    if (response.destroyed) return;
    const finish = step.finish === undefined ? (slots > 0 ? 'tool_calls' : 'stop') : step.finish;
    if (finish !== null) {
      await write(response, event({ ...head, choices: [{ index: 0, delta: {}, finish_reason: finish }] }));
    }
    const usage = step.usage === undefined ? { prompt_tokens: 10, completion_tokens: 5 } : step.usage;
    if (usage !== null) await write(response, event({ ...head, choices: [], usage }));
    if (step.done ?? true) await write(response, 'data: [DONE]\n\n');
    response.end();
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    requests,
    requestHeaders,
    script: (steps) => void script.steps.push(...steps),
    respond: (f) => void (script.respond = f),
    name: (f) => void (script.name = f),
    release: (gate) => facts.tell(`release ${gate}`),
    async waitForRequest(n) {
      await facts.wait(`request ${n}`);
      return requests[n - 1]!;
    },
    waitForGate: (gate) => facts.wait(`gate ${gate}`),
    waitForAbort: (n) => facts.wait(`abort ${n}`),
    assertDone() {
      const left = script.steps.map((s) => `never asked for: ${describe(s)}`);
      const problems = [...failures, ...left];
      if (problems.length > 0) throw new Error(`scripted provider: ${problems.join('; ')}`);
    },
    async close() {
      facts.end('the scripted provider was closed');
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** True for the request with which the server names a workstream after its first exchange. */
const asksForName = ({ messages }: ChatBody): boolean =>
  messages?.[0]?.role === 'system' && String(messages[0].content).startsWith('Name the conversation below');

/** Things that have become true, and those who wait for them. */
function createFacts() {
  const known = new Set<string>();
  const waiters = new Map<string, { resolve: () => void; reject: (e: Error) => void }[]>();
  return {
    tell(fact: string): void {
      known.add(fact);
      for (const w of waiters.get(fact) ?? []) w.resolve();
      waiters.delete(fact);
    },
    wait(fact: string): Promise<void> {
      if (known.has(fact)) return Promise.resolve();
      return new Promise((resolve, reject) => {
        waiters.set(fact, [...(waiters.get(fact) ?? []), { resolve, reject }]);
      });
    },
    end(reason: string): void {
      for (const [fact, list] of waiters) {
        for (const w of list) w.reject(new Error(`${reason} while waiting for: ${fact}`));
      }
      waiters.clear();
    },
  };
}

const closed = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    if (response.destroyed) resolve();
    else response.once('close', () => resolve());
  });

/** Writes and waits until the bytes are handed to the system, so that two pieces are two writes. */
const write = (response: ServerResponse, data: string | Uint8Array): Promise<void> =>
  new Promise((resolve) => {
    response.write(data, () => resolve());
  });

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendStatus(response: ServerResponse, status: number, step: Step): void {
  const body = step.body ?? { error: { message: `scripted status ${status}`, type: 'scripted' } };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/plain' : 'application/json';
  response.writeHead(status, { 'content-type': type, ...step.headers }).end(text);
}

/** The body as text; null when the client went away first. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const parts: Buffer[] = [];
  try {
    for await (const part of request) parts.push(part as Buffer);
  } catch {
    return null;
  }
  return Buffer.concat(parts).toString('utf8');
}

const describe = (step: Step): string =>
  JSON.stringify({ ...step, when: step.when ? String(step.when) : undefined });
