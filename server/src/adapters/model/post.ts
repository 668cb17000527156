/**
 * Owns: how a body gets to an endpoint, and an error body back, below the SDK.
 *
 * Invariants: what is sent is never copied; a conversation goes nowhere but to the address that is set.
 */
import type { Clock } from '../../ports/clock.ts';
import { endpointFetch } from './endpoint-fetch.ts';
import { isRecord, parseJson } from './wire/json.ts';

/**
 * Asked of every endpoint: to send what it says as it is. While something is unpacked it is not read on, and where the
 * connection ends meanwhile, the `fetch` of Node 24 throws where nobody can catch it (nodejs/undici 5360): the server would
 * be gone. A stream that is packed also comes in lumps.
 */
export const unpacked = { 'accept-encoding': 'identity' } as const;

const maxErrorBytes = 64 * 1024;
/** How long the body of a refusal is waited for once its head is there, milliseconds: a slot is held meanwhile. */
const errorBodyMs = 5_000;
/** Of an error body, how deep what is said is looked for; what is nested without end cannot be written anew. */
const maxErrorDepth = 32;
/** Sent with the head of the request, so that an endpoint hears of it before all of a long body is taken. */
const firstPiece = 16 * 1024;

/** A post of these bytes for the SDK, which would copy them or write them anew if they were no stream. */
export function postOf(pieces: readonly Uint8Array<ArrayBuffer>[]) {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) {
        controller.enqueue(piece.subarray(0, firstPiece));
        if (piece.length > firstPiece) controller.enqueue(piece.subarray(firstPiece));
      }
      controller.close();
    },
  });
  // Without a length it would come in chunks, which not every endpoint takes.
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return { body, headers: { 'content-type': 'application/json', 'content-length': String(length) } };
}

/**
 * `fetch` that follows no redirect, and whose error bodies end after 64 KiB or 5 s, since the SDK reads them whole, and
 * have the shape the SDK looks for, `{ error: … }`: some endpoints send the inner object, or a list, and what they say
 * would be lost. Once its status is known a refusal is one, whatever is wrong with its body.
 */
export function createModelFetch(clock: Clock) {
  return async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await endpointFetch(url, { ...init, redirect: 'manual' });
    const { status, headers } = response;
    // The latter has no body by its definition, and may be given none.
    if (response.ok || status === 304) return response;
    const moved = status >= 300 && status < 400;
    if (moved) void response.body?.cancel().catch(() => undefined);
    const body = moved ? redirection(headers.get('location')) : await errorBody(response, clock);
    init?.signal?.throwIfAborted();
    return refusal(status, headers, body);
  };
}

/** The reason phrase is left out: nobody reads it, and it may hold what a `Response` must not. */
function refusal(status: number, headers: Headers, body: string): Response {
  if (status <= 599) return new Response(body, { status, headers });
  // Nor may a `Response` be made with a status beyond HTTP, which is to be taken for a 5xx (RFC 9110, 15).
  const response = new Response(body, { status: 599, headers });
  return Object.defineProperty(response, 'status', { value: status });
}

async function errorBody({ body }: Response, clock: Clock): Promise<string> {
  if (!body) return '';
  const text = await begunText(body, clock);
  const json = parseJson(text);
  const error: unknown = Array.isArray(json) ? json[0] : json;
  return isRecord(error) ? JSON.stringify(upTo(maxErrorDepth, error['error'] ? error : { error })) : text;
}

/** As much of the body as comes within its term, and before it breaks off. */
async function begunText(body: ReadableStream<Uint8Array>, clock: Clock): Promise<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  const letGo = (): void => void reader.cancel().catch(() => undefined);
  const cancelTimer = clock.after(errorBodyMs, letGo);
  let text = '';
  try {
    for (let bytes = 0; bytes <= maxErrorBytes;) {
      const { done, value } = await reader.read();
      if (done) return text;
      bytes += value.byteLength;
      text += decoder.decode(value, { stream: true });
    }
    letGo();
    return text;
  } catch {
    return text;
  } finally {
    cancelTimer();
  }
}

/** The value without what lies deeper in it. */
function upTo(depth: number, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return null;
  const inner = (child: unknown): unknown => upTo(depth - 1, child);
  if (Array.isArray(value)) return value.map(inner);
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, inner(child)]));
}

/** Whose word it is to go elsewhere is not known: the person who set the address decides. */
function redirection(location: string | null): string {
  if (location === null)
    return JSON.stringify({ error: { message: 'it answers with a redirect to nowhere' } });
  const url = URL.canParse(location) ? new URL(location) : null;
  // A path, or what is no address of the web, is not told: it may hold anything.
  const to = url && /^https?:$/.test(url.protocol) ? url.origin : 'another path';
  return JSON.stringify({ error: { message: `it redirects to ${to}, and redirects are not followed` } });
}
