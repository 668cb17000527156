import { describe, expect, it } from 'vitest';
import type { GraphQLFormattedError } from 'graphql';
import { stackOverflow } from 'schema';
import { watchStalls } from '../support/stalls.ts';
import { admitted, message, serve } from './harness.ts';

const nested = (n: number, open: string, inner: string, close: string): string =>
  open.repeat(n) + inner + close.repeat(n);
const chain = (n: number): string =>
  `{ ...f0 } ${Array.from({ length: n }, (_, i) => `fragment f${i} on Query { ...f${i + 1} }`).join(' ')} fragment f${n} on Query { __typename }`;

const deepChain = (n: number, depth: number): string =>
  `{ __schema { queryType { ...f0 } } } ${Array.from({ length: n }, (_, i) => `fragment f${i} on __Type ${nested(depth, '{ofType ', `{ ...f${i + 1} }`, '}')}`).join(' ')} fragment f${n} on __Type { name }`;

/** How the same operation is answered over HTTP and over a socket. */
async function askBoth(query: string, variables: Record<string, unknown> = {}) {
  const { post, openSocket, log } = await serve();
  const http = await post(query, variables);
  const socket = await admitted(openSocket());
  socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query, variables } }));
  const frame = await message(socket);
  socket.close();
  const { payload } = frame;
  const errors = Array.isArray(payload)
    ? (payload as readonly GraphQLFormattedError[])
    : ((payload as { errors?: readonly GraphQLFormattedError[] }).errors ?? []);
  return { http: http.errors, socket: errors, log };
}

describe('an operation', () => {
  it.each([
    ['of 5,000 selections in one another', nested(5_000, '{a', '{b}', '}')],
    ['of 5,000 selections never closed', '{a'.repeat(5_000)],
    ['of 500,000 lists in one another', `{ a(b: ${'['.repeat(500_000)}`],
    ['of a list type in 1,000 lists', `query ($v: ${nested(1_000, '[', 'Int', ']')}) { __typename }`],
    ['with an object 300 deep', `{ a(b: ${nested(300, '{c: ', '1', '}')}) }`],
    ['with a string that is no place to hide', `{ a(b: "\\"{") ${'{a'.repeat(201)}`],
    ['with a block string that is no place to hide', `{ a(b: """ \\""" """) ${'{a'.repeat(201)}`],
    ['with a comment that is no place to hide', `# "\n${'{a'.repeat(201)}`],
    ['with a chain of 3,000 fragments', chain(3_000)],
    ['with a chain of 100,000 fragments', chain(100_000)],
    ['with a text of its own instead of a variable', `{ __type(name: "${'x'.repeat(50_000)}") { name } }`],
    ['of more than 4,000 tokens', `{ ${'id '.repeat(4_001)} }`],
    ['of more than 2,000 lines', `{${'\n'.repeat(2_000)} __typename }`],
    ['of more than 2,000 lines by carriage returns', `{${'\r'.repeat(2_000)} __typename }`],
    ['of 500 fields of one name', `{ ${'__typename '.repeat(500)} }`],
  ])('%s is too large on both transports, and no fault', async (_, query) => {
    const { http, socket, log } = await askBoth(query);
    expect(http.map((e) => e.extensions)).toEqual([{ code: 'OPERATION_TOO_LARGE' }]);
    expect(socket).toEqual(http);
    expect(log).toEqual([]);
  });

  it.each([
    ['in a string', `{ __type(name: "${'{'.repeat(300)}\\"[") { name } }`],
    ['in a block string', `{ __type(name: """ " ${'{'.repeat(300)} \\""" { """) { name } }`],
    ['in a comment', `# ${'{'.repeat(300)}\n{ __typename }`],
    [
      'beside one another',
      `{ ${Array.from({ length: 300 }, (_, i) => `a${i}: __type(name: "x") { name }`).join(' ')} }`,
    ],
    ['of a long chain of fragments', chain(450)],
    ['of fragments that nest 340 deep together', deepChain(2, 170)],
    ['in a string of 45,000', `{ __type(name: "${'{'.repeat(45_000)}") { name } }`],
  ])('with very many brackets %s is answered', async (_, query) => {
    expect(await askBoth(query)).toEqual({ http: [], socket: [], log: [] });
  });

  it.each([
    ['{ not', {}, 'GRAPHQL_PARSE_FAILED'],
    ['query ($n: Int) { workstreams(first: $n) { totalCount } }', { n: 2 ** 31 }, 'BAD_USER_INPUT'],
    ['query ($n: Int) { workstreams(first: $n) { totalCount } }', { n: 'x' }, 'BAD_USER_INPUT'],
    ['query ($id: ID!) { workstream(id: $id) { id } }', {}, 'BAD_USER_INPUT'],
    ['{ workstreams(first: 99999999999) { totalCount } }', {}, 'GRAPHQL_VALIDATION_FAILED'],
  ])('%s with the variables %j has a code on both transports', async (query, variables, code) => {
    const { http, socket, log } = await askBoth(query, variables);
    expect(http.map((e) => e.extensions)).toEqual([{ code }]);
    expect(socket.map((e) => e.extensions)).toEqual([{ code }]);
    expect(log).toEqual([]);
  });
});

