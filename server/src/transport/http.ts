/**
 * Owns: the one port: which request goes where, who may ask, how the server starts and stops listening.
 * Routes: `/graphql` (HTTP, server-sent events, WebSocket) · `POST /session` · `/healthz` · else the client.
 *
 * Invariants: every request but `/healthz` names an allowed host; everything under `/graphql` carries a valid token;
 * no error text of ours reaches a client unless it was written for one.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createPlainServer, type AddressInfo, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { Access, Services } from 'schema/services';
import type { Log } from '../ports/log.ts';
import { admit, bearerOf, notAdmitted, unauthenticated, type Admission } from './access.ts';
import type { Asker } from './answers.ts';
import { answerGraphQLError, answerJson, answerRefusal } from './answer.ts';
import {
  bodyTooLarge,
  callerGone,
  createFaults,
  isStorageUnavailable,
  maxBodyBytes,
  storageUnavailable,
} from './faults.ts';
import { createGraphQL, graphqlPath } from './graphql.ts';
import { createTurns } from './line.ts';
import { refusedHost, refusedOrigin } from './origin.ts';
import { graphiqlPolicy, setSecurityHeaders } from './security-headers.ts';
import { createSessionRoute } from './session.ts';
import { createStaticRoute } from './static.ts';
import { isUrgentRequest } from './urgent.ts';
import { serveSockets } from './websocket.ts';

export interface HttpDeps {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins?: readonly string[];
  readonly services: Services;
  readonly access: Access;
  readonly log: Log;
  /** Folder with the built client. */
  readonly clientDir: string;
  /** GraphiQL at /graphql, and no caching of the client. */
  readonly dev: boolean;
  /** How long nothing of an answer may be read, in milliseconds, before it is cut off: until then others of its token wait. */
  readonly unreadMs?: number;
  readonly onListening?: (server: HttpServer) => void;
}

export interface HttpServer {
  readonly type: 'listening';
  /** For people on this machine, for example `http://127.0.0.1:4000`; without a slash at its end. */
  readonly url: string;
  readonly port: number;
  /** Ends everything open within about 3 s; `reconnect` tells sockets that the server will be back. */
  close(options: { readonly reconnect: boolean }): Promise<void>;
}

/** `message` is one sentence for the operator. */
export interface ListenFailure {
  readonly type: 'portInUse' | 'cannotListen';
  readonly message: string;
}

export async function startHttp(deps: HttpDeps): Promise<HttpServer | ListenFailure> {
  const { services, access, log, dev } = deps;
  const rules = { allowedHosts: deps.allowedHosts, allowedOrigins: deps.allowedOrigins ?? [] };
  const faults = createFaults(log);
  const graphql = await createGraphQL({ faults, allowedOrigins: rules.allowedOrigins, dev });
  const turn = createTurns();
  const sockets = serveSockets({ graphql, services, access, faults, log, turn });
  const session = createSessionRoute({ access });
  const client = createStaticRoute({ clientDir: deps.clientDir, dev });
  const streams = new Set<ServerResponse>();

  const routeGraphQL = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const refused = refusedOrigin(req, rules);
    if (refused) return answerGraphQLError(req, res, 403, refused.code, refused.message);
    if (req.method === 'OPTIONS') return void (await graphql(req, res, noContext));
    if (dev && req.method === 'GET' && req.headers.accept?.includes('text/html')) {
      res.setHeader('content-security-policy', graphiqlPolicy);
      return void (await graphql(req, res, noContext));
    }
    if (Number(req.headers['content-length'] ?? 0) > maxBodyBytes) {
      res.setHeader('connection', 'close');
      return answerGraphQLError(req, res, 413, 'PAYLOAD_TOO_LARGE', bodyTooLarge);
    }
    const revoked = new AbortController();
    const admission = await admitRequest(req, res, () => {
      // A short answer may still go out; it is the last one. (It may be that of the revocation itself.)
      if (streams.has(res)) req.socket.destroy();
      else revoked.abort(notAdmitted());
    });
    if (!admission) return;
    if (req.socket.destroyed) return admission.release();
    res.once('close', admission.release);
    const caller = new AbortController();
    res.once('close', () => {
      if (!res.writableFinished) caller.abort(callerGone());
    });
    res.setHeader('cache-control', 'no-store');
    const asker: Asker = {
      leave: AbortSignal.any([caller.signal, revoked.signal]),
      // By the operation: what a stream may be sent as is negotiated, also without a header that says so.
      follows: () => {
        streams.add(res);
        res.once('close', () => streams.delete(res));
      },
      ...createSending(req, res, deps.unreadMs ?? 30_000),
    };
    // Whose token was revoked meanwhile is told so by what begins.
    await isUrgentRequest(req, asker.leave)
      .then((urgent) => turn(admission.viewer.tokenId, asker.leave, urgent))
      .catch(() => undefined);
    if (caller.signal.aborted) return;
    await graphql(req, res, { services, viewer: admission.viewer, caller: caller.signal, asker });
  };

  const admitRequest = async (
    req: IncomingMessage,
    res: ServerResponse,
    onRevoked: () => void,
  ): Promise<Admission | null> => {
    try {
      const admission = await admit(access, bearerOf(req.headers.authorization), onRevoked);
      if (admission) return admission;
      res.setHeader('www-authenticate', 'Bearer');
      answerGraphQLError(req, res, 401, 'UNAUTHENTICATED', unauthenticated);
    } catch (error) {
      if (!isStorageUnavailable(error)) throw error;
      answerGraphQLError(req, res, 503, 'STORAGE_UNAVAILABLE', storageUnavailable);
    }
    return null;
  };

  const route = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    setSecurityHeaders(res);
    const path = pathOf(req);
    if (path === null)
      return answerRefusal(res, 400, 'BAD_REQUEST', 'The path of this request is malformed.');
    if (path === '/healthz') return answerJson(res, 200, { status: 'ok' });
    const refused = refusedHost(req, rules);
    if (refused) return answerRefusal(res, 403, refused.code, refused.message);
    if (path === graphqlPath) return routeGraphQL(req, res);
    if (path === '/session') {
      const foreign = refusedOrigin(req, rules);
      return foreign ? answerRefusal(res, 403, foreign.code, foreign.message) : session(req, res);
    }
    client(req, res);
  };

  const server = createServer((req, res) => {
    route(req, res).catch((error: unknown) => {
      const masked = faults.mask(error);
      if (res.headersSent || res.destroyed) res.destroy();
      else
        answerJson(res, 500, {
          error: { message: masked.message, ...masked.extensions },
        });
    });
  });
  server.on('upgrade', (req, socket, head) => {
    const refused = refusedHost(req, rules) ?? refusedOrigin(req, rules);
    if (pathOf(req) !== graphqlPath)
      refuseUpgrade(socket, '404 Not Found', 'There is no socket at this path.');
    else if (refused) refuseUpgrade(socket, '403 Forbidden', refused.message);
    else sockets.upgrade(req, socket, head);
  });

  const failure = await listen(server, deps);
  if (failure) return failure;
  server.on('error', (error) => {
    log.error({ reason: error.message }, 'the HTTP server reports an error');
  });

  const { port } = server.address() as AddressInfo;
  let closing: Promise<void> | null = null;
  const http: HttpServer = {
    type: 'listening',
    url: urlOf(deps.host, port),
    port,
    close: ({ reconnect }) => (closing ??= close(reconnect)),
  };
  const close = async (reconnect: boolean): Promise<void> => {
    const idle = new Promise<void>((resolve) => {
      server.close(() => {
        resolve();
      });
    });
    // Event streams tell their clients to come back by ending without `complete`.
    for (const res of streams) res.destroy();
    await (reconnect
      ? sockets.close(1012, 'The server restarts; reconnect.')
      : sockets.close(1001, 'The server goes away.'));
    const cut = setTimeout(() => {
      server.closeAllConnections();
    }, 2_000);
    server.closeIdleConnections();
    await idle;
    clearTimeout(cut);
  };
  deps.onListening?.(http);
  return http;
}

