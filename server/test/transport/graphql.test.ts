import type { PageRange } from 'schema/model';
import type { WorkstreamFilter } from 'schema/services';
import { describe, expect, it } from 'vitest';
import { sampleEntries } from '../../../schema/test/sample-entries.ts';
import { serve, workstreamId, type Answer } from './harness.ts';

/** The one field of an answer. */
const fieldOf = <T>({ body }: Answer): T => Object.values((body as { data: Record<string, T> }).data)[0]!;

interface List {
  readonly totalCount: number;
  readonly edges: readonly { readonly node: { readonly id: string } }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

const key = 'intent-0001';
const sendMessage = /* GraphQL */ `
  mutation ($input: SendMessageInput!) {
    sendMessage(input: $input) {
      __typename
      ... on SendMessagePayload {
        durability
        disposition
        messageId
        turnId
        revision
      }
      ... on Rejection {
        code
        message
        retryable
      }
    }
  }
`;

describe('a mutation', () => {
  it('hands the decoded id and the viewer to the service and answers its acceptance', async () => {
    const { post, fake } = await serve();
    fake.workstreams.set('w1', { id: 'w1', entries: [], durableThrough: 0 });
    const input = { key, workstreamId: workstreamId('w1'), text: 'hi' };
    expect(fieldOf(await post(sendMessage, { input }))).toEqual({
      __typename: 'SendMessagePayload',
      durability: 'DURABLE',
      disposition: 'STARTED',
      messageId: 'e9',
      turnId: 't9',
      revision: 9,
    });
    expect(fake.calls).toMatchObject([
      { verb: 'send', by: { tokenId: 'id-good' }, input: { key, workstreamId: 'w1', text: 'hi' } },
    ]);
  });

  it.each(['nonsense', '', 'w1', workstreamId('gone'), Buffer.from('Entry:w1:1:e1').toString('base64url')])(
    'answers WORKSTREAM_NOT_FOUND for the id %j (D-11)',
    async (id) => {
      const { post, fake } = await serve();
      fake.workstreams.set('w1', { id: 'w1', entries: [], durableThrough: 0 });
      const answer = await post(sendMessage, { input: { key, workstreamId: id, text: 'hi' } });
      expect(fieldOf(answer)).toMatchObject({
        __typename: 'WorkstreamNotFound',
        code: 'WORKSTREAM_NOT_FOUND',
        retryable: false,
      });
    },
  );

  it.each(['short', 'a b c d e f g', 'x'.repeat(101), '', 'ключ-ключ', 12345678])(
    'refuses the key %j before the service is asked',
    async (bad) => {
      const { post, fake } = await serve();
      const answer = await post(sendMessage, {
        input: { key: bad, workstreamId: workstreamId('w1'), text: 'hi' },
      });
      expect(answer.errors[0]!.message).toContain('IdempotencyKey');
      expect(answer.errors[0]!.extensions).toMatchObject({ code: 'BAD_USER_INPUT' });
      expect(fake.calls).toEqual([]);
    },
  );

  it('answers each refusal with its own facts (D-62, D-64)', async () => {
    const { post } = await serve();
    const id = workstreamId('w1');
    const answer = await post(
      /* GraphQL */ `
        mutation ($id: ID!, $key: IdempotencyKey!) {
          stopTurn(input: { key: $key, workstreamId: $id, turnId: "t1" }) {
            ... on StaleTurn {
              code
              currentTurnId
            }
          }
          decideApproval(
            input: {
              key: $key
              workstreamId: $id
              cycleId: "c"
              callId: "k"
              argumentsHash: "h"
              verdict: DENIED
            }
          ) {
            ... on ApprovalGone {
              code
              currentCycleIds
            }
          }
          resumeQueue(input: { key: $key, workstreamId: $id }) {
            ... on Rejection {
              code
              retryable
            }
          }
          createWorkstream(input: { key: $key, model: "nope" }) {
            ... on InvalidInput {
              code
              field
            }
          }
          revokeToken(input: { key: $key, tokenId: "k" }) {
            ... on Rejection {
              code
            }
          }
        }
      `,
      { id, key },
    );
    expect((answer.body as { data: unknown }).data).toEqual({
      stopTurn: { code: 'STALE_TURN', currentTurnId: 't2' },
      decideApproval: { code: 'APPROVAL_GONE', currentCycleIds: ['c2'] },
      resumeQueue: { code: 'STORAGE_UNAVAILABLE', retryable: true },
      createWorkstream: { code: 'INVALID_INPUT', field: 'model' },
      revokeToken: { code: 'TOKEN_NOT_FOUND' },
    });
  });

  it('answers what was created', async () => {
    const { post } = await serve();
    const answer = await post(
      `mutation ($key: IdempotencyKey!) {
         createWorkstream(input: { key: $key }) { ... on CreateWorkstreamPayload { workstreamId workstream { id } } }
         createToken(input: { key: $key, name: "ci" }) { ... on CreateTokenPayload { secret token { id name } } } }`,
      { key },
    );
    expect((answer.body as { data: unknown }).data).toEqual({
      createWorkstream: { workstreamId: workstreamId('w1'), workstream: { id: workstreamId('w1') } },
      createToken: { secret: 's3cret', token: { id: 'k-1', name: 'laptop' } },
    });
  });

  it('is refused as a GET', async () => {
    const { send, fake } = await serve();
    const query = encodeURIComponent(
      'mutation { createToken(input: {key: "intent-0001", name: "x"}) { __typename } }',
    );
    const answer = await send('GET', `/graphql?query=${query}`, {
      authorization: 'Bearer good',
      'x-graphql-yoga-csrf': '1',
    });
    expect([answer.status, answer.headers['allow']]).toEqual([405, 'POST']);
    expect(fake.calls).toEqual([]);
  });
});

describe('a query', () => {
  it('pages the list of workstreams, newest first', async () => {
    const { post, fake } = await serve();
    for (const id of ['w1', 'w2', 'w3']) fake.workstreams.set(id, { id, entries: [], durableThrough: 0 });
    const list = async (after: string | null) =>
      fieldOf<List>(
        await post(
          `query ($after: String) { workstreams(first: 2, after: $after) {
             totalCount edges { node { id } } pageInfo { hasNextPage hasPreviousPage endCursor } } }`,
          { after },
        ),
      );
    const first = await list(null);
    expect(first.edges.map((e) => e.node.id)).toEqual([workstreamId('w3'), workstreamId('w2')]);
    expect([first.totalCount, first.pageInfo.hasNextPage]).toEqual([3, true]);
    const second = await list(first.pageInfo.endCursor);
    expect(second.edges.map((e) => e.node.id)).toEqual([workstreamId('w1')]);
    expect(second.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
  });

  it('pages on from a cursor that was given out, whatever has become of its workstream', async () => {
    const { post, fake } = await serve();
    for (const id of ['w1', 'w2']) fake.workstreams.set(id, { id, entries: [], durableThrough: 0 });
    const { edges } = fieldOf<{ edges: { cursor: string }[] }>(
      await post('{ workstreams { edges { cursor } } }'),
    );
    const asked: PageRange[] = [];
    const { list } = fake.services.workstreams;
    Object.assign(fake.services.workstreams, {
      list: (range: PageRange, filter: WorkstreamFilter) => {
        asked.push(range);
        return list(range, filter);
      },
    });
    await post('query ($after: String) { workstreams(after: $after) { totalCount } }', {
      after: edges[0]!.cursor,
    });
    expect(asked).toEqual([{ first: 50, after: { at: '2026-11-30T09:52:03.120Z', id: 'w2' } }]);
  });

  it('says what to give instead of a cursor that Weir never gave out', async () => {
    const { post } = await serve();
    for (const list of ['workstreams', 'approvals']) {
      const answer = await post(`{ ${list}(after: "w1") { totalCount } }`);
      expect(answer.errors[0]!.message).toMatch(/`after` is not a cursor .* Give one as .* or leave it out/);
    }
  });

  it('lists what waits for a person, with whose it is', async () => {
    const { post, fake } = await serve();
    fake.workstreams.set('w1', { id: 'w1', entries: sampleEntries.slice(0, 7), durableThrough: 7 });
    const answer = await post('{ approvals { totalCount edges { workstreamId node { id status } } } }');
    expect(fieldOf(answer)).toEqual({
      totalCount: 1,
      edges: [{ workstreamId: workstreamId('w1'), node: { id: 'c1', status: 'OPEN' } }],
    });
  });

  it.each([
    ['{ workstreams(first: 201) { totalCount } }', 'first'],
    ['{ workstreams(first: 0) { totalCount } }', 'first'],
    ['{ workstreams(first: -1) { totalCount } }', 'first'],
    ['{ workstreams(after: "{") { totalCount } }', 'after'],
    ['{ workstreams(after: "") { totalCount } }', 'after'],
    ['{ workstreams(after: "w1") { totalCount } }', 'after'],
    ['{ workstreams(after: "99999999999999.w1") { totalCount } }', 'after'],
    ['{ approvals(after: "c1") { totalCount } }', 'after'],
    ['{ approvals(first: 1000) { totalCount } }', 'first'],
    ['query ($id: ID!) { workstream(id: $id) { history(last: 201) { epoch } } }', 'last'],
    ['query ($id: ID!) { workstream(id: $id) { history(first: 1, last: 1) { epoch } } }', 'first'],
    ['query ($id: ID!) { workstream(id: $id) { history(before: "e1") { epoch } } }', 'before'],
    ['query ($id: ID!) { workstream(id: $id) { history(last: 1, after: "cjE") { epoch } } }', 'after'],
  ])('refuses %s, naming the argument', async (query, argument) => {
    const { post, fake } = await serve();
    fake.workstreams.set('w1', { id: 'w1', entries: [], durableThrough: 0 });
    const answer = await post(query, query.startsWith('query') ? { id: workstreamId('w1') } : {});
    expect(answer.errors[0]!.extensions).toMatchObject({ code: 'BAD_USER_INPUT', argument });
  });

  it('refuses ids of things that are too much for one answer, and gives fewer of them', async () => {
    const { post, fake } = await serve();
    const place = { epoch: 1, generation: 1, lane: null, turnId: null, at: '2026-11-30T09:52:03.120Z' };
    const text = 'x'.repeat(1_000_000);
    const entries = [1, 2, 3, 4, 5].map(
      (revision) => ({ ...place, id: `e${revision}`, revision, kind: 'SYSTEM', text, source: 's' }) as const,
    );
    fake.workstreams.set('w1', { id: 'w1', entries, durableThrough: 5 });
    const ids = entries.map((e) => Buffer.from(`Entry:w1:${e.revision}:${e.id}`).toString('base64url'));
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';
    const few = ids.slice(0, 3);
    expect((await post(query, { ids: few })).body).toEqual({ data: { nodes: few.map((id) => ({ id })) } });
    const answer = await post(query, { ids });
    expect(answer.errors[0]!.extensions).toMatchObject({ code: 'BAD_USER_INPUT', argument: 'ids' });
  });

  it('refuses 201 ids at once', async () => {
    const { post } = await serve();
    const answer = await post('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', {
      ids: Array.from({ length: 201 }, () => 'x'),
    });
    expect(answer.errors[0]!.extensions).toMatchObject({ code: 'BAD_USER_INPUT', argument: 'ids' });
  });

  it.each([
    [
      'many values',
      '{ a: workstreams(first: 200) { ...e } b: workstreams(first: 200) { ...e } c: workstreams(first: 200) { ...e } } fragment e on WorkstreamConnection { edges { node { ' +
        Array.from({ length: 400 }, (_, i) => `f${i}: title`).join(' ') +
        ' } } }',
    ],
    ['many fields', `{ ${Array.from({ length: 1_600 }, (_, i) => `v${i}: __typename`).join(' ')} }`],
  ])('refuses an operation of too %s before a resolver runs', async (_, query) => {
    const { post, fake } = await serve();
    fake.broken.reads = new Error('a resolver ran');
    const answer = await post(query);
    expect(answer.body).not.toHaveProperty('data');
    expect(answer.errors[0]!.extensions).toEqual({ code: 'OPERATION_TOO_LARGE' });
  });

  it('lets the whole snapshot of a workstream with 200 entries through', async () => {
    const { post, fake } = await serve();
    const { selectAll } = await import('../../../schema/test/select-all.ts');
    const { schema } = await import('schema');
    fake.workstreams.set('w1', { id: 'w1', entries: sampleEntries, durableThrough: 10 });
    // Not that of a watch.
    const all = selectAll(schema, schema.getType('Workstream')!).replaceAll(
      / history (?=\{ __typename cursor)/g,
      ' history(last: 200) ',
    );
    const answer = await post(`query ($id: ID!) { workstream(id: $id) ${all} }`, { id: workstreamId('w1') });
    expect(answer.errors).toEqual([]);
    expect(fieldOf<{ history: List }>(answer).history.edges).toHaveLength(sampleEntries.length);
  });
});

describe('GraphQL over HTTP', () => {
  it('answers in the type that was asked for', async () => {
    const { post } = await serve();
    for (const type of ['application/graphql-response+json', 'application/json'])
      expect((await post('{ __typename }', {}, { accept: type })).headers['content-type']).toContain(type);
  });

  it.each([
    ['malformed JSON', '{"query":', 400],
    ['a body that is no object', '"query"', 400],
    ['no query', '{}', 400],
    ['a query that is no text', '{"query": 1}', 400],
    ['variables that are no object', '{"query": "{ __typename }", "variables": []}', 400],
    ['several operations in one request', '[{"query": "{ __typename }"}]', 400],
  ])('refuses %s', async (_, body, status) => {
    const { send, log } = await serve();
    const answer = await send(
      'POST',
      '/graphql',
      {
        'content-type': 'application/json',
        accept: 'application/graphql-response+json',
        authorization: 'Bearer good',
      },
      body,
    );
    expect(answer.status).toBe(status);
    expect(answer.errors).toHaveLength(1);
    expect(log).toEqual([]);
  });

  it('gives syntax and validation errors a code', async () => {
    const { post } = await serve();
    const headers = { accept: 'application/graphql-response+json' };
    const syntax = await post('{ not', {}, headers);
    expect([syntax.status, syntax.errors[0]!.extensions]).toEqual([400, { code: 'GRAPHQL_PARSE_FAILED' }]);
    const invalid = await post('{ nothing }', {}, headers);
    expect([invalid.status, invalid.errors[0]!.extensions]).toEqual([
      400,
      { code: 'GRAPHQL_VALIDATION_FAILED' },
    ]);
  });

  it.each([
    ['with its length', {}],
    ['in chunks', { 'transfer-encoding': 'chunked' }],
  ])('refuses a body of 5 MB sent %s, and says how much is allowed', async (_, headers) => {
    const { send } = await serve();
    const body = JSON.stringify({ query: '{ __typename }', pad: 'x'.repeat(5_000_000) });
    const answer = await send(
      'POST',
      '/graphql',
      { 'content-type': 'application/json', authorization: 'Bearer good', ...headers },
      body,
    );
    expect(answer.status).toBe(413);
    expect(answer.errors[0]).toMatchObject({
      message: 'A request body may have at most 4,000,000 bytes.',
      extensions: { code: 'PAYLOAD_TOO_LARGE' },
    });
  });

  it('answers a query as a GET that no page can send by accident', async () => {
    const { send } = await serve();
    const path = `/graphql?query=${encodeURIComponent('{ viewer { name } }')}`;
    const token = { authorization: 'Bearer good' };
    expect((await send('GET', path, token)).status).toBe(403);
    expect((await send('GET', path, { ...token, 'x-graphql-yoga-csrf': '1' })).body).toEqual({
      data: { viewer: { name: 'good' } },
    });
  });
});

describe('a fault', () => {
  it('shows a correlation id and nothing else, and is logged once under it', async () => {
    const { post, fake, log } = await serve();
    fake.broken.reads = new Error('password authentication failed for user "weir" at 10.0.0.5');
    const answer = await post('{ server { version } tokens { id } }');
    expect(answer.text).not.toContain('password');
    expect(answer.text).not.toContain('10.0.0.5');
    const logged = log.filter((l) => l.level === 'error');
    expect(logged).toHaveLength(1);
    expect(logged[0]!.fields['reason']).toContain('password authentication failed');
    const { correlationId } = logged[0]!.fields;
    expect(correlationId).toMatch(/^[\da-f-]{36}$/);
    expect(answer.errors.map((e) => e.extensions)).toEqual([{ code: 'INTERNAL', correlationId }]);
  });

  it('of a database that is away is named, so that a client can try again (D-53)', async () => {
    const { post, fake, log } = await serve();
    fake.broken.reads = Object.assign(new Error('connect ECONNREFUSED 10.0.0.5'), {
      name: 'StorageUnavailableError',
    });
    const answer = await post('{ server { version } }');
    expect(answer.errors[0]!.extensions).toEqual({ code: 'STORAGE_UNAVAILABLE' });
    expect(answer.text).not.toContain('10.0.0.5');
    expect(log.map((l) => l.level)).toEqual(['warn']);
  });
});
