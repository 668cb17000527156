import { get, request, type IncomingMessage } from 'node:http';
import type { GraphQLFormattedError } from 'graphql';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { WebSocket } from 'ws';
import { sampleEntries } from '../../../schema/test/sample-entries.ts';
import { admitted, closed, message, messages, serve, workstreamId, type Frame } from './harness.ts';

const feed = /* GraphQL */ `
  subscription ($id: ID!, $after: FeedCursor) {
    workstreamFeed(id: $id, after: $after) {
      __typename
      ... on EntryAdmitted {
        durable
        cursor
        entry {
          __typename
          revision
          durability
        }
      }
      ... on EntriesDurable {
        durableThrough
      }
      ... on Ended {
        reason
        resumable
      }
    }
  }
`;

const subscribe = (id: string, query: string, variables: object) =>
  JSON.stringify({ id, type: 'subscribe', payload: { query, variables } });
const w1 = { id: workstreamId('w1') };

/** The errors of a frame, whether it refuses the operation or carries a result. */
const errorsOf = ({ payload }: Frame): readonly GraphQLFormattedError[] =>
  Array.isArray(payload)
    ? (payload as GraphQLFormattedError[])
    : (payload as { errors: readonly GraphQLFormattedError[] }).errors;

/** The one root field of a result. */
const itemOf = (
  result: IteratorResult<{ readonly data?: Record<string, unknown> | null | undefined }, unknown>,
): unknown => (result.done ? undefined : Object.values(result.value.data ?? {})[0]);

/** The next message that is so; others are passed over. */
const messageWhere = (socket: WebSocket, is: (frame: Frame) => boolean): Promise<Frame> =>
  new Promise((resolve) => {
    const take = (data: Buffer): void => {
      const frame = JSON.parse(data.toString('utf8')) as Frame;
      if (!is(frame)) return;
      socket.off('message', take);
      resolve(frame);
    };
    socket.on('message', take);
  });

async function serveOne() {
  const server = await serve();
  server.fake.workstreams.set('w1', { id: 'w1', entries: sampleEntries, durableThrough: 13 });
  return server;
}

