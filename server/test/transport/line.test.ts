/** That what is large waits for one another, and nothing else does: however much a caller asks for, the others are answered. */
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { WebSocket } from 'ws';
import { sampleEntries } from '../../../schema/test/sample-entries.ts';
import { schema } from 'schema';
import type { Reading } from 'schema/services';
import type { HttpDeps } from '../../src/transport/http.ts';
import { urgentMutations } from '../../src/transport/urgent.ts';
import { admitted, serve, workstreamId, type Frame } from './harness.ts';

const query = (name: string, selection = 'id'): string =>
  `{ workstream(id: "${workstreamId(name)}") { ${selection} } }`;
const mutation = 'mutation { createWorkstream(input: { key: "intent-0001" }) { __typename } }';
const names = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => `${prefix}${i + 1}`);

/** A server whose queries go on until they are let, by the names of the workstreams they ask for. */
async function begin(changes: Partial<HttpDeps> = {}) {
  const server = await serve(changes);
  const begun: string[] = [];
  const ends = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();
  const { get } = server.fake.services.workstreams;
  Object.assign(server.fake.services.workstreams, {
    get: async (id: string) => {
      begun.push(id);
      if (!id.startsWith('now'))
        await new Promise<void>((resolve, reject) => ends.set(id, { resolve, reject }));
      return get('w1');
    },
  });
  const hasBegun = (...ids: readonly string[]): Promise<void> =>
    vi.waitFor(() => expect(begun).toEqual(expect.arrayContaining([...ids])), {
      interval: 1,
      timeout: 5_000,
    });
  return {
    ...server,
    begun,
    hasBegun,
    finish: (id: string) => ends.get(id)!.resolve(),
    fail: (id: string) => ends.get(id)!.reject(new Error('broken')),
    finishAll: () => ends.forEach(({ resolve }) => resolve()),
  };
}

const ask = (socket: WebSocket, id: string, text = query(id)): void =>
  socket.send(JSON.stringify({ id, type: 'subscribe', payload: { query: text } }));

/** Resolves when this operation was answered, and all that came before it on the socket has been looked at. */
const answerOf = (socket: WebSocket, id: string): Promise<Frame> =>
  new Promise((resolve) => {
    const take = (data: Buffer): void => {
      const frame = JSON.parse(data.toString('utf8')) as Frame;
      if (frame.id !== id || frame.type === 'complete') return;
      socket.off('message', take);
      resolve(frame);
    };
    socket.on('message', take);
  });

async function command(socket: WebSocket, id: string): Promise<void> {
  const answer = answerOf(socket, id);
  ask(socket, id, mutation);
  expect(await answer).toMatchObject({ payload: { data: { createWorkstream: {} } } });
}

describe('The queries of one token', () => {
  it('are worked on four at a time, in order; a mutation and a subscription pass them by', async () => {
    const { openSocket, begun, hasBegun, finish, fake } = await begin();
    const socket = await admitted(openSocket());
    for (const id of names('q', 6)) ask(socket, id);
    ask(socket, 'feed', 'subscription { workstreamStates { __typename } }');
    await command(socket, 'm1');
    await fake.states.hasOpen(1);
    expect(begun).toEqual(names('q', 4));
    finish('q3');
    await hasBegun('q5');
    expect(begun).not.toContain('q6');
    finish('q1');
    await hasBegun('q6');
  });

  it('are counted over all its sockets and requests', async () => {
    const { openSocket, post, begun, hasBegun, finish, finishAll } = await begin();
    const [one, two] = [await admitted(openSocket()), await admitted(openSocket())];
    ask(one, 'q1');
    ask(two, 'q2');
    const posts = [post(query('q3')), post(query('q4'))];
    await hasBegun(...names('q', 4));
    ask(one, 'q5');
    await command(one, 'm1');
    ask(two, 'q6');
    await command(two, 'm2');
    expect(begun).toHaveLength(4);
    finish('q4');
    await hasBegun('q5');
    expect(begun).not.toContain('q6');
    finishAll();
    await Promise.all(posts);
  });

  it('give their places back when they fail', async () => {
    const { openSocket, hasBegun, fail } = await begin();
    const socket = await admitted(openSocket());
    for (const id of names('q', 8)) ask(socket, id);
    await hasBegun(...names('q', 4));
    for (const id of names('q', 4)) fail(id);
    await hasBegun(...names('q', 8));
  });
});

