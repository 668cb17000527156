import { connect, createServer, type AddressInfo } from 'node:net';
import { readdirSync, readlinkSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startHttp } from '../../src/transport/http.ts';
import { createFakeAccess, createFakeServices } from '../support/fake-services.ts';
import { closed, serve, workstreamId } from './harness.ts';

const viewerQuery = '{ viewer { name } }';

describe('who may ask', () => {
  it('answers a query with a valid token', async () => {
    const { post } = await serve();
    const answer = await post(viewerQuery);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ data: { viewer: { name: 'good' } } });
  });

  it.each([
    ['no token', {}],
    ['an unknown token', { authorization: 'Bearer wrong' }],
    ['another scheme', { authorization: 'Basic good' }],
    ['an empty token', { authorization: 'Bearer ' }],
    ['a token with spaces', { authorization: 'Bearer go od' }],
    ['a token of 10,000 characters', { authorization: `Bearer ${'a'.repeat(10_000)}` }],
  ])('refuses a query with %s as UNAUTHENTICATED, before it is parsed', async (_, headers) => {
    const { send } = await serve();
    const answer = await send(
      'POST',
      '/graphql',
      { 'content-type': 'application/json', ...headers },
      '{"query": "{ not even"}',
    );
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(answer.errors.map((e) => e.extensions)).toEqual([{ code: 'UNAUTHENTICATED' }]);
    expect(answer.errors[0]!.message).toContain('token');
  });

  it('says that it cannot tell while the database is away', async () => {
    const { post, gate } = await serve();
    gate.broken.error = Object.assign(new Error('10.0.0.5 refused'), { name: 'StorageUnavailableError' });
    const answer = await post(viewerQuery);
    expect(answer.status).toBe(503);
    expect(answer.errors[0]!.extensions).toEqual({ code: 'STORAGE_UNAVAILABLE' });
    expect(answer.text).not.toContain('10.0.0.5');
  });

  it('answers /healthz to anybody', async () => {
    const { send } = await serve();
    const answer = await send('GET', '/healthz', { host: '10.1.2.3' });
    expect([answer.status, answer.body]).toEqual([200, { status: 'ok' }]);
  });
});

describe('which name it answers to', () => {
  it.each(['evil.example', 'evil.example:4000', '127.0.0.1.evil.example', 'localhost@evil.example'])(
    'refuses the host %j on every path, against DNS rebinding',
    async (host) => {
      const { send } = await serve();
      for (const path of ['/', '/graphql', '/session', '/assets/app-1a2b.js']) {
        const answer = await send('GET', path, { host, authorization: 'Bearer good' });
        expect([path, answer.status]).toEqual([path, 403]);
        expect(answer.body).toMatchObject({ error: { code: 'HOST_NOT_ALLOWED' } });
      }
    },
  );

  it('takes an allowed host with any port and in any case', async () => {
    const { send } = await serve();
    for (const host of ['LOCALHOST', 'localhost:9999', '127.0.0.1:1'])
      expect((await send('GET', '/', { host })).status).toBe(200);
  });

  it('takes IPv6 hosts and entries that name a port', async () => {
    const { send } = await serve({ allowedHosts: ['::1', 'weir.example:8443'] });
    expect((await send('GET', '/', { host: '[::1]:4000' })).status).toBe(200);
    expect((await send('GET', '/', { host: 'weir.example:8443' })).status).toBe(200);
    expect((await send('GET', '/', { host: 'weir.example' })).status).toBe(403);
  });

  it('refuses the upgrade of a socket under another host name', async () => {
    const { openSocket } = await serve();
    const socket = openSocket({ host: 'evil.example' });
    const refusal = await new Promise<number | undefined>((resolve) => {
      socket.once('unexpected-response', (_req, res) => {
        resolve(res.statusCode);
      });
    });
    expect(refusal).toBe(403);
  });
});

