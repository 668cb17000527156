/**
 * Owns: what an endpoint may do with HTTP itself: answers without a body, bodies that end early, heads that are none. Each
 * is an answer or a fault of its kind, and none carries a credential anywhere.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createTestClock } from '../../support/clock.ts';
import { bindingFor, chunk, createAsker, sse } from './harness.ts';

const key = 'sk-Zq7Rw2Tx9Lk4Mn8Pv5';
const ok = sse([chunk({ content: 'ok' }, 'stop')]);
const half = sse([chunk({ content: 'half' })], '');
const zipped = gzipSync(ok);

/** Whether a request with a length is there with all of its body. */
function isWhole(request: string): boolean {
  const body = request.indexOf('\r\n\r\n') + 4;
  const length = /\ncontent-length: (\d+)/i.exec(request)?.[1];
  return body > 3 && length !== undefined && request.length >= body + Number(length);
}

/** Gives each request these bytes and then ends the connection, or keeps it open. */
async function listen(bytes: Buffer, end: boolean) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    let seen = '';
    socket.on('data', (data) => {
      seen += data.toString('latin1');
      if (!isWhole(seen)) return;
      socket.write(bytes);
      if (end) socket.end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    connections: () => sockets.length,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const head = (status: string, ...fields: readonly string[]): Buffer =>
  Buffer.from(`HTTP/1.1 ${status}\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`);
const close = 'connection: close';
const answer = (raw: string | Buffer, ...fields: readonly string[]): Buffer =>
  Buffer.concat([head('200 OK', ...fields), Buffer.from(raw)]);
const failed = (kind: string, accepted = false) => ({ type: 'failed', kind, accepted });
const answered = { type: 'answered', text: 'ok' };

test.each<[string, Buffer, object, 'OPEN'?]>([
  ['204', head('204 No Content'), failed('EMPTY'), 'OPEN'],
  ['205', head('205 Reset Content', 'content-length: 0'), failed('EMPTY'), 'OPEN'],
  [
    '304 with a body that it may not have',
    Buffer.concat([head('304 Not Modified', close), Buffer.from(ok)]),
    failed('NOT_FOUND'),
  ],
  ['200 of length 0', head('200 OK', 'content-length: 0'), failed('EMPTY'), 'OPEN'],
  ['200 of no pieces', answer('0\r\n\r\n', 'transfer-encoding: chunked'), failed('EMPTY'), 'OPEN'],
  [
    '500 of no pieces',
    Buffer.concat([head('500 Oh', 'transfer-encoding: chunked'), Buffer.from('0\r\n\r\n')]),
    failed('OVERLOADED'),
    'OPEN',
  ],
  [
    'a status beyond HTTP, which counts as a 5xx',
    head('700 Odd', 'content-length: 0'),
    { ...failed('OVERLOADED'), status: 700 },
    'OPEN',
  ],
  [
    'a status far beyond HTTP that says something',
    Buffer.concat([head('999 Denied', close), Buffer.from('{"error":{"message":"oops"}}')]),
    { ...failed('OVERLOADED'), status: 999, message: expect.stringContaining('HTTP 999, oops') as string },
  ],
  [
    'a refusal whose reason is in no alphabet of HTTP',
    Buffer.concat([head('403 Verbotén ✗', close), Buffer.from('{"error":{"message":"nope"}}')]),
    { ...failed('AUTHENTICATION'), message: expect.stringContaining('HTTP 403, nope') as string },
  ],
  [
    'another protocol',
    head('101 Switching Protocols', 'upgrade: x', 'connection: upgrade'),
    failed('CONNECTION'),
  ],
  ['a body that ends before its length', answer(half, 'content-length: 1000'), failed('CONNECTION', true)],
  ['a whole answer that ends before its length', answer(ok, 'content-length: 1000'), answered],
  ['an error that ends before its length', head('400 Bad', 'content-length: 1000'), failed('BAD_REQUEST')],
  [
    'an error that breaks off in the middle of what it says',
    Buffer.concat([
      head('400 Bad', 'content-length: 1000'),
      Buffer.from('{"error":{"message":"maximum context length is 8 tokens'),
    ]),
    failed('CONTEXT_OVERFLOW'),
  ],
  [
    'a refusal in pieces, one of them of a broken length',
    Buffer.concat([head('402 Pay', 'transfer-encoding: chunked'), Buffer.from('2\r\n{}\r\nzz\r\n')]),
    failed('QUOTA'),
  ],
  ['a piece of a broken length', answer('zz\r\n', 'transfer-encoding: chunked'), failed('CONNECTION')],
  [
    'an answer with more after its length',
    answer(`${ok}HTTP/1.1 200 OK\r\n\r\n`, `content-length: ${ok.length}`),
    answered,
    'OPEN',
  ],
  ['a packed answer', answer(zipped, 'content-encoding: gzip', close), answered],
  [
    'a packed answer cut after its end',
    answer(zipped.subarray(0, -8), 'content-encoding: gzip', close),
    answered,
  ],
  [
    'a packed answer cut at its beginning',
    answer(zipped.subarray(0, 12), 'content-encoding: gzip', close),
    failed('EMPTY'),
  ],
  ['what is not packed and says so', answer(ok, 'content-encoding: gzip', close), failed('CONNECTION')],
  [
    'an error that is not packed and says so',
    Buffer.concat([head('401 No', 'content-encoding: gzip', close), Buffer.from('no')]),
    failed('AUTHENTICATION'),
  ],
  [
    'packed two hundred times',
    answer(ok, `content-encoding: ${Array.from({ length: 200 }, () => 'gzip').join(', ')}`, close),
    failed('CONNECTION'),
  ],
  ['HTTP/1.0, which ends with its connection', Buffer.from(`HTTP/1.0 200 OK\r\n\r\n${ok}`), answered],
  [
    'HTTP/1.0 that ends in the middle',
    Buffer.from(`HTTP/1.0 200 OK\r\n\r\n${half}`),
    failed('MALFORMED', true),
  ],
  ['no HTTP', Buffer.from(`${ok}${key}`), failed('CONNECTION')],
  [
    'a head of 20 kB, full of the key',
    head('200 OK', `x-${key}: ${`${key} `.repeat(1_000)}`),
    failed('CONNECTION'),
  ],
  ['a reason that is the key', head(`400 ${key}`, 'content-length: 0'), failed('BAD_REQUEST'), 'OPEN'],
  [
    'hints before the answer',
    Buffer.concat([head('103 Early Hints', 'link: </x>'), answer(ok, close)]),
    answered,
  ],
])('%s is what it is', async (_, bytes, expected, open) => {
  await using endpoint = await listen(bytes, open !== 'OPEN');
  const { outcome } = await createAsker(bindingFor(endpoint.url, { apiKey: key }))();
  expect(outcome).toMatchObject(expected);
  expect(JSON.stringify(outcome)).not.toContain(key.slice(3, 12));
  // Never asked again below the ladder that people see (D-37).
  expect(endpoint.connections()).toBe(1);
});

test('a refusal whose body never comes to its end is one after 5 s, with what it said and asked (D-37)', async () => {
  const bytes = head('429 Slow', 'content-length: 1000', 'retry-after: 7');
  await using endpoint = await listen(Buffer.concat([bytes, Buffer.from('too many')]), false);
  const clock = createTestClock();
  // The one of the request is there from the beginning; that of the body is set when the head has come.
  const asked = createAsker(bindingFor(endpoint.url), clock)();
  await clock.waitForTimers(2);
  await clock.advance(5_000);
  expect((await asked).outcome).toMatchObject({ ...failed('RATE_LIMIT'), status: 429, retryAfterMs: 7_000 });
});

test('who stops while the body of a refusal is still coming has stopped', async () => {
  await using endpoint = await listen(head('500 Oh', 'content-length: 1000'), false);
  const clock = createTestClock();
  const stop = new AbortController();
  const asked = createAsker(bindingFor(endpoint.url), clock)(undefined, stop.signal);
  await clock.waitForTimers(2);
  stop.abort();
  expect((await asked).outcome).toMatchObject({ type: 'aborted' });
});

test.each([300, 301, 302, 303, 305, 307, 308])(
  'a %i leads nowhere, and takes no key there',
  async (status) => {
    await using elsewhere = await listen(answer(ok, close), true);
    await using endpoint = await listen(
      head(
        `${status} Elsewhere`,
        `location: ${elsewhere.url}/chat/completions?k=${key}`,
        'content-length: 0',
      ),
      false,
    );
    const { outcome } = await createAsker(bindingFor(endpoint.url, { apiKey: key }))();
    expect(outcome).toMatchObject({ ...failed('NOT_FOUND'), status });
    expect(JSON.stringify(outcome)).not.toContain(key.slice(3, 12));
    expect(elsewhere.connections()).toBe(0);
  },
);