describe('a wrong request', () => {
  const sending = 'mutation ($i: SendMessageInput!) { sendMessage(input: $i) { __typename } }';
  const many = (count: number, name: (i: number) => string, value: unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [name(i), value]));
  const fields = Array.from({ length: 1_200 }, (_, i) => `unknown${i}`).join(' ');

  it.each<[string, string, Record<string, unknown>, string]>([
    ['of 1,500 unknown input fields', sending, { i: many(1_500, (i) => `f${i}`, 1) }, 'BAD_USER_INPUT'],
    ['of 60 unknown input fields with long values', sending, { i: many(60, (i) => `f${i}`, 'x'.repeat(60_000)) }, 'BAD_USER_INPUT'], // prettier-ignore
    ['of 60 unknown input fields with long names', sending, { i: many(60, (i) => `${'y'.repeat(60_000)}${i}`, 1) }, 'BAD_USER_INPUT'], // prettier-ignore
    ['of a long text for an object', sending, { i: '"'.repeat(1_900_000) }, 'BAD_USER_INPUT'],
    ['of 100 wrong variables', `query (${Array.from({ length: 100 }, (_, i) => `$v${i}: Int`).join(' ')}) { ${Array.from({ length: 100 }, (_, i) => `a${i}: workstreams(first: $v${i}) { totalCount }`).join(' ')} }`, many(100, (i) => `v${i}`, 'x'.repeat(30_000)), 'BAD_USER_INPUT'], // prettier-ignore
    ['of a million lists', sending, { i: Array.from({ length: 1_000_000 }, () => []) }, 'OPERATION_TOO_LARGE'], // prettier-ignore
    ['of 300,000 variables that nobody asked for', '{ __typename }', many(300_000, (i) => `v${i}`, 1), 'OPERATION_TOO_LARGE'], // prettier-ignore
    ['of 1,200 unknown fields', `{ ${'\n'.repeat(1_900)} ${fields} }`, {}, 'GRAPHQL_VALIDATION_FAILED'],
    ['of one very long unknown field', `{ ${'workstreams'.repeat(4_000)} }`, {}, 'GRAPHQL_VALIDATION_FAILED'], // prettier-ignore
    ['of 1,200 unknown fields in a literal', `mutation { sendMessage(input: { ${fields.replaceAll(' ', ': 1 ')}: 1 }) { __typename } }`, {}, 'GRAPHQL_VALIDATION_FAILED'], // prettier-ignore
    ['of 900 times the same variable', `query (${'\n'.repeat(1_900)} ${'$a: Int '.repeat(900)}) { __typename }`, {}, 'GRAPHQL_VALIDATION_FAILED'], // prettier-ignore
  ])('%s gets a short answer, and holds nobody up', async (_, query, variables, code) => {
    const { send, post } = await serve();
    const body = JSON.stringify({ query, variables });
    await post('{ __typename }');
    const stalls = watchStalls();
    const answer = await send(
      'POST',
      '/graphql',
      { 'content-type': 'application/json', authorization: 'Bearer good' },
      body,
    );
    const longestStall = stalls.longestMs();
    expect(new Set(answer.errors.map((e) => e.extensions?.['code']))).toEqual(new Set([code]));
    expect(answer.text.length).toBeLessThan(40_000);
    // A quarter of a second where nothing else runs; this machine may be slow.
    expect(longestStall).toBeLessThan(1_000);
  });

  it('is judged by the operation that is meant; the others need no variables', async () => {
    const { send } = await serve();
    const query = 'query mine { __typename } query other($n: Int!) { workstreams(first: $n) { totalCount } }';
    const ask = (operationName: string) =>
      send(
        'POST',
        '/graphql',
        { 'content-type': 'application/json', authorization: 'Bearer good' },
        JSON.stringify({ query, operationName }),
      );
    expect((await ask('mine')).body).toEqual({ data: { __typename: 'Query' } });
    expect((await ask('other')).errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
  });
});

it('an operation that takes the whole stack is too large, and any other error is not', () => {
  const deeper = (): number => 1 + deeper();
  let overflow: unknown;
  try {
    deeper();
  } catch (error) {
    overflow = error;
  }
  expect(stackOverflow(overflow)?.extensions).toMatchObject({ code: 'OPERATION_TOO_LARGE' });
  expect([stackOverflow(new RangeError('Invalid array length')), stackOverflow(null)]).toEqual([null, null]);
});

it('an id, a cursor or a key that no database can hold reaches no service (D-51)', async () => {
  const { post, fake, log } = await serve();
  fake.broken.reads = new Error('a service was asked');
  for (const bad of ['a\0b', 'a\ud800b', Buffer.from('Workstream:a\0b').toString('base64url')]) {
    const ids = await post('query ($id: ID!) { node(id: $id) { id } workstream(id: $id) { id } }', {
      id: bad,
    });
    expect([ids.errors, ids.body]).toEqual([[], { data: { node: null, workstream: null } }]);
    for (const list of ['workstreams', 'approvals'])
      if (!/^[\w-]+$/.test(bad))
        expect(
          (await post(`query ($a: String) { ${list}(after: $a) { totalCount } }`, { a: bad })).errors[0],
        ).toMatchObject({ extensions: { code: 'BAD_USER_INPUT', argument: 'after' } });
    const key = await post(
      'mutation ($k: IdempotencyKey!) { createWorkstream(input: { key: $k }) { __typename } }',
      { k: `12345678${bad}\0` },
    );
    expect(key.errors[0]).toMatchObject({ extensions: { code: 'BAD_USER_INPUT' } });
  }
  expect(fake.calls).toEqual([]);
  expect(log).toEqual([]);
});

it('a request that any page could have sent is refused by name', async () => {
  const { send } = await serve();
  const answer = await send(
    'POST',
    '/graphql',
    { 'content-type': 'text/plain', authorization: 'Bearer good' },
    '{"query":"{ __typename }"}',
  );
  expect(answer.status).toBe(403);
  expect(answer.errors).toMatchObject([
    {
      extensions: { code: 'CSRF_REFUSED' },
      message: expect.stringContaining('x-graphql-yoga-csrf') as string,
    },
  ]);
});