describe('which pages may ask', () => {
  it.each(['https://evil.example', 'null', 'http://127.0.0.1', 'http://localhost.evil.example', 'nonsense'])(
    'refuses the origin %j over HTTP and on the socket',
    async (origin) => {
      const { post, send, openSocket } = await serve();
      const answer = await post(viewerQuery, {}, { origin });
      expect([answer.status, answer.errors[0]!.extensions]).toEqual([403, { code: 'ORIGIN_NOT_ALLOWED' }]);
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      const session = await send(
        'POST',
        '/session',
        { origin, 'content-type': 'application/json' },
        '{"code":"code-1"}',
      );
      expect(session.status).toBe(403);
      const socket = openSocket({ origin });
      const status = await new Promise((resolve) => {
        socket.once('unexpected-response', (_req, res) => {
          resolve(res.statusCode);
        });
      });
      expect(status).toBe(403);
    },
  );

  it('takes its own origin, and those it is told of', async () => {
    const { post, http, send } = await serve({ allowedOrigins: ['https://weir.example'] });
    expect((await post(viewerQuery, {}, { origin: http.url })).status).toBe(200);
    const other = await post(viewerQuery, {}, { origin: 'https://weir.example' });
    expect([other.status, other.headers['access-control-allow-origin']]).toEqual([
      200,
      'https://weir.example',
    ]);
    const preflight = await send('OPTIONS', '/graphql', {
      origin: 'https://weir.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    });
    expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([
      204,
      'https://weir.example',
    ]);
  });

  it('asks for a type that no form can send (CSRF)', async () => {
    const { send } = await serve();
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const answer = await send(
        'POST',
        '/graphql',
        { 'content-type': type, authorization: 'Bearer good' },
        JSON.stringify({ query: viewerQuery }),
      );
      expect([type, answer.status]).toEqual([type, 403]);
    }
  });
});

describe('a caller who leaves while still sending', () => {
  it.each(['/graphql', '/session'])('is no fault at %s', async (path) => {
    const { http, gate, log, send } = await serve();
    const caller = connect(http.port, '127.0.0.1');
    caller.write(
      `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${http.port}\r\nauthorization: Bearer good\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"query":`,
    );
    if (path === '/graphql') await vi.waitFor(() => expect(gate.watching).toBe(1), { interval: 1 });
    // Handled after it, so its body is being read.
    for (let i = 0; i < 3; i++) await send('GET', '/healthz');
    caller.resetAndDestroy();
    await vi.waitFor(() => expect(gate.watching).toBe(0), { interval: 1 });
    for (let i = 0; i < 3; i++) await send('GET', '/healthz');
    expect(log).toEqual([]);
  });
});

describe('the client', () => {
  it('is served with headers that let it load nothing from elsewhere', async () => {
    const { send } = await serve();
    const page = await send('GET', '/');
    expect(page.text).toContain('<title>app</title>');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(page.headers['content-security-policy']).not.toContain('unsafe');
    expect(page.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'cache-control': 'no-cache',
    });
  });

  it('is the answer to every path of the app, and hashed files are kept for ever', async () => {
    const { send } = await serve();
    expect((await send('GET', `/w/${workstreamId('w1')}`)).text).toContain('<title>app</title>');
    const asset = await send('GET', '/assets/app-1a2b.js');
    expect([asset.status, asset.headers['cache-control']]).toEqual([
      200,
      'public, max-age=31536000, immutable',
    ]);
    expect((await send('GET', '/assets/gone.js')).status).toBe(404);
  });

  it('is served as it was built last, also under a server that runs', async () => {
    const { send, clientDir } = await serve();
    const html = '<!doctype html><title>app, built again</title>';
    writeFileSync(join(clientDir, 'index.html'), html);
    renameSync(join(clientDir, 'assets', 'app-1a2b.js'), join(clientDir, 'assets', 'app-3c4d.js'));
    const page = await send('GET', '/');
    expect([page.status, page.text, page.headers['content-length']]).toEqual([
      200,
      html,
      String(html.length),
    ]);
    expect((await send('GET', '/assets/app-1a2b.js')).status).toBe(404);
    expect((await send('GET', '/assets/app-3c4d.js')).status).toBe(200);
  });

  it('that cannot be read after all is cut off, and ends no server (broke: a build under it did)', async () => {
    const { send, clientDir, http } = await serve();
    // It is there, and no file that can be opened.
    const socket = createServer().listen(join(clientDir, 'assets', 'odd.js'));
    onTestFinished(() => void socket.close());
    await new Promise((resolve) => socket.once('listening', resolve));
    await expect(send('GET', '/assets/odd.js')).rejects.toThrow();
    expect((await fetch(`http://127.0.0.1:${http.port}/`)).status).toBe(200);
  });

  it.runIf(process.platform === 'linux')('keeps no file open for who left before it was sent', async () => {
    const { clientDir, http } = await serve();
    writeFileSync(join(clientDir, 'assets', 'long.js'), 'x'.repeat(20_000_000));
    const open = (): number =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).endsWith('/long.js');
        } catch {
          return false;
        }
      }).length;
    const socket = connect(http.port, '127.0.0.1');
    socket.write(`GET /assets/long.js HTTP/1.1\r\nhost: 127.0.0.1:${http.port}\r\n\r\n`);
    await new Promise((resolve) => socket.once('readable', resolve));
    expect(open()).toBe(1);
    socket.destroy();
    await vi.waitFor(() => expect(open()).toBe(0), { interval: 5, timeout: 5_000 });
  });

  it.each(['bytes=5-3', 'bytes=0-4', 'bytes=-5', 'bytes=9007199254740993-'])(
    'is whole, whatever part of it is asked for: %s',
    async (range) => {
      const { send } = await serve();
      const answer = await send('GET', '/', { range });
      expect([answer.status, answer.text]).toEqual([200, '<!doctype html><title>app</title>']);
    },
  );

  it.each(['/../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '//evil.example/x', '/%00', '/%'])(
    'gives nothing from outside its folder for %s',
    async (path) => {
      const { send } = await serve();
      const answer = await send('GET', path);
      expect(answer.text).not.toContain('root:');
      expect([200, 400, 404]).toContain(answer.status);
    },
  );

  it('shows GraphiQL only in development, and then without the internet', async () => {
    const { send } = await serve();
    const headers = { accept: 'text/html' };
    expect((await send('GET', '/graphql', headers)).status).toBe(401);
    const { send: inDevelopment } = await serve({ dev: true });
    const page = await inDevelopment('GET', '/graphql', headers);
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html']);
    expect(page.text).not.toMatch(/<script[^>]+src="?https?:/);
  });
});

