import { expect, it } from 'vitest';
import { serverQuery } from '../../src/client-kit/index.ts';
import { exchangeCode } from '../../src/client-kit/session.ts';
import { createTransport } from '../../src/client-kit/transport.ts';
import { until } from './support/in-process.ts';

const url = 'http://127.0.0.1:4000/graphql';

/** A transport whose server answers `response`, and what was asked of it. */
function answering(response: () => Response | Promise<Response>) {
  const asked: { url: string; init: RequestInit }[] = [];
  const fetch = ((to: string, init: RequestInit) => {
    asked.push({ url: to, init });
    return Promise.resolve().then(response);
  }) as typeof globalThis.fetch;
  return { asked, fetch, transport: createTransport({ url, token: 'secret-token', fetch }) };
}
const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });

it('sends the token in the header and never in the address', async () => {
  const { asked, transport } = answering(() => json({ data: { viewer: { id: '1' } } }));
  expect(await transport.request(serverQuery, {})).toEqual({ ok: true, data: { viewer: { id: '1' } } });
  expect(new Headers(asked[0]!.init.headers).get('authorization')).toBe('Bearer secret-token');
  expect(asked[0]!.url).toBe(url);
});

it.each([
  ['a status of 401', () => json({ errors: [{ message: 'No.' }] }, 401)],
  [
    'the code in the error',
    () => json({ errors: [{ message: 'No.', extensions: { code: 'UNAUTHENTICATED' } }] }),
  ],
])('tells a token that is not accepted by %s', async (_how, response) => {
  const answer = await answering(response).transport.request(serverQuery, {});
  expect(answer).toMatchObject({ ok: false, failure: { type: 'Unauthenticated' } });
});

it('hands on the code, the sentence and the correlation id of an error', async () => {
  const error = { message: 'Something broke.', extensions: { code: 'INTERNAL', correlationId: 'abc' } };
  const { transport } = answering(() => json({ data: null, errors: [error] }, 500));
  expect(await transport.request(serverQuery, {})).toEqual({
    ok: false,
    failure: { type: 'Server', code: 'INTERNAL', message: 'Something broke.', correlationId: 'abc' },
  });
});

it.each<readonly [string, () => Response | Promise<Response>]>([
  ['no connection', () => Promise.reject(new TypeError('fetch failed'))],
  ['a page of a proxy', () => new Response('<html>Bad gateway</html>', { status: 502 })],
  ['an answer that is cut off', () => new Response('{"data":{"vie', { status: 200 })],
  ['JSON that is not an answer', () => json([1, 2])],
])('takes %s for no answer', async (_what, response) => {
  const answer = await answering(response).transport.request(serverQuery, {});
  expect(answer).toMatchObject({ ok: false, failure: { type: 'Network' } });
});

it('exchanges the code of a link in the body of the request, and tells a used one', async () => {
  const good = answering(() => json({ token: 't' }));
  const origin = 'http://127.0.0.1:4000';
  expect(await exchangeCode({ origin, code: 'c0de', fetch: good.fetch })).toEqual({
    type: 'Token',
    token: 't',
  });
  expect(good.asked[0]!.url).toBe(`${origin}/session`);
  expect(good.asked[0]!.init.body).toBe('{"code":"c0de"}');
  await exchangeCode({ origin, code: 'c0de', name: 'Firefox on Linux', fetch: good.fetch });
  expect(good.asked[1]!.init.body).toBe('{"code":"c0de","name":"Firefox on Linux"}');

  const used = answering(() => json({ error: { code: 'CODE_NOT_VALID', message: 'Used.' } }, 401));
  expect(await exchangeCode({ origin, code: 'c0de', fetch: used.fetch })).toEqual({
    type: 'Refused',
    message: 'Used.',
  });
  const busy = answering(() => json({ error: { message: 'Wait.' } }, 429));
  expect(await exchangeCode({ origin, code: 'c0de', fetch: busy.fetch })).toEqual({
    type: 'Failed',
    message: 'Wait.',
  });
});

/** A socket that is acknowledged when it is open, and ends with the code a test says. */
function sockets() {
  const open: FakeSocket[] = [];
  class FakeSocket {
    static readonly OPEN = 1;
    readonly readyState = FakeSocket.OPEN;
    onopen = () => undefined;
    onmessage: (event: { readonly data: string }) => void = () => undefined;
    onclose: (event: { readonly code: number; readonly reason: string }) => void = () => undefined;
    constructor() {
      open.push(this);
    }
    send(text: string): void {
      if (text.includes('connection_init')) this.onmessage({ data: '{"type":"connection_ack"}' });
    }
    close(code = 1000): void {
      this.onclose({ code, reason: '' });
    }
  }
  return { open, webSocketImpl: Object.assign(FakeSocket, { CLOSED: 3, CLOSING: 2, CONNECTING: 0 }) };
}

it('is down from when the socket was lost until it is up again, and not when nobody needs one', async () => {
  const { open, webSocketImpl } = sockets();
  const transport = createTransport({ url, token: 'secret-token', webSocketImpl });
  let connections = 0;
  transport.onConnected(() => {
    connections += 1;
  });
  const subscribe = () => {
    const sink = { next: () => undefined, end: () => undefined };
    return transport.subscribe(serverQuery, {}, sink);
  };
  expect(transport.isDown()).toBe(false);

  subscribe();
  await until('the socket is opened', () => open.length === 1);
  open[0]!.onopen();
  await until('it is up', () => connections === 1);
  expect(transport.isDown()).toBe(false);
  open[0]!.close(1006);
  expect(transport.isDown()).toBe(true);

  // Nor is it up when it could not be opened.
  subscribe();
  await until('another one is opened', () => open.length === 2);
  open[1]!.close(1006);
  expect(transport.isDown()).toBe(true);

  const unsubscribe = subscribe();
  await until('a third one is opened', () => open.length === 3);
  open[2]!.onopen();
  await until('it is up again', () => connections === 2);
  expect(transport.isDown()).toBe(false);
  unsubscribe();
  open[2]!.close(1000);
  expect(transport.isDown()).toBe(false);
});