/**
 * When what was written has been sent. A connection on which nothing of it goes out for `unreadMs` is cut, also when it
 * does not because another answer is before it: it has places of its token, and whoever pipelines has other connections.
 */
function createSending(
  req: IncomingMessage,
  res: ServerResponse,
  unreadMs: number,
): Pick<Asker, 'over' | 'sent' | 'itemSent'> {
  const over = new Promise<void>((resolve) => res.once('close', resolve));
  const cut = (): void => void req.socket.destroy();
  res.once('timeout', cut);
  const watch = (): (() => void) => {
    // Of the socket, which it has none of yet behind another answer.
    res.setTimeout(unreadMs);
    const stuck = setTimeout(() => {
      if (res.socket === null) cut();
    }, unreadMs);
    void over.then(() => clearTimeout(stuck));
    return () => {
      clearTimeout(stuck);
      res.setTimeout(0);
    };
  };
  return {
    over,
    sent: () => {
      watch();
      return over;
    },
    itemSent: async () => {
      // What was handed over is written by then.
      await setImmediate();
      if (res.closed || !res.writableNeedDrain) return;
      const end = watch();
      await Promise.race([new Promise((resolve) => res.once('drain', resolve)), over]);
      end();
    },
  };
}

/** For requests that run no operation. */
const noContext = {} as never;

type Address = Pick<HttpDeps, 'host' | 'port'>;

/** Listens for a moment, so that a start that cannot listen fails before it has made anything; null when it can. */
export async function cannotListen(address: Address): Promise<ListenFailure | null> {
  const server = createPlainServer((socket) => socket.destroy());
  const failure = await listen(server, address);
  if (failure === null) await new Promise((resolve) => server.close(resolve));
  return failure;
}

function listen(server: Server, { host, port }: Address): Promise<ListenFailure | null> {
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      resolve(
        error.code === 'EADDRINUSE'
          ? {
              type: 'portInUse',
              message: `Port ${port} on ${host} is in use. Stop what uses it, or set PORT to another one.`,
            }
          : {
              type: 'cannotListen',
              message: `Cannot listen on ${host}, port ${port} (${error.code ?? error.message}). Check HOST and PORT.`,
            },
      );
    });
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      resolve(null);
    });
  });
}

function pathOf(req: IncomingMessage): string | null {
  const url = req.url ?? '';
  return url.startsWith('/') && URL.canParse(url, 'http://here')
    ? new URL(url, 'http://here').pathname
    : null;
}

function refuseUpgrade(socket: Duplex, status: string, message: string): void {
  socket.on('error', () => undefined);
  socket.end(
    `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: text/plain; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(message)}\r\nx-content-type-options: nosniff\r\n\r\n${message}`,
  );
}

function urlOf(host: string, port: number): string {
  // An address that means "all of them" is none to open.
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