describe('A token', () => {
  const list = 'subscription { workstreamStates { __typename } }';
  const refused = [{ extensions: { code: 'TOO_MANY_OPERATIONS' } }];

  it('has at most 1,024 operations under way, over all its sockets and requests, and no other is bounded by that', async () => {
    const { openSocket, post, fake } = await begin();
    const sockets = await Promise.all(names('s', 4).map(() => admitted(openSocket())));
    for (const socket of sockets) for (const id of names('f', 256)) ask(socket, id, list);
    await fake.states.hasOpen(1_024);
    const more = await post(mutation);
    expect(more.errors).toMatchObject(refused);
    expect(more.errors[0]!.message).toContain('End subscriptions or wait for answers');
    expect(fake.calls.filter(({ verb }) => verb === 'create')).toEqual([]);
    const fifth = await admitted(openSocket());
    const answer = answerOf(fifth, 'f');
    ask(fifth, 'f', list);
    expect(await answer).toMatchObject({ payload: { errors: refused } });
    expect((await post(mutation, {}, { authorization: 'Bearer other' })).errors).toEqual([]);
    sockets[0]!.send(JSON.stringify({ id: 'f1', type: 'complete' }));
    await fake.states.hasOpen(1_023);
    // It is told to the socket that it is over, which is when it is.
    await vi.waitFor(async () => expect((await post(mutation)).errors).toEqual([]), { interval: 5 });
  });
});

describe('The commands of one token', () => {
  const stop = `mutation { stopTurn(input: { key: "intent-0001", workstreamId: "${workstreamId('w1')}" }) { __typename } }`;

  it('are not begun all at once: what another token asks meanwhile is answered before the last of a thousand', async () => {
    const { openSocket, post } = await begin();
    const sockets = await Promise.all(names('s', 4).map(() => admitted(openSocket())));
    let answered = 0;
    for (const socket of sockets) {
      socket.on('message', (data: Buffer) => {
        if ((JSON.parse(data.toString()) as Frame).type === 'next') answered += 1;
      });
      for (const id of names('m', 250)) ask(socket, id, stop);
    }
    await vi.waitFor(() => expect(answered).toBeGreaterThan(0), { interval: 1 });
    expect((await post(stop, {}, { authorization: 'Bearer other' })).errors).toEqual([]);
    expect(answered).toBeLessThan(500);
    await vi.waitFor(() => expect(answered).toBe(1_000), { interval: 5, timeout: 10_000 });
  });
});

