/**
 * Owns: one operation over the wire: fetch for queries and mutations, one graphql-ws socket for all subscriptions.
 * Does not own: when to try again (`persist.ts`, `intent.ts`), or what an answer means.
 *
 * Invariants: never repeats anything by itself; the token travels in a header or in the socket's first message, never
 * in a URL; a socket that answers no ping for 5 s is ended.
 */
import type { TadaDocumentNode } from 'gql.tada';
import { print } from 'graphql';
import { createClient, type Client } from 'graphql-ws';
import { failureOfErrors, networkFailure, unauthenticated, type Answer, type Failure } from './failure.ts';

export interface Transport {
  /** Sends a query or a mutation once. */
  request<R, V>(document: TadaDocumentNode<R, V>, variables: V, signal?: AbortSignal): Promise<Answer<R>>;
  /**
   * Begins a subscription once. `end` is called at most once, with null when the server completed it; nothing is
   * called before this has returned, or after the returned function was called.
   */
  subscribe<R, V>(document: TadaDocumentNode<R, V>, variables: V, sink: Sink<R>): () => void;
  /** Calls back whenever the socket is up again. */
  onConnected(callback: () => void): () => void;
  /** True from when the socket was lost, or could not be opened, until it is up again; false while none was wanted. */
  isDown(): boolean;
  dispose(): void;
}

export interface Sink<R> {
  next(data: R): void;
  end(failure: Failure | null): void;
}

export interface TransportOptions {
  /** Absolute address of the GraphQL endpoint, for example `http://127.0.0.1:4000/graphql`. */
  readonly url: string;
  readonly token: string;
  readonly fetch?: typeof fetch;
  /** Where there is no global WebSocket, or another one is wanted. */
  readonly webSocketImpl?: unknown;
}

const PING_EVERY_MS = 10_000;
const PONG_WITHIN_MS = 5_000;

/** The close code of a socket whose token is not accepted, or not any more. All others are worth another try. */
const SIGNED_OUT = 4401;

export function createTransport(options: TransportOptions): Transport {
  const send = options.fetch ?? fetch;
  const listeners = new Set<() => void>();
  let down = false;
  const socket = openSocket(
    options,
    () => {
      down = false;
      for (const listener of listeners) listener();
    },
    () => {
      down = true;
    },
  );

  return {
    async request(document, variables, signal) {
      try {
        const response = await send(options.url, {
          method: 'POST',
          headers: {
            accept: 'application/graphql-response+json, application/json',
            authorization: `Bearer ${options.token}`,
            'content-type': 'application/json',
          },
          body: JSON.stringify({ query: textOf(document), variables }),
          ...(signal && { signal }),
        });
        return await answerOf(response);
      } catch {
        return { ok: false, failure: networkFailure('The server cannot be reached.') };
      }
    },

    subscribe<R, V>(document: TadaDocumentNode<R, V>, variables: V, sink: Sink<R>) {
      let open = true;
      const end = (failure: Failure | null) => {
        if (!open) return;
        open = false;
        sink.end(failure);
      };
      const payload = { query: textOf(document), variables: variables as Record<string, unknown> };
      const dispose = socket.subscribe<R>(payload, {
        next: ({ data, errors }) => {
          if (errors) end(failureOfErrors(errors));
          else if (open && data) sink.next(data);
        },
        error: (error) => {
          end(failureOfClose(error));
        },
        complete: () => {
          end(null);
        },
      });
      return () => {
        open = false;
        dispose();
      };
    },

    onConnected(callback) {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },

    isDown: () => down,

    dispose() {
      listeners.clear();
      // Rejects when the socket could not be opened, of which every subscription was told.
      Promise.resolve(socket.dispose()).catch(() => undefined);
    },
  };
}

/** The close code of a socket that nobody needed any more. */
const NOT_NEEDED = 1000;

function openSocket(
  { url, token, webSocketImpl }: TransportOptions,
  connected: () => void,
  lost: () => void,
): Client {
  let unanswered: ReturnType<typeof setTimeout> | undefined;
  const client = createClient({
    url: url.replace(/^http/, 'ws'),
    connectionParams: { token },
    lazy: true,
    retryAttempts: 0,
    keepAlive: PING_EVERY_MS,
    ...(webSocketImpl !== undefined && { webSocketImpl }),
    on: {
      connected,
      ping: (received) => {
        if (!received)
          unanswered = setTimeout(() => {
            client.terminate();
          }, PONG_WITHIN_MS);
      },
      pong: (received) => {
        if (received) clearTimeout(unanswered);
      },
      closed: (event) => {
        clearTimeout(unanswered);
        if ((event as { readonly code?: unknown }).code !== NOT_NEEDED) lost();
      },
    },
  });
  return client;
}

async function answerOf<R>(response: Response): Promise<Answer<R>> {
  if (response.status === 401) return { ok: false, failure: unauthenticated() };
  const body = (await response.json().catch(() => null)) as { data?: R | null; errors?: unknown } | null;
  if (body?.errors) return { ok: false, failure: failureOfErrors(body.errors) };
  if (response.ok && body?.data) return { ok: true, data: body.data };
  const message = `The server answered ${response.status} and nothing that Weir would say.`;
  return { ok: false, failure: networkFailure(message) };
}

function failureOfClose(error: unknown): Failure {
  if (Array.isArray(error)) return failureOfErrors(error);
  const { code, reason } = error as { readonly code?: unknown; readonly reason?: unknown };
  if (code === SIGNED_OUT) return unauthenticated();
  const why = typeof reason === 'string' && reason !== '' ? ` (${reason})` : '';
  return networkFailure(`The connection to the server was lost${why}.`);
}

const texts = new WeakMap<object, string>();

function textOf(document: TadaDocumentNode<unknown, never>): string {
  const known = texts.get(document);
  if (known !== undefined) return known;
  const text = print(document);
  texts.set(document, text);
  return text;
}
