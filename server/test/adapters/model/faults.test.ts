import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { APIConnectionError, APIConnectionTimeoutError } from 'openai';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { addressOf, parseEndpoint } from '../../../src/adapters/model/endpoint.ts';
import {
  createFault,
  faultFromDescription,
  faultFromError,
  retryAfterOf,
  type FaultKind,
  type FaultScope,
} from '../../../src/adapters/model/faults.ts';
import type { Fault } from '../../../src/adapters/model/caller.ts';
import { remedies } from '../../../src/core/models/fault.ts';
import type { Step } from '../../support/scripted-provider.ts';
import { bindingFor, bytes, chunk, connect, createAsker, sse } from './harness.ts';

const scope: FaultScope = {
  alias: 'm1',
  host: 'models.test:1',
  model: 'm1',
  secrets: ['hunter2hunter2'],
  source: 'ENVIRONMENT',
};

async function failing(step: Step): Promise<Fault> {
  await using link = await connect();
  const { outcome } = await link.answer(step);
  if (outcome.type !== 'failed') throw new Error(`did not fail: ${JSON.stringify(outcome)}`);
  return outcome;
}

describe('over HTTP', () => {
  test.each<[number, FaultKind]>([
    [400, 'BAD_REQUEST'],
    [401, 'AUTHENTICATION'],
    [402, 'QUOTA'],
    [403, 'AUTHENTICATION'],
    [404, 'NOT_FOUND'],
    [408, 'TIMEOUT'],
    [409, 'OVERLOADED'],
    [413, 'CONTEXT_OVERFLOW'],
    [422, 'BAD_REQUEST'],
    [425, 'OVERLOADED'],
    [429, 'RATE_LIMIT'],
    [500, 'OVERLOADED'],
    [503, 'OVERLOADED'],
    [504, 'TIMEOUT'],
  ])('HTTP %i is %s, and worth another try only if D-37 says so', async (status, kind) => {
    const fault = await failing({ status, body: { error: { message: 'Because.', type: 'x' } } });
    expect(fault).toMatchObject({ kind, accepted: false, retryAfterMs: null });
    const again = [408, 409, 425, 429].includes(status) || status >= 500;
    expect(remedies[fault.kind] === 'RETRY').toBe(again);
    expect(fault.message).toMatch(
      new RegExp(`^Model "alias" \\(m1 at 127\\.0\\.0\\.1:\\d+\\) .+ \\(HTTP ${status}, Because\\); .+\\.$`),
    );
  });

  test.each<[string, unknown]>([
    ['an object without a wrapper', { object: 'error', message: 'said so', code: 400 }],
    ['a list', [{ error: { message: 'said so' } }]],
    ['a text inside', { error: 'said so' }],
    ['a detail', { detail: 'said so' }],
    ['details of a form', { detail: [{ type: 'missing', loc: ['body', 'x'], msg: 'said so' }] }],
    ['details in a message', { object: 'error', message: { detail: [{ msg: 'said so' }] }, type: 'x' }],
    ['a list of errors', { success: false, errors: [{ code: 7003, message: 'said so' }] }],
    ['lists in lists', { error: { message: [[['said so', 'and more']]] } }],
    ['plain text', 'said so'],
  ])('what the endpoint said is told when it came as %s', async (_, body) => {
    expect((await failing({ status: 400, body })).message).toContain('(HTTP 400, said so)');
  });

  test('a web page with a status is told by its status only', async () => {
    const page = '<!DOCTYPE html><html><body>nginx</body></html>';
    const fault = await failing({ status: 502, headers: { 'content-type': 'text/html' }, body: page });
    expect(fault).toMatchObject({ kind: 'OVERLOADED' });
    expect(fault.message).toContain('(HTTP 502, a web page)');
  });

  test('an error body without end is cut', async () => {
    const fault = await failing({ status: 500, body: 'x'.repeat(5_000_000) });
    expect(fault.kind).toBe('OVERLOADED');
    expect(fault.message.length).toBeLessThan(500);
  });

  test('Retry-After is carried, uncut: the ladder decides how long is too long', async () => {
    const fault = await failing({ status: 429, headers: { 'retry-after': '198300' } });
    expect(fault).toMatchObject({ kind: 'RATE_LIMIT', retryAfterMs: 198_300_000 });
  });

  test.each<[string, string, FaultKind, boolean]>([
    ['a JSON error in a 200', JSON.stringify({ error: { message: 'no', code: 503 } }), 'OVERLOADED', false],
    ['a JSON error in a 200 that names nothing', JSON.stringify({ error: 'no' }), 'PROVIDER_ERROR', false],
    [
      'an error object in mid-stream (A16)',
      sse([chunk({ content: 'a' }), { choices: [], error: { code: 502, message: 'gone' } }]),
      'OVERLOADED',
      true,
    ],
    [
      'an error event in mid-stream',
      `${sse([chunk({ content: 'a' })], '')}event: error\ndata: {"error":{"message":"no","type":"rate_limit_error"}}\n\n`,
      'RATE_LIMIT',
      true,
    ],
    [
      'an error event that names nothing',
      `${sse([chunk({ content: 'a' })], '')}event: error\ndata: {"error":{"message":"no"}}\n\n`,
      'PROVIDER_ERROR',
      true,
    ],
    [
      'a tool call its own server refused (A51)',
      'event: error\ndata: {"error":{"message":"no","code":"tool_use_failed","status_code":400}}\n\n',
      'MALFORMED',
      false,
    ],
    [
      'an error event before anything was said',
      sse([{ error: { message: 'no upstream is free', code: 503 } }], ''),
      'OVERLOADED',
      false,
    ],
    [
      'an error after who speaks, what was counted and a sign of life',
      `event: ping\ndata: {"type":"ping"}\n\n${sse([
        chunk({ role: 'assistant', content: '' }, null, {
          usage: { prompt_tokens: 7, completion_tokens: 0 },
        }),
        { error: { message: 'no', type: 'invalid_api_key' } },
      ])}`,
      'AUTHENTICATION',
      false,
    ],
    [
      'an error that a gateway writes where a stream would begin',
      ': ping\n\n{"error":{"message":"no","code":429}}\n\n',
      'RATE_LIMIT',
      false,
    ],
    ['a finish reason that is an error, of nothing', sse([chunk({}, 'error')]), 'PROVIDER_ERROR', false],
    ['an error after a thought', sse([chunk({ reasoning: 'hm' }), { error: 'no' }]), 'PROVIDER_ERROR', true],
    [
      'the end of a stream that only says who speaks',
      sse([chunk({ role: 'assistant' })], ''),
      'MALFORMED',
      false,
    ],
    ['[DONE] alone', 'data: [DONE]\n\n', 'EMPTY', false],
    ['a web page in a 200', '<html><body>Welcome</body></html>', 'WEB_PAGE', false],
    ['an event that is not JSON', 'data: {"choices":\n\ndata: [DONE]\n\n', 'MALFORMED', false],
    ['a body that is something else', '["a"]', 'MALFORMED', false],
    [
      'the end of the stream without finish reason and [DONE] (A24)',
      sse([chunk({ content: 'half' })], ''),
      'MALFORMED',
      true,
    ],
    ['a body of nothing', '', 'EMPTY', false],
    ['a body of white space', ' \r\n\n', 'EMPTY', false],
    ['a stream of comments alone: nobody has said anything', ': ping\n\n', 'EMPTY', false],
    [
      'a sentence of a gateway',
      'upstream connect error or disconnect/reset before headers',
      'MALFORMED',
      false,
    ],
    [
      'a sentence of a gateway that may be a field',
      'Error: no healthy upstream\nretry: later\n',
      'MALFORMED',
      false,
    ],
    ['a word of a gateway', 'unavailable', 'MALFORMED', false],
    ['a sentence of a gateway after comments', ': ping\n\nno healthy upstream\n\n', 'MALFORMED', false],
    [
      'and one after an answer has begun',
      `${sse([chunk({ content: 'a' })], '')}oh no\n\n`,
      'MALFORMED',
      true,
    ],
    ['an answer of nothing', sse([chunk({ content: '' }), chunk({}, 'stop')]), 'EMPTY', true],
    ['an answer of white space', sse([chunk({ content: '\n' }), chunk({}, 'stop')]), 'EMPTY', true],
    [
      'calls announced and none made (A15)',
      sse([chunk({ content: '' }), chunk({}, 'tool_calls')]),
      'EMPTY',
      true,
    ],
    [
      'a limit reached while thinking',
      sse([chunk({ reasoning_content: 'hm' }), chunk({}, 'length')]),
      'NO_ROOM',
      true,
    ],
    [
      'an answer its content filter blocked (A41)',
      sse([chunk({}, 'content_filter')]),
      'CONTENT_FILTER',
      true,
    ],
    [
      'a finish reason that is an error',
      sse([chunk({ content: 'a' }), chunk({}, 'error')]),
      'PROVIDER_ERROR',
      true,
    ],
  ])('%s is a typed fault', async (_, raw, kind, accepted) => {
    expect(await failing(bytes(raw))).toMatchObject({ kind, accepted });
  });

  test('a connection that breaks in mid-stream is a connection fault', async () => {
    const fault = await failing({ stream: ['half', { drop: true }] });
    expect(fault).toMatchObject({ kind: 'CONNECTION', accepted: true });
  });

  test('an endpoint that is not there is a connection fault that names it and the reason', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const ask = createAsker(bindingFor(`http://me:hunter2hunter2@127.0.0.1:${port}/v1`, { alias: 'm1' }));
    expect((await ask()).outcome).toEqual({
      type: 'failed',
      kind: 'CONNECTION',
      alias: 'm1',
      accepted: false,
      message:
        `Model "m1" at 127.0.0.1:${port} could not be reached or broke the connection (ECONNREFUSED); ` +
        'check that it is running and that OPENAI_BASE_URL is right.',
      retryAfterMs: null,
    });
  });
});