describe('opening a socket', () => {
  it.each([['wrong'], [''], [undefined], [null], [42], [{ a: 1 }], ['x'.repeat(5_000)]])(
    'is refused with 4401 for the token %j',
    async (token) => {
      const { openSocket, gate } = await serve();
      const socket = openSocket();
      const end = closed(socket);
      await new Promise((resolve) => socket.once('open', resolve));
      socket.send(JSON.stringify({ type: 'connection_init', payload: { token } }));
      expect(await end).toEqual({ code: 4401, reason: 'A valid token is needed.' });
      expect(gate.watching).toBe(0);
    },
  );

  it('is refused with 4401 for an operation before the token', async () => {
    const { openSocket, fake } = await serveOne();
    const socket = openSocket();
    const end = closed(socket);
    await new Promise((resolve) => socket.once('open', resolve));
    socket.send(subscribe('1', feed, w1));
    expect((await end).code).toBe(4401);
    expect(fake.feed.open).toBe(0);
  });

  it('is put off with 1013 while the database is away', async () => {
    const { openSocket, gate } = await serve();
    gate.broken.error = Object.assign(new Error('away'), { name: 'StorageUnavailableError' });
    const socket = openSocket();
    const end = closed(socket);
    await new Promise((resolve) => socket.once('open', resolve));
    socket.send(JSON.stringify({ type: 'connection_init', payload: { token: 'good' } }));
    expect((await end).code).toBe(1013);
  });

  it('ends with 1009 at a message over 4 MB, and others do not feel it', async () => {
    const { openSocket } = await serveOne();
    const quiet = await admitted(openSocket());
    const loud = await admitted(openSocket());
    const end = closed(loud);
    loud.send('x'.repeat(4_100_000));
    expect((await end).code).toBe(1009);
    quiet.send(JSON.stringify({ type: 'ping' }));
    expect(await message(quiet)).toEqual({ type: 'pong' });
    quiet.close();
  });

  it('ends with 4400 at a message that is none', async () => {
    const { openSocket } = await serveOne();
    const socket = await admitted(openSocket());
    const end = closed(socket);
    socket.send('{"type":"nonsense"}');
    expect((await end).code).toBe(4400);
  });

  it.each([
    ['that only servers send', '{"type":"next","id":"1","payload":{}}', 'Invalid message received'],
    [
      'with more values than any operation needs',
      `[${'{},'.repeat(1_000_000)}{}]`,
      'A message holds too many values.',
    ],
  ])('ends with 4400 at a message %s, and prints one line at most', async (_, text, reason) => {
    const { openSocket, log } = await serve();
    const printed = vi.spyOn(console, 'error').mockReturnValue();
    onTestFinished(() => printed.mockRestore());
    const socket = openSocket();
    const end = closed(socket);
    await new Promise((resolve) => socket.once('open', resolve));
    socket.send(text);
    expect(await end).toEqual({ code: 4400, reason });
    expect(printed.mock.calls).toEqual([]);
    expect(log.filter((line) => line.level !== 'warn')).toEqual([]);
    expect(log.length).toBeLessThanOrEqual(1);
    for (const line of log) expect(Object.keys(line.fields)).toEqual(['reason']);
  });

  it('ends when its token is revoked, and only then', async () => {
    const { openSocket, gate } = await serveOne();
    const mine = await admitted(openSocket());
    const other = await admitted(openSocket(), 'other');
    const end = closed(mine);
    gate.revoke('good');
    expect(await end).toEqual({ code: 4401, reason: 'The token was revoked.' });
    other.send(JSON.stringify({ type: 'ping' }));
    expect(await message(other)).toEqual({ type: 'pong' });
    other.close();
  });

  it.each([
    ['a query', '{ viewer { name } }'],
    ['a mutation', 'mutation { createToken(input: { key: "12345678", name: "x" }) { __typename } }'],
    ['a subscription', 'subscription { workstreamStates { __typename } }'],
  ])(
    'ends at %s when its token was revoked by another server meanwhile, which is not begun',
    async (_, query) => {
      const { openSocket, gate, fake } = await serveOne();
      let created = 0;
      fake.services.tokens.create = () => {
        created += 1;
        return Promise.reject(new Error('not here'));
      };
      const socket = await admitted(openSocket());
      const heard: Frame[] = [];
      socket.on('message', (data: Buffer) => heard.push(JSON.parse(data.toString('utf8')) as Frame));
      gate.revokeElsewhere('good');
      const end = closed(socket);
      socket.send(subscribe('1', query, {}));
      expect(await end).toEqual({ code: 4401, reason: 'The token was revoked.' });
      expect(heard.filter(({ type }) => type === 'next')).toEqual([]);
      expect([created, fake.states.open]).toEqual([0, 0]);
    },
  );

  it('begins nothing while its token cannot be checked, and stays open', async () => {
    const { openSocket, gate } = await serveOne();
    const socket = await admitted(openSocket());
    gate.broken.error = Object.assign(new Error('away'), { name: 'StorageUnavailableError' });
    socket.send(subscribe('1', '{ viewer { name } }', {}));
    expect(errorsOf(await message(socket))[0]!.extensions).toEqual({ code: 'STORAGE_UNAVAILABLE' });
    gate.broken.error = null;
    socket.send(subscribe('2', '{ viewer { name } }', {}));
    expect((await message(socket)).type).toBe('next');
    socket.close();
  });

  it('lets nobody in whose token was revoked while it was being asked about', async () => {
    const { openSocket, gate } = await serve();
    const authenticate = gate.access.authenticate.bind(gate.access);
    gate.access.authenticate = async (token) => {
      const viewer = await authenticate(token);
      gate.access.authenticate = authenticate;
      gate.revoke('good');
      return viewer;
    };
    const socket = openSocket();
    const end = closed(socket);
    await new Promise((resolve) => socket.once('open', resolve));
    socket.send(JSON.stringify({ type: 'connection_init', payload: { token: 'good' } }));
    expect((await end).code).toBe(4401);
    expect(gate.watching).toBe(0);
  });
});

