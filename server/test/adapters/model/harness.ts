/** Owns: calling a model's endpoint through the real caller against scripted ones, for the tests of this folder. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { usualTraits, type Binding, type Traits } from '../../../src/adapters/model/binding.ts';
import { createCaller, type Asked, type Attempted } from '../../../src/adapters/model/caller.ts';
import { parseEndpoint } from '../../../src/adapters/model/endpoint.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { ModelDelta, ModelRequest, ToolDefinition } from '../../../src/ports/model.ts';
import { createTestClock } from '../../support/clock.ts';
import { startScriptedProvider, type Step } from '../../support/scripted-provider.ts';

export const tool = (name: string): ToolDefinition => ({
  name,
  description: `the ${name} tool`,
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
});

export const question: Asked = {
  messages: [{ role: 'user', text: 'hello' }],
  tools: [tool('shell'), tool('read_file'), tool('edit_existing_file')],
  temperature: null,
  effort: null,
};

/** The same question for an alias, as the turn loop puts it. */
export const askedOf = (alias: string, more: Partial<ModelRequest> = {}): ModelRequest => ({
  workstreamId: 'w1',
  model: { alias, temperature: null, effort: null },
  lane: null,
  givenUp: [],
  messages: question.messages,
  tools: question.tools,
  ...more,
});

/** A binding of alias `alias` and model `m1` whose traits are the usual ones but for these. */
export function bindingFor(
  url: string,
  more: Partial<Omit<Binding, 'traits'>> & {
    readonly traits?: Partial<Traits>;
    readonly apiKey?: string;
  } = {},
): Binding {
  const { traits, apiKey = 'sk-not-to-be-shown', ...rest } = more;
  const endpoint = parseEndpoint(url, apiKey);
  if (!endpoint) throw new Error(`no URL: ${url}`);
  return {
    alias: 'alias',
    endpoint,
    model: 'm1',
    dialect: 'CHAT',
    fallbacks: [],
    window: null,
    maxOutput: null,
    temperature: null,
    effort: null,
    concurrency: null,
    price: null,
    source: 'ENVIRONMENT',
    ...rest,
    traits: { ...usualTraits, ...traits },
  };
}

export type BindingParts = NonNullable<Parameters<typeof bindingFor>[1]>;

export interface Heard {
  readonly outcome: Attempted;
  /** Deltas of each channel, joined. */
  readonly text: string;
  readonly reasoning: string;
  readonly deltas: readonly ModelDelta[];
}

/** Asks through one caller of this binding. */
export function createAsker(binding: Binding, clock: Clock = createTestClock()) {
  const caller = createCaller({ clock }, binding);
  return async (
    asked: Asked = question,
    signal: AbortSignal = new AbortController().signal,
    onDelta: (delta: ModelDelta) => void = () => undefined,
  ): Promise<Heard> => {
    const deltas: ModelDelta[] = [];
    const outcome = await caller.call(asked, signal, (delta) => {
      deltas.push(delta);
      onDelta(delta);
    });
    return { outcome, text: joined(deltas, 'text'), reasoning: joined(deltas, 'reasoning'), deltas };
  };
}

export const joined = (deltas: readonly ModelDelta[], type: ModelDelta['type']): string =>
  deltas.flatMap((d) => (d.type === type ? [d.text] : [])).join('');

/** A provider of chat completions with a caller pointed at it; close it with `await using`. */
export async function connect(options: BindingParts & { readonly clock?: Clock } = {}) {
  const { clock, ...more } = options;
  const provider = await startScriptedProvider();
  const ask = createAsker(bindingFor(provider.url, more), clock);
  return {
    provider,
    ask,
    /** Asks once and lets the provider answer with this step. */
    async answer(step: Step): Promise<Heard> {
      provider.script([step]);
      const heard = await ask();
      provider.assertDone();
      return heard;
    },
    [Symbol.asyncDispose]: () => provider.close(),
  };
}

/**
 * A link whose provider sends each piece only when the adapter has read the one before, so that no two arrive together.
 * The fact it goes by: the adapter sets its idle timer anew before each read (and one timer before the response).
 */
export async function connectInPieces() {
  const clock = createTestClock();
  let timers = 0;
  const link = await connect({
    clock: {
      now: () => clock.now(),
      after(ms, f) {
        timers += 1;
        link.provider.release(`answer ${answers} read ${timers - 1}`);
        return clock.after(ms, f);
      },
    },
  });
  let answers = 0;
  return {
    ...link,
    /** How often the adapter had read when its last answer was complete. */
    reads: () => timers - 1,
    async answerInPieces(pieces: readonly Uint8Array[]): Promise<Heard> {
      timers = 0;
      answers += 1;
      const stream = pieces.flatMap((raw, i) => [{ gate: `answer ${answers} read ${i + 1}` }, { raw }]);
      return link.answer({ ...bytes(''), stream });
    },
  };
}

/** An answer of `serve`: a stream of events unless it has a status. */
export type Served =
  | string
  | { readonly status: number; readonly body: unknown }
  /** The connection is destroyed after these bytes. */
  | { readonly begin: string };

export interface Received {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** An endpoint of either dialect that gives these answers, one a request, and 500 beyond them. */
export async function serve(answers: readonly Served[]) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void readAll(request).then((text) => {
      const answer = answers[received.length] ?? {
        status: 500,
        body: { error: { message: 'no answer left' } },
      };
      received.push({ path: request.url ?? '', body: JSON.parse(text) as Received['body'] });
      if (typeof answer === 'object' && 'status' in answer) {
        response.writeHead(answer.status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(answer.body));
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (typeof answer === 'string') response.end(answer);
      else response.write(answer.begin, () => response.destroy());
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readAll(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

/** Asks an endpoint of these answers once for each of these questions, through one caller. */
export async function exchange(
  answers: readonly Served[],
  more: BindingParts = {},
  asked: readonly Asked[] = [question],
) {
  await using endpoint = await serve(answers);
  const ask = createAsker(bindingFor(endpoint.url, more));
  const heard: Heard[] = [];
  for (const one of asked) heard.push(await ask(one));
  return { heard, outcome: heard.at(-1)?.outcome, received: endpoint.received };
}

/** An SSE body: each chunk an event, then `[DONE]`. */
export const sse = (chunks: readonly unknown[], end = 'data: [DONE]\n\n'): string =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('') + end;

/** A chunk of one choice. */
export const chunk = (delta: unknown, finish: string | null = null, more: object = {}): object => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
});

/** A step that sends these bytes and nothing else. */
export const bytes = (raw: string | Uint8Array): Step => ({
  stream: [{ raw }],
  finish: null,
  usage: null,
  done: false,
});
