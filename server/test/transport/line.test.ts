/** That queries wait for one another, and nothing else does: however many a caller sends, the others are answered. */
import { request } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import type { WebSocket } from 'ws';
import { sampleEntries } from '../../../schema/test/sample-entries.ts';
import type { HttpDeps } from '../../src/transport/http.ts';
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

  it('are refused over HTTP when 256 wait', async () => {
    const { post, begun, finishAll } = await begin();
    let refusals = 0;
    const answers = names('q', 4 + 256 + 1).map(async (id) => {
      const { errors } = await post(query(id));
      if (errors.length === 0) return;
      expect(errors).toMatchObject([{ extensions: { code: 'TOO_MANY_OPERATIONS' } }]);
      refusals += 1;
    });
    await vi.waitFor(() => expect(refusals).toBe(1), { interval: 5, timeout: 10_000 });
    expect(begun).toHaveLength(4);
    const over = Promise.all(answers);
    await vi.waitFor(() => (finishAll(), expect(begun).toHaveLength(260)), { interval: 5, timeout: 10_000 });
    finishAll();
    await over;
    expect(refusals).toBe(1);
  });
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
    expect(begun.slice(5)).toEqual(['o2', 'g5', 'o3', 'g6']);
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

/** A request whose answer is not read. */
function openRequest(port: number, text: string) {
  const req = request({
    host: '127.0.0.1',
    port,
    method: 'POST',
    path: '/graphql',
    headers: { 'content-type': 'application/json', authorization: 'Bearer good' },
    agent: false,
  });
  req.on('error', () => undefined);
  req.end(JSON.stringify({ query: text }));
  return req;
}