describe('an operation on a socket', () => {
  it('may be a query, with the errors it would have over HTTP', async () => {
    const { connect } = await serveOne();
    const results = connect().iterate({
      query: '{ viewer { name } workstreams(first: 900) { totalCount } }',
    });
    expect(await results.next()).toMatchObject({
      value: { errors: [{ extensions: { code: 'BAD_USER_INPUT', argument: 'first' } }] },
    });
  });

  it('is validated, and its error carries no HTTP status', async () => {
    const { openSocket } = await serveOne();
    const socket = await admitted(openSocket());
    socket.send(subscribe('1', '{ nothing }', {}));
    const answer = await message(socket);
    expect([answer.id, answer.type]).toEqual(['1', 'error']);
    expect(errorsOf(answer).map((e) => e.extensions)).toEqual([{ code: 'GRAPHQL_VALIDATION_FAILED' }]);
    socket.close();
  });

  it('that asks for too much is refused before its source is opened', async () => {
    const { openSocket, fake } = await serveOne();
    const socket = await admitted(openSocket());
    const many = Array.from({ length: 1_600 }, (_, i) => `t${i}: __typename`).join(' ');
    socket.send(subscribe('1', `subscription ($id: ID!) { workstreamFeed(id: $id) { ${many} } }`, w1));
    expect(errorsOf(await message(socket))[0]!.extensions).toEqual({ code: 'OPERATION_TOO_LARGE' });
    expect(fake.feed.open).toBe(0);
    socket.close();
  });
});

