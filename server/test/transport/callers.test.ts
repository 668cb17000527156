/** Who made an operation and does not wait for its answer any more: the service hears of it (D-20). */
import { request } from 'node:http';
import type { Services } from 'schema/services';
import { describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { createFakeServices } from '../support/fake-services.ts';
import { serve, workstreamId, type Frame } from './harness.ts';

const create = /* GraphQL */ `
  mutation ($key: IdempotencyKey!) {
    createWorkstream(input: { key: $key }) {
      __typename
    }
  }
`;
const fork = /* GraphQL */ `
  mutation ($key: IdempotencyKey!, $id: ID!) {
    forkWorkstream(input: { key: $key, workstreamId: $id }) {
      __typename
    }
  }
`;
const variables = { key: 'intent-0001', id: workstreamId('w1') };
const accepted = { type: 'Accepted', durability: 'DURABLE', workstreamId: 'w1' } as const;

/** A server whose creations and forks go on until they are let, or nobody waits for them. */
async function begin() {
  const { services } = createFakeServices();
  let asked = (_caller: AbortSignal): void => undefined;
  const caller = new Promise<AbortSignal>((resolve) => (asked = resolve));
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const work = async (signal: AbortSignal): Promise<typeof accepted> => {
    asked(signal);
    await Promise.race([finished, aborted(signal)]);
    signal.throwIfAborted();
    return accepted;
  };
  const slow: Services = {
    ...services,
    workstreams: {
      ...services.workstreams,
      create: (_by, _input, signal) => work(signal),
      fork: (_by, _input, signal) => work(signal),
    },
  };
  return { ...(await serve({ services: slow })), caller, finish };
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** A socket that was let in. */
async function admitted(socket: WebSocket): Promise<WebSocket> {
  await new Promise((resolve) => socket.once('open', resolve));
  socket.send(JSON.stringify({ type: 'connection_init', payload: { token: 'good' } }));
  await new Promise((resolve) => socket.once('message', resolve));
  return socket;
}

const subscribe = (socket: WebSocket, id: string, query: string): void =>
  socket.send(JSON.stringify({ id, type: 'subscribe', payload: { query, variables } }));

describe.each([
  ['create', create],
  ['fork', fork],
])('a %s', (_, query) => {
  it('whose request is cut off hears that its caller is gone, and is no fault', async () => {
    const { http, caller, log, post } = await begin();
    const req = request({
      host: '127.0.0.1',
      port: http.port,
      method: 'POST',
      path: '/graphql',
      headers: { 'content-type': 'application/json', authorization: 'Bearer good' },
    });
    req.on('error', () => undefined);
    req.end(JSON.stringify({ query, variables }));
    const signal = await caller;
    expect(signal.aborted).toBe(false);
    req.destroy();
    await aborted(signal);
    // The server goes on, and has nothing to say of it.
    expect((await post('{ __typename }')).status).toBe(200);
    expect(log.filter((line) => line.level === 'error')).toEqual([]);
  });

  it('whose socket closes hears that its caller is gone', async () => {
    const { openSocket, caller, log, post } = await begin();
    const socket = await admitted(openSocket());
    subscribe(socket, '1', query);
    const signal = await caller;
    socket.terminate();
    await aborted(signal);
    expect((await post('{ __typename }')).status).toBe(200);
    expect(log.filter((line) => line.level === 'error')).toEqual([]);
  });

  it('whose client completes it hears that its caller is gone; others on the socket go on', async () => {
    const { openSocket, caller } = await begin();
    const socket = await admitted(openSocket());
    subscribe(socket, '1', query);
    const signal = await caller;
    socket.send(JSON.stringify({ id: '2', type: 'subscribe', payload: { query: '{ __typename }' } }));
    await new Promise<void>((resolve) => {
      socket.on('message', (data: Buffer) => {
        const frame = JSON.parse(data.toString()) as Frame;
        if (frame.id === '2' && frame.type === 'complete') resolve();
      });
    });
    expect(signal.aborted).toBe(false);
    socket.send(JSON.stringify({ id: '1', type: 'complete' }));
    await aborted(signal);
    expect(socket.readyState).toBe(socket.OPEN);
  });

  it('that is answered was waited for to its end', async () => {
    const { post, caller, finish } = await begin();
    const answering = post(query, variables);
    const signal = await caller;
    finish();
    expect((await answering).errors).toEqual([]);
    expect(signal.aborted).toBe(false);
  });
});