test('a spent quota is not worth another try', () => {
  const fault = faultFromDescription(scope, { error: { message: 'x', code: 'insufficient_quota' } }, 429);
  expect(fault).toMatchObject({ kind: 'QUOTA' });
});

test('the code of the innermost cause is what a connection fault tells', () => {
  const cause = Object.assign(new Error('inner'), { code: 'UND_ERR_CONNECT_TIMEOUT' });
  const timeout = Object.assign(new APIConnectionTimeoutError(), {
    cause: new TypeError('fetch failed', { cause }),
  });
  expect(faultFromError(scope, timeout, 0)).toMatchObject({
    kind: 'TIMEOUT',
    message: expect.stringContaining('(UND_ERR_CONNECT_TIMEOUT)') as string,
  });
  const lost = new APIConnectionError({ message: 'x', cause: new TypeError('terminated') });
  expect(faultFromError(scope, lost, 0)).toMatchObject({ kind: 'CONNECTION' });
});

test.each<[Record<string, string>, number | null]>([
  [{ 'retry-after': '2' }, 2_000],
  [{ 'retry-after': '0.5' }, 500],
  [{ 'retry-after': '9', 'retry-after-ms': '1500' }, 1_500],
  [{ 'retry-after': 'Wed, 21 Oct 2037 07:28:10 GMT' }, 10_000],
  [{ 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, 0],
  [{ 'retry-after': 'abc' }, null],
  [{ 'retry-after': '-5' }, null],
  [{ 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1m2.5s' }, 62_500],
  [
    {
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '20ms',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '7',
    },
    7_000,
  ],
  [{ 'x-ratelimit-remaining-tokens': '12', 'x-ratelimit-reset-tokens': '1h' }, null],
  [{ 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': 'soon' }, null],
  [{}, null],
])('Retry-After %j asks to wait %s ms', (headers, ms) => {
  expect(retryAfterOf(new Headers(headers), Date.parse('Wed, 21 Oct 2037 07:28:00 GMT'))).toBe(ms);
});

test.each<[number, string]>([
  [61_000, 'try again in 2 minutes, or'],
  [198_300_000, 'try again in 3 days, or'],
  [36_000_000, 'try again in 10 hours, or'],
])('a wait of %i ms, longer than anybody waits here, is told (A37)', (retryAfterMs, said) => {
  expect(createFault('RATE_LIMIT', scope, { retryAfterMs }).message).toContain(said);
});

test('a sentence names the alias and the endpoint, and where its settings are', () => {
  const { message } = createFault('AUTHENTICATION', { ...scope, alias: 'fast', source: 'FILE' });
  expect(message).toBe(
    'Model "fast" (m1 at models.test:1) refused the credentials; check its "key" in weir.config.json and what that key may use.',
  );
});

test.each(Object.keys(remedies) as FaultKind[])('a fault of kind %s says what to do', (kind) => {
  const { message } = createFault(kind, scope);
  expect(message).toMatch(/^Model "m1" at models\.test:1 .+; .+\.$/);
  expect(message).not.toContain('{');
});

test('no sentence holds a credential, whatever the endpoint sends back', () => {
  const detail =
    'key hunter2hunter2 for http://me:pass@host/v1 with Bearer abcdef and sk-proj-abcdefgh***1234\n\u0007.';
  const { message } = createFault('OTHER', scope, { detail });
  expect(message).toBe(
    'Model "m1" at models.test:1 failed in an unexpected way (key [hidden] for http://host/v1 with Bearer [hidden] ' +
      'and [hidden]); try again, and look at the log of the endpoint if it stays so.',
  );
});

test('what is hidden takes none of the sentence with it', () => {
  const { message } = createFault('RATE_LIMIT', scope, {
    detail: 'HTTP 429, no more for Bearer hunter2hunter2',
  });
  expect(message).toBe(
    'Model "m1" at models.test:1 refused because a rate limit is reached (HTTP 429, no more for Bearer [hidden]); ' +
      'wait a little and try again, or choose another model.',
  );
});

test.each([
  ['a name without a password', 'https://only%2Dthe-key@models.test/v1', 'only-the-key'],
  ['a parameter that is called so', 'https://models.test/v1?version=2&api-key=only-the-key', 'only-the-key'],
  ['a long parameter', 'https://models.test/v1?x=1&y=0123456789abcdef', '0123456789abcdef'],
  ['a short parameter of a password', 'https://models.test/v1?pwd=pQ7w', 'pQ7w'],
  ['a part of the path without words', 'https://models.test/Zk3v9Qx71LmT5wRy/v1', 'Zk3v9Qx71LmT5wRy'],
])('%s in an address is a credential, and is not shown when the endpoint repeats it', (_, url, secret) => {
  const { secrets } = parseEndpoint(url, undefined)!;
  expect(secrets).toContain(secret);
  const { message } = createFault('OTHER', { ...scope, secrets }, { detail: `HTTP 421, no ${secret} x1 2` });
  expect(message).toContain('(HTTP 421, no [hidden] x1 2)');
});

test('the name of a deployment in an address is no credential, and a fragment is no part of it', () => {
  const url = 'https://models.test/openai/deployments/gpt-5-mini-2025-08-07/v1?api-version=2024-10-21#models';
  const { secrets, baseUrl } = parseEndpoint(url, undefined)!;
  expect(secrets).toEqual([]);
  expect(addressOf(baseUrl, '/chat/completions')).toBe(
    'https://models.test/openai/deployments/gpt-5-mini-2025-08-07/v1/chat/completions?api-version=2024-10-21',
  );
});

test('an endpoint keeps its credentials out of everything it shows', () => {
  const endpoint = parseEndpoint('https://me:p%40ss@models.test/v1/', undefined);
  expect(endpoint).toEqual({
    baseUrl: 'https://models.test/v1',
    host: 'models.test',
    authorization: `Basic ${Buffer.from('me:p@ss').toString('base64')}`,
    secrets: ['p%40ss', 'p@ss', Buffer.from('me:p@ss').toString('base64')],
  });
  expect(parseEndpoint('https://me:x@models.test', 'sk-1')?.authorization).toBe('Bearer sk-1');
  expect(parseEndpoint('models.test/v1', undefined)).toBeNull();
  expect(parseEndpoint('file:///etc/passwd', undefined)).toBeNull();
});

describe('the name of a model as its endpoint tells it', () => {
  const nameTold = async (name: string, apiKey = 'token-abc123'): Promise<string> => {
    await using link = await connect({ apiKey });
    const { outcome } = await link.answer(bytes(sse([{ model: name, ...chunk({ content: 'ok' }, 'stop') }])));
    if (outcome.type !== 'answered') throw new Error(`no answer: ${JSON.stringify(outcome)}`);
    return outcome.model;
  };

  test.each([
    'Bearer token-abc123',
    'sk-token-abc123',
    'm1 %74oken-abc123',
    'dG9rZW4tYWJjMTIz',
    `${'%25'.repeat(30)}74oken-abc123`,
  ])(
    'holds no key, as no error does: %s (broke: it stood in the entry and among the calls)',
    async (name) => {
      const told = await nameTold(name);
      expect(told).toContain('[hidden]');
      expect(told).not.toContain('abc123');
    },
  );

  test('is told where it only begins as keys do', async () => {
    for (const name of ['xai-grok-4-fast', 'hf-internal-model', 'gpt-4o-2024-08-06'])
      expect(await nameTold(name)).toBe(name);
  });
});

describe('a proxy that wants credentials', () => {
  const sentence =
    'Model "alias" (m1 at HOST) could not be asked, because a proxy on the way wants credentials (HTTP 407); ' +
    'give Weir the proxy with its name and password (HTTPS_PROXY, HTTP_PROXY), or a way to OPENAI_BASE_URL without it.';

  test('is told as that, and not asked four times (broke: "could not be reached (fetch failed)")', async () => {
    const fault = await failing({ status: 407, body: 'Who are you?' });
    expect(fault).toMatchObject({ kind: 'AUTHENTICATION', status: 407, accepted: false });
    expect(fault.message.replace(/at \S+\)/, 'at HOST)')).toBe(sentence);
    expect(remedies[fault.kind]).not.toBe('RETRY');
  });

  test.each(['http', 'https'])('is told as that where it is one that is set, for %s', async (scheme) => {
    const proxy = createHttpServer((_, response) => void response.writeHead(407).end())
      .on('connect', (_, socket) => void socket.end('HTTP/1.1 407 Who are you?\r\n\r\n'))
      .listen(0, '127.0.0.1');
    onTestFinished(() => {
      vi.unstubAllEnvs();
      proxy.close();
    });
    await once(proxy, 'listening');
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy']) vi.stubEnv(name, address);
    for (const name of ['NO_PROXY', 'no_proxy']) vi.stubEnv(name, '');
    vi.stubEnv('NODE_USE_ENV_PROXY', '1');
    // Which proxy there is, is looked at once.
    vi.resetModules();
    const fresh = await import('./harness.ts');
    const { outcome } = await fresh.createAsker(bindingFor(`${scheme}://models.invalid/v1`))();
    expect(outcome).toMatchObject({
      kind: 'AUTHENTICATION',
      message: sentence.replace('HOST', 'models.invalid'),
    });
  });
});