describe('a feed on a socket', () => {
  it('carries items as they come, from the cursor it was given', async () => {
    const { connect, fake } = await serveOne();
    const results = connect().iterate({ query: feed, variables: { ...w1, after: 'i1.3.12' } });
    const first = results.next();
    await fake.feed.hasOpen(1);
    const said = sampleEntries.find((entry) => entry.kind === 'USER')!;
    expect(fake.calls.at(-1)?.input).toEqual({ workstreamId: 'w1', after: 'i1.3.12' });
    fake.feed.push({
      item: { type: 'EntryAdmitted', entry: said, durable: false },
      cursor: 'i1.3.13',
    });
    fake.feed.push({ item: { type: 'EntriesDurable', durableThrough: 13 }, cursor: 'i1.3.13' });
    expect(itemOf(await first)).toEqual({
      __typename: 'EntryAdmitted',
      durable: false,
      cursor: 'i1.3.13',
      entry: { __typename: 'UserEntry', revision: said.revision, durability: 'PENDING' },
    });
    expect(itemOf(await results.next())).toEqual({
      __typename: 'EntriesDurable',
      durableThrough: 13,
    });
    await results.return?.();
    await fake.feed.hasOpen(0);
  });

  it.each([['nonsense'], [workstreamId('gone')]])(
    'of an unknown workstream (%s) ends and says so',
    async (id) => {
      const { connect } = await serveOne();
      const results = connect().iterate({ query: feed, variables: { id } });
      expect(itemOf(await results.next())).toEqual({
        __typename: 'Ended',
        reason: 'WORKSTREAM_NOT_FOUND',
        resumable: false,
      });
      expect((await results.next()).done).toBe(true);
    },
  );

  it('refuses a cursor that nobody handed out', async () => {
    const { connect } = await serveOne();
    const results = connect().iterate({ query: feed, variables: { ...w1, after: 'nonsense' } });
    const answer = await results.next().catch((e: unknown) => e);
    expect(JSON.stringify(answer)).toContain('FeedCursor');
  });

  it('leaves nothing behind when the subscriber completes while nothing happens', async () => {
    const { openSocket, fake } = await serveOne();
    const socket = await admitted(openSocket());
    socket.send(subscribe('1', feed, w1));
    await fake.feed.hasOpen(1);
    socket.send(JSON.stringify({ id: '1', type: 'complete' }));
    await fake.feed.hasOpen(0);
    socket.close();
  });

  it('leaves nothing behind when the socket is cut', async () => {
    const { openSocket, fake, gate } = await serveOne();
    const socket = await admitted(openSocket());
    for (let i = 0; i < 20; i++) socket.send(subscribe(String(i), feed, w1));
    await fake.feed.hasOpen(20);
    socket.terminate();
    await fake.feed.hasOpen(0);
    expect(gate.watching).toBe(0);
  });

  it('leaves nothing behind when the subscriber leaves in the same breath', async () => {
    const { openSocket, fake } = await serveOne();
    const socket = await admitted(openSocket());
    for (let i = 0; i < 50; i++) {
      socket.send(subscribe(String(i), feed, w1));
      socket.send(JSON.stringify({ id: String(i), type: 'complete' }));
    }
    socket.send(subscribe('last', feed, w1));
    await fake.feed.hasOpen(1);
    socket.terminate();
    await fake.feed.hasOpen(0);
  });

  it('that breaks shows a correlation id and nothing else, and is logged once', async () => {
    const { openSocket, fake, log } = await serveOne();
    const socket = await admitted(openSocket());
    socket.send(subscribe('1', feed, w1));
    await fake.feed.hasOpen(1);
    const answers = messages(socket, 2);
    fake.feed.push(new Error('secret at 10.0.0.5'));
    const [answer, end] = await answers;
    expect(JSON.stringify(answer)).not.toContain('secret');
    const logged = log.filter((l) => l.level === 'error');
    expect(errorsOf(answer!).map((e) => e.extensions)).toEqual([
      { code: 'INTERNAL', correlationId: logged[0]!.fields['correlationId'] },
    ]);
    expect(end).toEqual({ id: '1', type: 'complete' });
    expect(logged).toHaveLength(1);
    await fake.feed.hasOpen(0);
    socket.close();
  });

  it('does not outlive the revocation of its token', async () => {
    const { openSocket, fake, gate } = await serveOne();
    const socket = await admitted(openSocket());
    socket.send(subscribe('1', feed, w1));
    await fake.feed.hasOpen(1);
    gate.revoke('good');
    await fake.feed.hasOpen(0);
  });

  it('shares a socket with at most 255 others', async () => {
    const { openSocket, fake } = await serveOne();
    const socket = await admitted(openSocket());
    for (let i = 0; i < 257; i++) socket.send(subscribe(String(i), feed, w1));
    const answer = await message(socket);
    expect([answer.id, answer.type]).toEqual(['256', 'error']);
    expect(errorsOf(answer)[0]!.extensions).toEqual({ code: 'TOO_MANY_OPERATIONS' });
    await fake.feed.hasOpen(256);
    socket.terminate();
    await fake.feed.hasOpen(0);
  });
});

