/** Owns: how a body gets to an endpoint over HTTP: whole, with its length, and nowhere else. */
import { randomBytes } from 'node:crypto';
import { spawn } from 'node:child_process';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { listModels } from '../../../src/adapters/model/discover.ts';
import { createWindows } from '../../../src/adapters/model/windows.ts';
import { createTestClock } from '../../support/clock.ts';
import { bindingFor, chunk, createAsker, question, sse } from './harness.ts';

const ok = sse([chunk({ content: 'ok' }, 'stop')]);

interface Posted {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An endpoint that answers, or redirects. */
async function listen(redirect: { readonly status: number; readonly location: string | null } | null = null) {
  const posted: Posted[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const path = request.url ?? '';
      posted.push({ path, headers: request.headers, body: Buffer.concat(parts).toString('utf8') });
      if (redirect) {
        const { status, location } = redirect;
        return void response.writeHead(status, location === null ? {} : { location }).end('Over there.');
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(ok);
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    posted,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Two bytes a character on the wire, and many pieces. */
const long = 'é"\n'.repeat(300_000);
const asked = { ...question, tools: [], messages: [{ role: 'user' as const, text: long }] };
const expected = JSON.stringify({
  model: 'm1',
  messages: [{ role: 'user', content: long }],
  stream: true,
  stream_options: { include_usage: true },
});

test.each(['CHAT', 'RESPONSES'] as const)(
  'a %s request has a content type, its length in bytes, a key, and is not sent in chunks',
  async (dialect) => {
    await using endpoint = await listen();
    await createAsker(bindingFor(endpoint.url, { dialect }))(asked);
    const { headers, body } = endpoint.posted[0]!;
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      authorization: 'Bearer sk-not-to-be-shown',
    });
    expect(headers).not.toHaveProperty('transfer-encoding');
    expect(body.length).toBeGreaterThan(long.length);
  },
);

test('a long body arrives as it was written', async () => {
  await using endpoint = await listen();
  expect((await createAsker(bindingFor(endpoint.url))(asked)).text).toBe('ok');
  expect(endpoint.posted.map(({ body }) => body)).toEqual([expected]);
});

test('an answer that nothing has changed is a fault with its status', async () => {
  await using endpoint = await listen({ status: 304, location: '/' });
  const { outcome } = await createAsker(bindingFor(endpoint.url))(asked);
  expect(outcome).toMatchObject({ type: 'failed', accepted: false, status: 304 });
});

test.each([302, 307, 308])(
  'a redirect (%i) is not followed, and the fault says where it leads',
  async (status) => {
    await using elsewhere = await listen();
    await using endpoint = await listen({ status, location: `${elsewhere.url}/chat/completions?key=secret` });
    const { outcome } = await createAsker(bindingFor(endpoint.url))(asked);
    expect(outcome).toMatchObject({ type: 'failed', kind: 'NOT_FOUND', accepted: false, status });
    const { message } = outcome as { message: string };
    expect(message).toContain(
      `it redirects to ${new URL(elsewhere.url).origin}, and redirects are not followed`,
    );
    expect(message).not.toContain('secret');
    expect(elsewhere.posted).toEqual([]);
  },
);

test.each([
  ['javascript:alert(1)', 'it redirects to another path'],
  ['/elsewhere?key=secret', 'it redirects to another path'],
  [null, 'it answers with a redirect to nowhere'],
])('a redirect to %j is told without what it holds', async (location, said) => {
  await using endpoint = await listen({ status: 302, location });
  const { outcome } = await createAsker(bindingFor(endpoint.url))(asked);
  const { message } = outcome as { message: string };
  expect(message).toContain(said);
  expect(message).not.toMatch(/secret|alert|null/);
});

test.each(['does as it is asked', 'packs all the same'])(
  'an endpoint is asked for what is not packed, and ends no server when it closes behind much: one that %s (broke: it did)',
  async (how) => {
    const answer = sse([
      ...Array.from({ length: 1_500 }, () => chunk({ content: randomBytes(300).toString('hex') })),
      chunk({}, 'stop'),
    ]);
    const models = JSON.stringify({
      data: [{ id: 'm1', max_model_len: 4_096, more: randomBytes(300_000).toString('hex') }],
    });
    const took: (string | undefined)[] = [];
    // Its last bytes and the end of the connection have to come together.
    const server = createTcpServer((socket) => {
      let head = '';
      socket.on('error', () => undefined);
      socket.on('data', (bytes) => {
        if (head.includes('\r\n\r\n')) return;
        head += bytes.toString();
        if (!head.includes('\r\n\r\n')) return;
        const packing = /^accept-encoding: (.*)$/im.exec(head)?.[1];
        took.push(packing);
        const packs = how === 'packs all the same';
        const plain = Buffer.from(head.startsWith('POST') ? answer : models);
        const body = packs ? gzipSync(plain) : plain;
        const more = packs ? 'content-encoding: gzip\r\n' : '';
        socket.write(
          Buffer.concat([
            Buffer.from(
              `HTTP/1.1 200 OK\r\nconnection: close\r\n${more}content-length: ${body.length}\r\n\r\n`,
            ),
            body,
          ]),
        );
        socket.end();
      });
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const binding = bindingFor(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
    const clock = createTestClock();
    const windows = createWindows({ clock });
    await windows.learn([binding]);
    expect(windows.of(binding)).toBe(4_096);
    expect(await listModels(clock, binding.endpoint, 10_000)).toEqual({ type: 'listed', models: ['m1'] });
    expect((await createAsker(binding)()).outcome).toMatchObject({ type: 'answered', finish: 'STOP' });
    expect(took).toEqual(['identity', 'identity', 'identity']);
  },
);

test('no endpoint is spoken to in HTTP/2, where one bad answer breaks those of all others on the connection (broke: it did)', async () => {
  const hellos: Buffer[] = [];
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (hello) => (hellos.push(hello), socket.destroy()));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const binding = bindingFor(`https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
  expect((await createAsker(binding)()).outcome).toMatchObject({ type: 'failed', kind: 'CONNECTION' });
  expect(hellos.length).toBeGreaterThan(0);
  // What the client offers to speak, each behind its length.
  for (const offer of ['\x02h2\x08http/1.1', '\x08http/1.1\x02h2'])
    for (const hello of hellos) expect(hello.includes(offer, 0, 'latin1')).toBe(false);
});

test('a proxy is taken from the environment where Node is told to', async () => {
  const asked: string[] = [];
  await using proxy = await listen();
  const child = spawn(
    process.execPath,
    [
      '--input-type=module-typescript',
      '-e',
      `import { endpointFetch } from ${JSON.stringify(new URL('../../../src/adapters/model/endpoint-fetch.ts', import.meta.url).href)}; const answer = await endpointFetch('http://nowhere.invalid/v1/models', {}); console.log(answer.status);`,
    ],
    {
      env: {
        ...process.env,
        NODE_USE_ENV_PROXY: '1',
        http_proxy: proxy.url.replace(/\/v1$/, ''),
        no_proxy: '',
        NO_PROXY: '',
      },
    },
  );
  child.stdout.on('data', (text: Buffer) => asked.push(text.toString().trim()));
  await new Promise((resolve) => child.once('close', resolve));
  expect(asked).toEqual(['200']);
});
