/**
 * Owns: a proxy over real HTTP before a provider of chat completions that does to an answer what networks, gateways and
 * providers do: at a named place of it something goes wrong. Does not own: when and what (the test chooses).
 *
 * Invariants: what the client gets is a prefix of what the provider sent, byte for byte, and then the mishap; a mishap
 * whose place the answer does not have happens somewhere in its bytes, never not at all. Nothing here waits for time: a
 * stall lasts until the client goes away.
 */
import { createServer, request as ask, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Random } from '../../../e2e/support/random.ts';
import type { ChatBody } from './scripted-provider.ts';

/** Where in an answer. */
export const places = [
  'before the headers',
  'after the headers',
  'in the text',
  'in the reasoning',
  'inside a call',
  'after the finish reason',
  'before [DONE]',
] as const;
export type Place = (typeof places)[number];

/** What happens there. */
export const troubles = [
  /** Nothing more comes, and the connection stays. */
  'stall',
  /** The connection is reset. */
  'reset',
  /** The connection is closed in the middle of the body. */
  'cut',
  /** The body ends as if that were all. */
  'end',
  /** The rest comes a byte at a time. */
  'trickle',
  /** An error event, and then the end. */
  'error event',
  /** Bytes that mean nothing, and then the rest. */
  'garbage',
] as const;
export type Trouble = (typeof troubles)[number];

export type Mishap =
  | { readonly type: 'broken'; readonly trouble: Trouble; readonly place: Place }
  /** Another answer in place of the provider's, which is not asked. */
  | {
      readonly type: 'instead';
      readonly name: string;
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    };

export interface ChaosProxy {
  /** Base URL to configure, ends in `/v1`. */
  readonly url: string;
  /** `127.0.0.1:<port>`, as sentences name it. */
  readonly host: string;
  /** How many connections are kept waiting for ever now. */
  stalled(): number;
  /** Ends every connection and the proxy. */
  close(): Promise<void>;
}

/** A proxy before `target` (a base URL); `choose` says what befalls each request, null for nothing. */
export async function startChaosProxy(options: {
  readonly target: string;
  readonly random: Random;
  readonly choose: (body: ChatBody, headers: IncomingMessage['headers']) => Mishap | null;
  readonly onStall: () => void;
}): Promise<ChaosProxy> {
  const { target, random, choose, onStall } = options;
  let stalled = 0;

  const server = createServer((request, response) => {
    response.on('error', () => undefined);
    handle(request, response).catch(() => response.destroy());
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = await readAll(request);
    const mishap = choose(JSON.parse(asked.toString('utf8')) as ChatBody, request.headers);
    if (mishap?.type === 'instead') {
      response.writeHead(mishap.status, mishap.headers).end(mishap.body);
      return;
    }
    if (mishap?.place === 'before the headers') return void (await befall(mishap.trouble, response, null));
    const answer = await forward(`${target}/chat/completions`, asked);
    response.writeHead(answer.status, { 'content-type': answer.contentType });
    response.flushHeaders();
    if (!mishap) return void response.end(answer.body);
    const at = placeIn(answer.body, mishap.place, mishap.trouble, random);
    await write(response, answer.body.subarray(0, at));
    await befall(mishap.trouble, response, answer.body.subarray(at));
  }

  /** `rest` is what has not been sent of the answer; null when not even its headers were. */
  async function befall(trouble: Trouble, response: ServerResponse, rest: Buffer | null): Promise<void> {
    switch (trouble) {
      case 'stall':
        if (response.destroyed) return;
        stalled += 1;
        response.once('close', () => (stalled -= 1));
        onStall();
        return;
      case 'reset':
        response.socket?.resetAndDestroy();
        return;
      case 'cut':
        response.destroy();
        return;
      case 'end':
        response.end();
        return;
      case 'trickle':
        for (const byte of rest ?? []) {
          if (response.destroyed) return;
          await write(response, Buffer.of(byte));
        }
        response.end();
        return;
      case 'error event':
        if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end('\n\ndata: {"error":{"message":"the engine died","type":"server_error"}}\n\n');
        return;
      case 'garbage':
        if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
        // A quote, a control character and a half character of UTF-8: no JSON text survives that.
        await write(response, Buffer.from([0x22, 0x00, 0x7b, 0xe2, 0x82, 0x0a]));
        response.end(rest ?? undefined);
    }
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${host}/v1`,
    host,
    stalled: () => stalled,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** What stands at each place, as the scripted provider writes it. */
const marks: Readonly<Partial<Record<Place, RegExp>>> = {
  'in the text': /"content":"/g,
  'in the reasoning': /"reasoning_content":"/g,
  'inside a call': /"arguments":"/g,
  'after the finish reason': /"finish_reason":"[^\n]*\n\n/g,
  'before [DONE]': /(?=data: \[DONE\])/g,
};

/**
 * The byte at which it happens. Inside an event this is the middle of one; an error event and garbage come between
 * bytes that are whole, or break an event in two, as it falls.
 */
function placeIn(body: Buffer, place: Place, trouble: Trouble, random: Random): number {
  if (place === 'after the headers') return 0;
  const text = body.toString('latin1');
  const mark = marks[place];
  const ends = mark ? [...text.matchAll(mark)].map((found) => found.index + found[0].length) : [];
  if (ends.length === 0) return random.between(1, body.length - 1);
  const at = random.pick(ends);
  // An error event stands for itself; what it breaks in two would be no JSON, which is another mishap.
  if (trouble === 'error event') return text.lastIndexOf('data: ', at);
  return place.startsWith('in') ? Math.min(at + random.between(0, 6), body.length - 1) : at;
}

function forward(
  url: string,
  body: Buffer,
): Promise<{ readonly status: number; readonly contentType: string; readonly body: Buffer }> {
  return new Promise((resolve, reject) => {
    const sent = ask(
      url,
      { method: 'POST', headers: { 'content-type': 'application/json', 'content-length': body.length } },
      (answer) => {
        readAll(answer).then(
          (bytes) =>
            resolve({
              status: answer.statusCode ?? 502,
              contentType: answer.headers['content-type'] ?? 'text/plain',
              body: bytes,
            }),
          reject,
        );
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

async function readAll(from: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of from) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** Writes and waits until the bytes are handed to the system, so that two writes are two pieces. */
const write = (response: ServerResponse, data: Buffer): Promise<void> =>
  new Promise((resolve) => {
    if (data.length === 0) resolve();
    else response.write(data, () => resolve());
  });