describe('An operation that its client does not wait for any more', () => {
  it('makes room at once: all subscriptions are exchanged for as many others in one breath', async () => {
    const { openSocket, fake } = await serveOne();
    const socket = await admitted(openSocket());
    const refused: Frame[] = [];
    socket.on('message', (data: Buffer) => refused.push(JSON.parse(data.toString('utf8')) as Frame));
    for (let i = 0; i < 256; i++) socket.send(subscribe(`a${i}`, feed, w1));
    await fake.feed.hasOpen(256);
    for (let i = 0; i < 256; i++) socket.send(JSON.stringify({ id: `a${i}`, type: 'complete' }));
    for (let i = 0; i < 256; i++) socket.send(subscribe(`b${i}`, feed, w1));
    const ponged = messageWhere(socket, ({ type }) => type === 'pong');
    socket.send(JSON.stringify({ type: 'ping' }));
    await ponged;
    await fake.feed.hasOpen(256);
    expect(refused.filter(({ type }) => type === 'error')).toEqual([]);
    socket.terminate();
    await fake.feed.hasOpen(0);
  });

  it('counts until its work is over, and then no longer', async () => {
    const { openSocket, fake } = await serveOne();
    const socket = await admitted(openSocket());
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    let asked = 0;
    // A command that waits in no line: others would leave theirs.
    fake.services.turns.stop = async () => {
      asked += 1;
      await answered;
      return { type: 'Accepted', durability: 'DURABLE', stopped: [], nothingToStop: true };
    };
    const stop = `mutation { stopTurn(input: { key: "intent-0001", workstreamId: "${workstreamId('w1')}" }) { __typename } }`;
    const ask = (id: string) => socket.send(subscribe(id, stop, {}));
    for (const [from, to] of [
      [0, 256],
      [256, 512],
      [512, 1_000],
    ] as const) {
      for (let i = from; i < to; i++) {
        ask(String(i));
        // Those after them are refused.
        if (i >= 512) socket.send(JSON.stringify({ id: String(i), type: 'complete' }));
      }
      await vi.waitFor(() => expect(asked).toBe(Math.min(to, 512)), { interval: 1, timeout: 5_000 });
      for (let i = from; i < Math.min(to, 512); i++)
        socket.send(JSON.stringify({ id: String(i), type: 'complete' }));
    }
    const refusal = messageWhere(socket, ({ id }) => id === 'one more');
    ask('one more');
    const refused = await refusal;
    expect(refused.type).toBe('error');
    expect(errorsOf(refused)[0]!.extensions).toEqual({ code: 'TOO_MANY_OPERATIONS' });
    // What nobody waits for any more may be as much again, and no more.
    expect(asked).toBe(512);
    answer();
    const ponged = messageWhere(socket, ({ type }) => type === 'pong');
    socket.send(JSON.stringify({ type: 'ping' }));
    await ponged;
    const answeredAgain = messageWhere(socket, ({ id }) => id === 'afterwards');
    ask('afterwards');
    expect((await answeredAgain).type).toBe('next');
    socket.close();
  });

  it.each([
    ['a feed that was left', feed, w1],
    ['what is refused', '{ nothing }', {}],
    ['what names no operation', 'fragment A on Query { __typename }', {}],
    ['a query', '{ __typename }', {}],
  ])('does not count for ever: %s', async (_, query, variables) => {
    const { openSocket, fake } = await serveOne();
    const socket = await admitted(openSocket());
    for (let i = 0; i < 600; i++) {
      socket.send(subscribe(String(i), query, variables));
      socket.send(JSON.stringify({ id: String(i), type: 'complete' }));
      if (i % 100 > 0) continue;
      const ponged = messageWhere(socket, ({ type }) => type === 'pong');
      socket.send(JSON.stringify({ type: 'ping' }));
      await ponged;
    }
    await fake.feed.hasOpen(0);
    socket.send(subscribe('last', feed, w1));
    await fake.feed.hasOpen(1);
    socket.terminate();
  });
});

describe('the other subscriptions', () => {
  it('begin the list with a snapshot', async () => {
    const { connect, fake } = await serveOne();
    const results = connect().iterate({
      query: `subscription { workstreamStates { __typename ... on StatesSnapshot { workstreams { id state } } } }`,
    });
    expect(itemOf(await results.next())).toMatchObject({
      __typename: 'StatesSnapshot',
      workstreams: [{ id: workstreamId('w1') }],
    });
    await fake.states.hasOpen(1);
    await results.return?.();
    await fake.states.hasOpen(0);
  });

  it('end token chunks of an unknown workstream at once', async () => {
    const { connect } = await serveOne();
    const results = connect().iterate({
      query: 'subscription { tokenChunks(id: "nonsense") { __typename } }',
    });
    expect((await results.next()).done).toBe(true);
  });
});