describe('Stop and decisions', () => {
  const input = `key: "intent-0001", workstreamId: "${workstreamId('w1')}"`;
  const urgent = {
    stopTurn: `mutation { stopTurn(input: { ${input} }) { __typename } }`,
    decideApproval: `mutation { decideApproval(input: { ${input}, cycleId: "c", callId: "d", argumentsHash: "e", verdict: APPROVED }) { __typename } }`,
  };
  const calledLast = async ({ fake }: Awaited<ReturnType<typeof begin>>, count: number): Promise<number> => {
    await vi.waitFor(() => expect(fake.calls).toHaveLength(count), { interval: 5, timeout: 5_000 });
    return fake.calls.findIndex(({ verb }) => verb !== 'create');
  };

  it.each(urgentMutations)(
    'do not stand behind what else came before them on a socket: %s (D-1)',
    async (name) => {
      const server = await begin();
      const socket = await admitted(server.openSocket());
      for (const id of names('m', 200)) ask(socket, id, mutation);
      ask(socket, 'urgent', urgent[name]);
      // Of so many, more than one message may be in what is read at once.
      expect(await calledLast(server, 201)).toBeLessThan(100);
    },
  );

  it.each(urgentMutations)(
    'do not stand behind what else came before them by HTTP: %s (D-1)',
    async (name) => {
      const server = await begin();
      const connection = connect(server.http.port, '127.0.0.1');
      onTestFinished(() => void connection.destroy());
      const text = (query: string): string => {
        const body = JSON.stringify({ query });
        return `POST /graphql HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer good\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
      };
      connection.write([...names('m', 100).map(() => mutation), urgent[name]].map(text).join(''));
      expect(await calledLast(server, 101)).toBeLessThan(50);
    },
  );

  it('are mutations that there are, by these names', () => {
    const fields = Object.keys(schema.getMutationType()!.getFields());
    expect(urgentMutations.filter((name) => !fields.includes(name))).toEqual([]);
  });
});

describe('A request', () => {
  const send = async (head: string, ...parts: readonly string[]) => {
    const { http } = await begin();
    const connection = connect(http.port, '127.0.0.1');
    onTestFinished(() => void connection.destroy());
    let answer = '';
    connection.on('data', (data: Buffer) => (answer += data.toString()));
    connection.write(
      `POST /graphql HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer good\r\ncontent-type: application/json\r\n${head}\r\n\r\n`,
    );
    for (const part of parts) {
      await new Promise((resolve) => setImmediate(resolve));
      connection.write(part);
    }
    await vi.waitFor(() => expect(answer).toContain('\r\n\r\n'), { interval: 5, timeout: 5_000 });
    return answer;
  };
  const body = JSON.stringify({ query: mutation });

  it.each([
    ['with no body at all', ['content-length: 0'], '400 Bad Request'],
    ['in chunks of which there is none', ['transfer-encoding: chunked', '0\r\n\r\n'], '400 Bad Request'],
    [
      'that comes letter by letter',
      [`content-length: ${body.length}`, ...body],
      '{"data":{"createWorkstream":{"__typename":"CreateWorkstreamPayload"}}}',
    ],
    [
      'in chunks of one letter',
      ['transfer-encoding: chunked', ...[...body].map((letter) => `1\r\n${letter}\r\n`), '0\r\n\r\n'],
      '{"data":{"createWorkstream":{"__typename":"CreateWorkstreamPayload"}}}',
    ],
  ] as const)(
    '%s is answered, though it was looked into before its turn',
    async (_, [head, ...parts], answer) => {
      expect(await send(head, ...parts)).toContain(answer);
    },
  );
});

describe('The queries of several tokens', () => {
  it('are worked on five at a time, the tokens in turn', async () => {
    const { openSocket, begun, finish } = await begin();
    const [good, other] = [await admitted(openSocket()), await admitted(openSocket(), 'other')];
    for (const id of names('g', 9)) ask(good, id);
    await command(good, 'm1');
    for (const id of names('o', 3)) ask(other, id);
    await command(other, 'm2');
    expect(begun).toEqual(['g1', 'g2', 'g3', 'g4', 'o1']);
    for (const id of names('g', 4)) {
      const answer = answerOf(good, id);
      finish(id);
      await answer;
      await command(good, `after ${id}`);
    }
    expect(begun.slice(5)).toEqual(['g5', 'o2', 'g6', 'o3']);
  });
});

describe('A query that waits', () => {
  it.each(['is completed', 'loses its socket'])('leaves the line when it %s', async (how) => {
    const { openSocket, begun, hasBegun, finish, log } = await begin();
    const [socket, leaving] = [await admitted(openSocket()), await admitted(openSocket())];
    for (const id of names('q', 4)) ask(socket, id);
    await hasBegun(...names('q', 4));
    ask(leaving, 'left');
    await command(leaving, 'm1');
    ask(socket, 'q5');
    if (how === 'is completed') {
      leaving.send(JSON.stringify({ id: 'left', type: 'complete' }));
      await command(leaving, 'm2');
    } else {
      const gone = new Promise((resolve) => leaving.once('close', resolve));
      leaving.close();
      await gone;
    }
    finish('q1');
    await hasBegun('q5');
    finish('q2');
    await command(socket, 'm3');
    expect(begun).not.toContain('left');
    expect(log).toEqual([]);
  });

  it('leaves the line when its request is cut off', async () => {
    const { http, post, openSocket, begun, hasBegun, finishAll, gate, log } = await begin();
    const socket = await admitted(openSocket());
    for (const id of names('q', 4)) ask(socket, id);
    await hasBegun(...names('q', 4));
    const req = openRequest(http.port, query('left'));
    // Of the socket, and of the request.
    await vi.waitFor(() => expect(gate.watching).toBe(2));
    await post(mutation);
    req.destroy();
    await vi.waitFor(() => expect(gate.watching).toBe(1));
    const last = post(query('now'));
    finishAll();
    await last;
    expect(begun).toEqual([...names('q', 4), 'now']);
    expect(log).toEqual([]);
  });

  it('is not begun any more when its token is revoked', async () => {
    const { post, begun, hasBegun, gate, finishAll } = await begin();
    const running = names('q', 4).map((id) => post(query(id)));
    await hasBegun(...names('q', 4));
    const waiting = post(query('q5'));
    await vi.waitFor(() => expect(gate.watching).toBe(5));
    await post(mutation);
    gate.revoke('good');
    expect((await waiting).errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }]);
    finishAll();
    await Promise.all(running);
    expect(begun).toHaveLength(4);
  });
});

describe('Answers that are not read', () => {
  const long = 'queue { items { text } }';

  /** As `begin`; what is asked is answered with more than a connection holds of itself. */
  async function beginLong(changes: Partial<HttpDeps> = {}) {
    const server = await begin(changes);
    const entries = sampleEntries.map((entry) =>
      entry.kind === 'QUEUE'
        ? {
            ...entry,
            queue: { held: true, items: [{ ...entry.queue.items[0]!, text: 'x'.repeat(16_000_000) }] },
          }
        : entry,
    );
    server.fake.workstreams.set('w1', { id: 'w1', entries, durableThrough: entries.length });
    return server;
  }

  it('of two tokens that take every place they can have keep no third one waiting', async () => {
    const { openSocket, post, hasBegun } = await beginLong();
    for (const token of ['good', 'other']) {
      const socket = await admitted(openSocket(), token);
      socket.pause();
      for (const id of names(`now-${token}`, 4)) ask(socket, id, query(id, long));
    }
    await hasBegun(...names('now-good', 4), ...names('now-other', 4));
    expect((await post(query('now'), {}, { authorization: 'Bearer third' })).errors).toEqual([]);
  });

  it('on a socket keep others of their token waiting, and no other token', async () => {
    const { openSocket, post, begun, hasBegun } = await beginLong();
    const socket = await admitted(openSocket());
    socket.pause();
    for (const id of names('now', 4)) ask(socket, id, query(id, long));
    await hasBegun(...names('now', 4));
    const waiting = post(query('now5'));
    for (const id of names('now-other', 6))
      expect((await post(query(id), {}, { authorization: 'Bearer other' })).errors).toEqual([]);
    await post(mutation);
    expect(begun).not.toContain('now5');
    socket.resume();
    expect((await waiting).errors).toEqual([]);
  });

  it('to a request are cut off after a while, and make room', async () => {
    const { http, post, hasBegun } = await beginLong({ unreadMs: 100 });
    const unread = names('now', 4).map((id) => openRequest(http.port, query(id, long)));
    const cut = unread.map(
      (req) => new Promise((resolve) => req.on('response', (res) => res.once('error', resolve))),
    );
    await hasBegun(...names('now', 4));
    expect((await post(query('now5'))).errors).toEqual([]);
    for (const req of unread) req.destroy();
    await Promise.all(cut);
  });
});

describe('A command', () => {
  const reading = (id: string): string =>
    `mutation { createWorkstream(input: { key: "intent-${id}" }) { ... on CreateWorkstreamPayload { workstreamId workstream { id } } } }`;

  it('is carried out at once; what its payload reads waits as a query does', async () => {
    const { openSocket, begun, hasBegun, finish, fake } = await begin();
    const socket = await admitted(openSocket());
    for (const id of names('q', 4)) ask(socket, id);
    await hasBegun(...names('q', 4));
    ask(socket, 'm1', reading('0001'));
    await command(socket, 'm2');
    expect(fake.calls.map(({ verb }) => verb)).toEqual(['create', 'create']);
    expect(begun).toHaveLength(4);
    finish('q1');
    await hasBegun('w1');
    // It has a place then, until it is answered.
    ask(socket, 'q5');
    await command(socket, 'm3');
    expect(begun).not.toContain('q5');
    const answer = answerOf(socket, 'm1');
    finish('w1');
    expect(await answer).toMatchObject({ payload: { data: { createWorkstream: { workstream: {} } } } });
    await hasBegun('q5');
  });

  it.each([
    ['waits with a large answer, though nothing is read for it', 1_000_000],
    ['never waits with a small one', 10_000],
  ])('%s', async (_, length) => {
    const { openSocket, hasBegun, finish, fake } = await begin();
    const item = sampleEntries.flatMap((entry) => (entry.kind === 'QUEUE' ? entry.queue.items : []))[0]!;
    Object.assign(fake.services.messages, {
      withdrawQueued: () =>
        Promise.resolve({
          type: 'Accepted',
          durability: 'DURABLE',
          queue: { held: true, items: [{ ...item, text: 'x'.repeat(length) }] },
        } as const),
    });
    const socket = await admitted(openSocket());
    for (const id of names('q', 4)) ask(socket, id);
    await hasBegun(...names('q', 4));
    const answer = answerOf(socket, 'm1');
    let answered = false;
    void answer.then(() => (answered = true));
    ask(
      socket,
      'm1',
      `mutation { withdrawQueuedMessage(input: { key: "intent-0001", workstreamId: "${workstreamId('w1')}", messageId: "m" }) { ... on WithdrawQueuedMessagePayload { queue { items { text } } } } }`,
    );
    await command(socket, 'm2');
    expect(answered).toBe(length < 32 * 1024);
    finish('q1');
    await answer;
  });
});

describe('A command after another one', () => {
  /** The first is read back, the second waits until it is let. */
  const twoCommands = (id: string, selection: string): string =>
    `mutation { createWorkstream(input: { key: "intent-${id}" }) { ... on CreateWorkstreamPayload { workstream { ${selection} } } } closeWorkstream(input: { key: "intent-${id}", workstreamId: "${workstreamId('w1')}" }) { __typename } }`;

  async function beginTwo(length: number) {
    const server = await begin();
    const closing: (() => void)[] = [];
    const { get } = server.fake.services.workstreams;
    const entries = sampleEntries.map((entry) =>
      entry.kind === 'QUEUE'
        ? {
            ...entry,
            queue: { held: true, items: [{ ...entry.queue.items[0]!, text: 'x'.repeat(length) }] },
          }
        : entry,
    );
    server.fake.workstreams.set('w1', { id: 'w1', entries, durableThrough: entries.length });
    Object.assign(server.fake.services.workstreams, {
      get: () => get('now'),
      close: () =>
        new Promise((resolve) =>
          closing.push(() => resolve({ type: 'Accepted', durability: 'DURABLE' } as const)),
        ),
    });
    return { ...server, closing };
  }

  it('is waited for in no turn: many of two tokens keep nobody waiting', async () => {
    const { post, closing } = await beginTwo(5);
    const commands = ['good', 'other'].flatMap((token) =>
      names(token, 6).map((id) => post(twoCommands(id, 'id'), {}, { authorization: `Bearer ${token}` })),
    );
    await vi.waitFor(() => expect(closing).toHaveLength(12), { interval: 5, timeout: 5_000 });
    for (const token of ['good', 'other', 'third'])
      expect((await post(query('now'), {}, { authorization: `Bearer ${token}` })).errors).toEqual([]);
    for (const close of closing) close();
    for (const { errors } of await Promise.all(commands)) expect(errors).toEqual([]);
  });

  it('is waited for with a large payload in memory by four of a token, who keep no other token waiting', async () => {
    const { post, closing } = await beginTwo(100_000);
    const long = 'queue { items { text } }';
    const commands = ['good', 'other'].flatMap((token) =>
      names(token, 6).map((id) => post(twoCommands(id, long), {}, { authorization: `Bearer ${token}` })),
    );
    await vi.waitFor(() => expect(closing).toHaveLength(8), { interval: 5, timeout: 5_000 });
    expect((await post(query('now'), {}, { authorization: 'Bearer third' })).errors).toEqual([]);
    expect(closing).toHaveLength(8);
    const over = Promise.all(commands);
    await vi.waitFor(() => (closing.forEach((close) => close()), expect(closing).toHaveLength(12)), {
      interval: 5,
      timeout: 5_000,
    });
    closing.forEach((close) => close());
    for (const { errors } of await over) expect(errors).toEqual([]);
  });
});

describe('A query that asks for more than the database has', () => {
  const trial = (name: string): string =>
    `{ tryWatchCondition(input: { expression: "changed", watchId: "${name}" }) { verdict } }`;

  it('has no turn meanwhile, however many two tokens ask, and reads in its turn again (broke: conditions that were tried kept everybody waiting)', async () => {
    const { fake, post, openSocket } = await begin();
    const judged: (() => void)[] = [];
    const read: string[] = [];
    Object.assign(fake.services.watches, {
      tryCondition: async ({ watchId }: { readonly watchId: string }, { aside }: Reading) => {
        await aside(() => new Promise<void>((resolve) => judged.push(resolve)));
        read.push(watchId);
        return { soundness: 'SOUND', line: null, column: null, verdict: 'HOLDS', message: null };
      },
    });
    const both = await Promise.all(['good', 'other'].map((token) => admitted(openSocket(), token)));
    for (const socket of both) for (const id of names('t', 6)) ask(socket, id, trial(id));
    // Four of each token have a place; of all of them together five would have worked.
    await vi.waitFor(() => expect(judged).toHaveLength(8), { interval: 5, timeout: 5_000 });
    expect((await post(query('now'), {}, { authorization: 'Bearer third' })).errors).toEqual([]);
    expect(read).toEqual([]);
    const answers = both.map((socket) => answerOf(socket, 't6'));
    await vi.waitFor(
      () => {
        for (const judge of judged.splice(0)) judge();
        expect(read).toHaveLength(12);
      },
      { interval: 5, timeout: 5_000 },
    );
    for (const answer of answers)
      expect(await answer).toMatchObject({ payload: { data: { tryWatchCondition: { verdict: 'HOLDS' } } } });
  });

  it('and whose caller leaves reads nothing more', async () => {
    const { fake, post, openSocket, log } = await begin();
    const judged: (() => void)[] = [];
    const read: string[] = [];
    Object.assign(fake.services.watches, {
      tryCondition: async (_: unknown, { aside }: Reading) => {
        await aside(() => new Promise<void>((resolve) => judged.push(resolve)));
        read.push('on');
      },
    });
    const socket = await admitted(openSocket());
    ask(socket, 't1', trial('t1'));
    await vi.waitFor(() => expect(judged).toHaveLength(1), { interval: 1 });
    const gone = new Promise((resolve) => socket.once('close', resolve));
    socket.close();
    await gone;
    judged[0]!();
    expect((await post(query('now'))).errors).toEqual([]);
    expect(read).toEqual([]);
    expect(log).toEqual([]);
  });
});

describe('A query that has failed', () => {
  it('reads nothing more for those of its fields that were left behind', async () => {
    const { post, begun, finish } = await begin();
    const { errors } = await post(
      `{ a: workstream(id: "${workstreamId('q1')}") { id } b: workstream(id: "${workstreamId('q2')}") { id } workstreams(first: 1000) { totalCount } }`,
    );
    expect(errors).toHaveLength(1);
    expect(begun).toEqual(['q1']);
    finish('q1');
    expect((await post(query('now'))).errors).toEqual([]);
    expect(begun).toEqual(['q1', 'now']);
  });
});

describe('Items of subscriptions', () => {
  const feed = `subscription { workstreamFeed(id: "${workstreamId('w1')}") { ... on EntryAdmitted { entry { ... on UserEntry { text } } } } }`;
  const said = sampleEntries.flatMap((entry) => (entry.kind === 'USER' ? [entry] : []))[0]!;

  /** As `begin`; `say` pushes a message of this length to all who follow. */
  async function beginFeed(changes: Partial<HttpDeps> = {}) {
    const server = await begin(changes);
    server.fake.workstreams.set('w1', { id: 'w1', entries: sampleEntries, durableThrough: 0 });
    const say = (length: number): void =>
      server.fake.feed.push({
        item: { type: 'EntryAdmitted', entry: { ...said, text: 'x'.repeat(length) }, durable: true },
        cursor: 'i1.3.13',
      });
    return { ...server, say };
  }
  const large = 300_000;
  /** More than a connection holds of itself. */
  const huge = 16_000_000;

  it('that are large wait as queries do, those that are small do not', async () => {
    const { openSocket, hasBegun, finish, fake, say } = await beginFeed();
    const [socket, follower] = [await admitted(openSocket()), await admitted(openSocket())];
    for (const id of names('q', 4)) ask(socket, id);
    await hasBegun(...names('q', 4));
    ask(follower, 'feed', feed);
    await fake.feed.hasOpen(1);
    const small = answerOf(follower, 'feed');
    say(5);
    expect(await small).toMatchObject({
      payload: { data: { workstreamFeed: { entry: { text: 'xxxxx' } } } },
    });
    let told = false;
    const next = answerOf(follower, 'feed').finally(() => (told = true));
    say(large);
    await command(follower, 'm1');
    expect(told).toBe(false);
    finish('q1');
    await next;
    // And gives its place back.
    ask(socket, 'q5');
    await hasBegun('q5');
  });

  it('that nobody waits for any more leave the line', async () => {
    const { openSocket, begun, hasBegun, finish, fake, say, log } = await beginFeed();
    const [socket, follower] = [await admitted(openSocket()), await admitted(openSocket())];
    for (const id of names('q', 4)) ask(socket, id);
    await hasBegun(...names('q', 4));
    ask(follower, 'feed', feed);
    await fake.feed.hasOpen(1);
    say(large);
    await command(follower, 'm1');
    follower.send(JSON.stringify({ id: 'feed', type: 'complete' }));
    await fake.feed.hasOpen(0);
    ask(socket, 'q5');
    ask(socket, 'q6');
    finish('q1');
    await hasBegun('q5');
    finish('q2');
    await hasBegun('q6');
    await command(follower, 'm2');
    expect(begun).toEqual([...names('q', 6)]);
    expect(log).toEqual([]);
  });

  it('that are not read on a socket keep large answers of their token waiting, no command and no other token', async () => {
    const { openSocket, post, begun, fake, say } = await beginFeed();
    const [socket, other] = [await admitted(openSocket()), await admitted(openSocket(), 'other')];
    for (const id of names('feed', 6)) ask(socket, id, feed);
    ask(other, 'feed', feed);
    await fake.feed.hasOpen(7);
    socket.pause();
    const told = answerOf(other, 'feed');
    say(huge);
    await told;
    const waiting = post(query('now'));
    await post(mutation);
    expect((await post(query('now-other'), {}, { authorization: 'Bearer other' })).errors).toEqual([]);
    expect(begun).toEqual(['now-other']);
    socket.resume();
    expect((await waiting).errors).toEqual([]);
  });

  it('that are not read by two tokens keep no third one waiting', async () => {
    const { openSocket, post, fake, say } = await beginFeed();
    for (const token of ['good', 'other']) {
      const socket = await admitted(openSocket(), token);
      for (const id of names('feed', 4)) ask(socket, id, feed);
      socket.pause();
    }
    await fake.feed.hasOpen(8);
    say(huge);
    expect((await post(query('now'), {}, { authorization: 'Bearer third' })).errors).toEqual([]);
    const third = await admitted(openSocket(), 'third');
    ask(third, 'feed', feed);
    await fake.feed.hasOpen(9);
    const told = answerOf(third, 'feed');
    say(large);
    await told;
  });

  it('that are not read are in memory also when nobody waits for more of them: they keep their places', async () => {
    const { openSocket, post, begun, fake, say, gate } = await beginFeed();
    const socket = await admitted(openSocket());
    for (const id of names('feed', 4)) ask(socket, id, feed);
    await fake.feed.hasOpen(4);
    socket.pause();
    say(huge);
    const other = await admitted(openSocket());
    await command(other, 'm1');
    for (const id of names('feed', 4)) socket.send(JSON.stringify({ id, type: 'complete' }));
    await fake.feed.hasOpen(0);
    const waiting = post(query('now'));
    // Of the sockets, and of the request.
    await vi.waitFor(() => expect(gate.watching).toBe(3));
    await post(mutation);
    expect(begun).toEqual([]);
    socket.resume();
    expect((await waiting).errors).toEqual([]);
  });

  it('come as server-sent events one after another, also when all of them are small', async () => {
    const { http, fake, say } = await beginFeed({ unreadMs: 100 });
    const res = await new Promise<IncomingMessage>((resolve) =>
      openRequest(http.port, feed, { accept: 'text/event-stream' }).once('response', resolve),
    );
    let got = '';
    res.on('data', (part: Buffer) => (got += part.toString()));
    await fake.feed.hasOpen(1);
    for (const length of [5, 6, 7]) {
      say(length);
      await vi.waitFor(() => expect(got).toContain(`"${'x'.repeat(length)}"`), { interval: 5 });
    }
    res.destroy();
    await fake.feed.hasOpen(0);
  });

  it('that are not read as server-sent events are cut off after a while, and make room', async () => {
    const { http, post, fake, say } = await beginFeed({ unreadMs: 100 });
    const streams = await Promise.all(
      names('s', 5).map(
        () =>
          new Promise<IncomingMessage>((resolve) =>
            openRequest(http.port, feed, { accept: 'text/event-stream' }).once('response', resolve),
          ),
      ),
    );
    await fake.feed.hasOpen(5);
    for (let i = 0; i < 3; i++) say(huge);
    await fake.feed.hasOpen(0);
    expect((await post(query('now'))).errors).toEqual([]);
    for (const res of streams) res.on('error', () => undefined).destroy();
  });

  it('come as server-sent events to whoever reads them, however long they are and however long nothing is said between', async () => {
    const { http, fake, say } = await beginFeed({ unreadMs: 100 });
    const res = await new Promise<IncomingMessage>((resolve) =>
      openRequest(http.port, feed, { accept: 'text/event-stream' }).once('response', resolve),
    );
    let got = 0;
    res.on('data', (part: Buffer) => (got += part.length));
    await fake.feed.hasOpen(1);
    for (const count of [1, 2, 3]) {
      say(huge);
      const so = got;
      await vi.waitFor(() => expect(got).toBeGreaterThan(count * huge), { interval: 5, timeout: 10_000 });
      // Two of the pings that Yoga sends, so longer than an unread item may take.
      await vi.waitFor(() => expect(got).toBeGreaterThanOrEqual(so + huge + 6), { timeout: 10_000 });
    }
    res.destroy();
    await fake.feed.hasOpen(0);
  });
});

describe('What subscriptions read', () => {
  const feed = (id: string): string =>
    `subscription { workstreamFeed(id: "${workstreamId(id)}") { __typename ... on EntryAdmitted { entry { ... on UserEntry { text } } } } }`;
  const said = sampleEntries.flatMap((entry) => (entry.kind === 'USER' ? [entry] : []))[0]!;

  /** As `begin`; a feed reads until it is let, then gives an entry of this length, unless it is to give nothing. */
  async function beginReading(length: number) {
    const server = await begin();
    Object.assign(server.fake.services.feed, {
      async *follow(id: string, _after: string | null, signal: AbortSignal, reading: Reading) {
        await reading.ask(
          () => server.fake.services.workstreams.get(id),
          () => length > 0,
        );
        if (length > 0)
          yield {
            item: { type: 'EntryAdmitted', entry: { ...said, text: 'x'.repeat(length) }, durable: true },
            cursor: 'i1.3.13',
          };
        if (length > 0) await reading.ask(() => server.fake.services.workstreams.get(`next ${id}`));
        reading.letGo();
        yield* server.fake.feed.follow(signal);
      },
    });
    Object.assign(server.fake.services.workstreams, {
      async *states(signal: AbortSignal, reading: Reading) {
        await reading.ask(() => server.fake.services.workstreams.get('list'));
        yield* server.fake.states.follow(signal);
      },
    });
    return server;
  }

  it('waits in the line of the queries: however many feeds a token has, another one is served in its turn', async () => {
    const { openSocket, begun, hasBegun, finish, fake } = await beginReading(0);
    const [many, one] = [await admitted(openSocket()), await admitted(openSocket(), 'other')];
    for (const id of names('f', 60)) ask(many, id, feed(id));
    await hasBegun(...names('f', 4));
    await command(many, 'm1');
    expect(begun).toEqual(names('f', 4));
    ask(one, 'o1', feed('o1'));
    await hasBegun('o1');
    ask(one, 'o2', 'subscription { workstreamStates { __typename } }');
    await command(one, 'm2');
    expect(begun).not.toContain('list');
    // Who has read has no place any more, though it goes on.
    finish('f1');
    await hasBegun('f5');
    expect(begun).not.toContain('list');
    finish('f2');
    await hasBegun('list');
    await fake.feed.hasOpen(2);
  });

  it('is read to its end by those who have begun, before others of their token begin', async () => {
    const { openSocket, begun, hasBegun, finish, fake } = await beginReading(300_000);
    const socket = await admitted(openSocket());
    for (const id of names('now', 5)) ask(socket, id, feed(id));
    await hasBegun(...names('next now', 4));
    await command(socket, 'm1');
    expect(begun).not.toContain('now5');
    finish('next now1');
    await hasBegun('now5');
    await fake.feed.hasOpen(1);
  });

  it('is in memory for four of a token at a time, until it was sent or they leave', async () => {
    const { openSocket, begun, hasBegun } = await beginReading(16_000_000);
    const [unread, waiting] = [await admitted(openSocket()), await admitted(openSocket())];
    for (const id of names('now', 4)) ask(unread, id, feed(id));
    unread.pause();
    await hasBegun(...names('now', 4));
    for (const id of ['now5', 'now6']) ask(waiting, id, feed(id));
    await command(waiting, 'm1');
    const other = await admitted(openSocket(), 'other');
    const told = answerOf(other, 'now7');
    ask(other, 'now7', feed('now7'));
    await told;
    expect(begun).toEqual(expect.arrayContaining([...names('now', 4), 'now7']));
    expect(begun).not.toContain('now5');
    unread.terminate();
    await hasBegun('now5', 'now6');
  });
});

describe('Answers behind another one on their connection', () => {
  it('are cut off with it after a while, and make room', async () => {
    const { http, post, hasBegun, fake, gate } = await begin({ unreadMs: 100 });
    const socket = connect(http.port, '127.0.0.1');
    const over = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    const streams = new Promise<void>((resolve) => socket.once('data', () => resolve()));
    socket.on('error', () => undefined);
    socket.write(raw(http.port, 'subscription { workstreamStates { __typename } }', 'text/event-stream'));
    await streams;
    for (const id of names('now', 4)) socket.write(raw(http.port, query(id)));
    await hasBegun(...names('now', 4));
    expect((await post(query('now5'))).errors).toEqual([]);
    await over;
    await fake.states.hasOpen(0);
    await vi.waitFor(() => expect(gate.watching).toBe(0));
  });
});

/** A request as text, for a connection that is used for several at once. */
function raw(port: number, text: string, accept = 'application/json'): string {
  const body = JSON.stringify({ query: text });
  return [
    'POST /graphql HTTP/1.1',
    `host: 127.0.0.1:${port}`,
    'authorization: Bearer good',
    'content-type: application/json',
    `accept: ${accept}`,
    `content-length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

/** A request whose answer is not read. */
function openRequest(port: number, text: string, headers: Record<string, string> = {}) {
  const req = request({
    host: '127.0.0.1',
    port,
    method: 'POST',
    path: '/graphql',
    headers: { 'content-type': 'application/json', authorization: 'Bearer good', ...headers },
    agent: false,
  });
  req.on('error', () => undefined);
  req.end(JSON.stringify({ query: text }));
  return req;
}
