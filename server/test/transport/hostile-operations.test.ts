import { describe, expect, it } from 'vitest';
import type { GraphQLFormattedError } from 'graphql';
import { stackOverflow } from 'schema';
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
    ['with a text of its own instead of a variable', `{ __type(name: "${'x'.repeat(100_000)}") { name } }`],
    ['of more than 10,000 tokens', `{ ${'id '.repeat(10_001)} }`],
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
    ['of a long chain of fragments', chain(1_100)],
    ['of fragments that nest 3,000 deep together', deepChain(17, 180)],
    ['in a string of 90,000', `{ __type(name: "${'{'.repeat(90_000)}") { name } }`],
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
