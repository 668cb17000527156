/** A real server on a free port before services in memory, and ways to talk to it as strangers do. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GraphQLFormattedError } from 'graphql';
import { createClient, type Client } from 'graphql-ws';
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { startHttp, type HttpDeps } from '../../src/transport/http.ts';
import { createFakeAccess, createFakeServices } from '../support/fake-services.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly body: unknown;
  /** Those of a GraphQL answer; empty when there are none. */
  readonly errors: readonly GraphQLFormattedError[];
}

/** What a socket carries. */
export interface Frame {
  readonly id?: string;
  readonly type: string;
  readonly payload?: unknown;
}

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

export const workstreamId = (raw: string): string => Buffer.from(`Workstream:${raw}`).toString('base64url');

export async function serve(changes: Partial<HttpDeps> = {}) {
  const fake = createFakeServices();
  const gate = createFakeAccess();
  const log: LogLine[] = [];
  const write = (level: LogLine['level']) => (fields: LogLine['fields'], message: string) => {
    log.push({ level, fields, message });
  };
  const clientDir = mkdtempSync(join(tmpdir(), 'weir-client-'));
  mkdirSync(join(clientDir, 'assets'));
  writeFileSync(join(clientDir, 'index.html'), '<!doctype html><title>app</title>');
  writeFileSync(join(clientDir, 'assets', 'app-1a2b.js'), 'export {};');

  const http = await startHttp({
    host: '127.0.0.1',
    port: 0,
    allowedHosts: ['127.0.0.1', 'localhost'],
    services: fake.services,
    access: gate.access,
    log: { info: write('info'), warn: write('warn'), error: write('error') },
    clientDir,
    dev: false,
    ...changes,
  });
  if (http.type !== 'listening') throw new Error(http.message);
  onTestFinished(async () => {
    await http.close({ reconnect: false });
    rmSync(clientDir, { recursive: true, force: true });
  });

  /** A request as raw as a test needs it; `fetch` would not let us lie about Host. */
  const send = (
    method: string,
    path: string,
    headers: OutgoingHttpHeaders = {},
    body?: string | Buffer,
  ): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const req = request(
        { host: '127.0.0.1', port: http.port, method, path, headers, agent: false },
        (res) => {
          const parts: Buffer[] = [];
          res.on('data', (part: Buffer) => parts.push(part));
          res.on('end', () => {
            const text = Buffer.concat(parts).toString('utf8');
            const body = parse(text);
            const errors = (body as Pick<Answer, 'errors'> | undefined)?.errors ?? [];
            resolve({ status: res.statusCode!, headers: res.headers, text, body, errors });
          });
          res.on('error', reject);
        },
      );
      req.on('error', reject);
      req.end(body);
    });

  const post = (
    query: string,
    variables: Record<string, unknown> = {},
    headers: OutgoingHttpHeaders = {},
  ): Promise<Answer> =>
    send(
      'POST',
      '/graphql',
      { 'content-type': 'application/json', authorization: 'Bearer good', ...headers },
      JSON.stringify({ query, variables }),
    );

  const socketUrl = `ws://127.0.0.1:${http.port}/graphql`;
  const openSocket = (headers: Record<string, string> = {}): WebSocket =>
    new WebSocket(socketUrl, 'graphql-transport-ws', { headers });

  /** A client as the library makes it, that tries once. */
  const connect = (token: unknown = 'good'): Client => {
    const client = createClient({
      url: socketUrl,
      webSocketImpl: WebSocket,
      connectionParams: { token },
      retryAttempts: 0,
      lazy: true,
    });
    onTestFinished(() => client.dispose());
    return client;
  };

  return {
    clientDir,
    http,
    fake,
    gate,
    log,
    send,
    post,
    socketUrl,
    openSocket,
    connect,
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** How a socket was closed. */
export const closed = (socket: WebSocket): Promise<{ code: number; reason: string }> =>
  new Promise((resolve) => {
    socket.on('error', () => undefined);
    socket.once('close', (code, reason) => {
      resolve({ code, reason: reason.toString() });
    });
  });

/** The next messages of a socket, in order. */
export const messages = (socket: WebSocket, count: number): Promise<readonly Frame[]> =>
  new Promise((resolve) => {
    const got: Frame[] = [];
    const take = (data: Buffer): void => {
      got.push(JSON.parse(data.toString('utf8')) as Frame);
      if (got.length < count) return;
      socket.off('message', take);
      resolve(got);
    };
    socket.on('message', take);
  });

/** The next message of a socket. */
export const message = async (socket: WebSocket): Promise<Frame> => (await messages(socket, 1))[0]!;

/** A socket that was let in. */
export async function admitted(socket: WebSocket, token = 'good'): Promise<WebSocket> {
  await new Promise((resolve) => socket.once('open', resolve));
  socket.send(JSON.stringify({ type: 'connection_init', payload: { token } }));
  await message(socket);
  return socket;
}