describe('starting and stopping', () => {
  it('says in a sentence that the port is in use', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => {
      other.listen(0, '127.0.0.1', resolve);
    });
    const { port } = other.address() as AddressInfo;
    const outcome = await startHttp({
      host: '127.0.0.1',
      port,
      allowedHosts: [],
      services: createFakeServices().services,
      access: createFakeAccess().access,
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
      clientDir: '/nowhere',
      dev: false,
    });
    expect(outcome).toEqual({
      type: 'portInUse',
      message: `Port ${port} on 127.0.0.1 is in use. Stop what uses it, or set PORT to another one.`,
    });
    await new Promise((resolve) => other.close(resolve));
  });

  it('says that it cannot listen on an address that is not here', async () => {
    const { services } = createFakeServices();
    const outcome = await startHttp({
      host: '203.0.113.7',
      port: 0,
      allowedHosts: [],
      services,
      access: createFakeAccess().access,
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
      clientDir: '/nowhere',
      dev: false,
    });
    expect(outcome).toEqual({
      type: 'cannotListen',
      message: 'Cannot listen on 203.0.113.7, port 0 (EADDRNOTAVAIL). Check HOST and PORT.',
    });
  });

  it('closes sockets with a hint to reconnect, and takes no more', async () => {
    const { http, openSocket, send } = await serve();
    const socket = openSocket();
    const end = closed(socket);
    await new Promise((resolve) => socket.once('open', resolve));
    await http.close({ reconnect: true });
    expect(await end).toEqual({ code: 1012, reason: 'The server restarts; reconnect.' });
    await expect(send('GET', '/healthz')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
