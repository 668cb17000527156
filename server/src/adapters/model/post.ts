/**
 * Owns: how a body gets to an endpoint, and an error body back, below the SDK.
 *
 * Invariant: what is sent is never copied, for as long as nobody redirects it.
 */
import { isRecord, parseJson, readText } from './wire/json.ts';

type Pieces = readonly Uint8Array<ArrayBuffer>[];

const maxErrorBytes = 64 * 1024;
/** Sent with the head of the request, so that an endpoint hears of it before all of a long body is taken. */
const firstPiece = 16 * 1024;

/** What a stream of this module was made of: to be sent a second time, a body must be more than a stream. */
const piecesOf = new WeakMap<object, Pieces>();

/** A post of these bytes for the SDK, which would copy them or write them anew if they were no stream. */
export function postOf(pieces: Pieces) {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) {
        controller.enqueue(piece.subarray(0, firstPiece));
        if (piece.length > firstPiece) controller.enqueue(piece.subarray(firstPiece));
      }
      controller.close();
    },
  });
  piecesOf.set(body, pieces);
  // Without a length it would come in chunks, which not every endpoint takes.
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return { body, headers: { 'content-type': 'application/json', 'content-length': String(length) } };
}

/**
 * `fetch` that goes where it is redirected to, also with a body of `postOf`, and whose error bodies end after 64 KiB,
 * since the SDK reads them whole, and have the shape the SDK looks for, `{ error: … }`: some endpoints send the inner
 * object, or a list, and what they say would be lost.
 */
export async function fetchFromModel(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetchOnward(url, init);
  if (response.ok || !response.body) return response;
  const text = await readText(response.body, maxErrorBytes);
  const json = parseJson(text);
  const error: unknown = Array.isArray(json) ? json[0] : json;
  const plain = isRecord(error) ? JSON.stringify(error['error'] ? error : { error }) : text;
  const { status, statusText, headers } = response;
  return new Response(plain, { status, statusText, headers });
}

/** A stream cannot follow a redirect: where there is one, the same is asked again with a body that can. */
async function fetchOnward(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const pieces = init?.body instanceof ReadableStream ? piecesOf.get(init.body) : undefined;
  if (!pieces) return fetch(url, init);
  const response = await fetch(url, { ...init, redirect: 'manual' });
  if (response.status < 300 || response.status > 399 || !response.headers.has('location')) return response;
  await response.body?.cancel();
  const headers = new Headers(init?.headers);
  headers.delete('content-length');
  return fetch(url, { ...init, headers, body: Buffer.concat(pieces) });
}