describe('a feed as server-sent events', () => {
  async function openStream(port: number, headers: Record<string, string | undefined> = {}) {
    const res = await new Promise<IncomingMessage>((resolve, reject) => {
      const req = request(
        {
          host: '127.0.0.1',
          port,
          method: 'POST',
          path: '/graphql',
          // Undefined is none.
          headers: JSON.parse(
            JSON.stringify({
              'content-type': 'application/json',
              accept: 'text/event-stream',
              authorization: 'Bearer good',
              ...headers,
            }),
          ) as Record<string, string>,
          agent: false,
        },
        resolve,
      );
      req.on('error', reject);
      req.end(JSON.stringify({ query: feed, variables: w1 }));
    });
    let text = '';
    const waiting = new Set<() => void>();
    res.on('data', (part: Buffer) => {
      text += part.toString('utf8');
      for (const f of waiting) f();
    });
    const ended = new Promise<void>((resolve) => {
      res.on('error', () => undefined);
      res.on('close', resolve);
    });
    const has = (part: string): Promise<void> =>
      new Promise((resolve) => {
        const look = (): void => {
          if (text.includes(part)) resolve();
        };
        waiting.add(look);
        look();
      });
    return { res, has, ended };
  }

  it('carries items, and leaves nothing behind when the reader goes', async () => {
    const { http, fake, gate } = await serveOne();
    const { res, has } = await openStream(http.port);
    expect(res.headers['content-type']).toContain('text/event-stream');
    await fake.feed.hasOpen(1);
    fake.feed.push({ item: { type: 'EntriesDurable', durableThrough: 13 }, cursor: 'i1.3.13' });
    await has('"durableThrough":13');
    res.destroy();
    await fake.feed.hasOpen(0);
    // The next request is handled after the end of the stream was.
    await new Promise((resolve) => get(`${http.url}/healthz`, (r) => r.resume().on('end', resolve)));
    expect(gate.watching).toBe(0);
  });

  it('needs a token', async () => {
    const { http } = await serveOne();
    const { res } = await openStream(http.port, { authorization: 'Bearer wrong' });
    expect(res.statusCode).toBe(401);
  });

  /** All of them are answered with events. */
  const accepted = ['text/event-stream', 'TEXT/Event-Stream', 'text/*', '*/*', undefined];

  it.each(accepted)('ends when its token is revoked, as asked for with Accept: %s', async (accept) => {
    const { http, fake, gate } = await serveOne();
    const { res, ended } = await openStream(http.port, { accept });
    expect(res.headers['content-type']).toContain('text/event-stream');
    await fake.feed.hasOpen(1);
    gate.revoke('good');
    await ended;
    await fake.feed.hasOpen(0);
  });

  it.each(accepted)('ends when the server stops, as asked for with Accept: %s', async (accept) => {
    const { http, fake } = await serveOne();
    const { ended } = await openStream(http.port, { accept });
    await fake.feed.hasOpen(1);
    // Time stands still: who waited for the stream to be cut after 2 s would wait for ever.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    await http.close({ reconnect: true });
    await ended;
    await fake.feed.hasOpen(0);
  });

  it('that its caller does not accept is closed, not counted any more, and answered with what to send', async () => {
    const { post, fake, gate } = await serveOne();
    for (let i = 0; i < 1_030; i++) {
      const answer = await post(feed, w1, { accept: 'application/json' });
      expect(answer.status).toBe(406);
      expect(answer.errors).toMatchObject([{ extensions: { code: 'NOT_ACCEPTABLE' } }]);
      expect(answer.errors[0]!.message).toContain('`Accept: text/event-stream`');
    }
    await fake.feed.hasOpen(0);
    expect((await post('{ viewer { name } }')).errors).toEqual([]);
    expect(gate.watching).toBe(0);
  });
});
