/**
 * Owns: a transport that executes the real schema in this process, over services a test gives, and can be cut.
 * Every value still passes through JSON, as it would over a socket.
 */
import { execute, subscribe, type DocumentNode, type ExecutionResult } from 'graphql';
import {
  failureOfErrors,
  networkFailure,
  type Answer,
  type Failure,
} from '../../../src/client-kit/failure.ts';
import type { Pace } from '../../../src/client-kit/persist.ts';
import type { Transport } from '../../../src/client-kit/transport.ts';
import type { Context } from '../../../src/context.ts';
import type { FeedEvent } from '../../../src/model/index.ts';
import { schema } from '../../../src/schema.ts';
import type { Services } from '../../../src/services.ts';
import type { Subscriber, World } from './world.ts';

const overTheWire = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** Only what a test gives; anything else it does not call. */
export type SomeServices = { readonly [K in keyof Services]?: Partial<Services[K]> };

export interface InProcess extends Transport {
  /** Ends all subscriptions as a lost connection does. */
  cut(): void;
  /** While true, nothing gets through. */
  down: boolean;
  /** What `isDown` says. */
  knownDown: boolean;
  /** The socket is up again: everything gets through, and who wanted to hear of that does. */
  connect(): void;
  requests: number;
}

export function createInProcess(services: SomeServices): InProcess {
  const contextValue: Context = {
    services: services as Services,
    viewer: { id: 'token-1', name: 'test', tokenId: 'token-1' },
    caller: new AbortController().signal,
  };
  const open = new Set<(failure: Failure) => void>();
  const listeners = new Set<() => void>();
  const lost = networkFailure('The connection to the server was lost.');

  const transport: InProcess = {
    down: false,
    knownDown: false,
    requests: 0,
    async request<R, V>(document: unknown, variables: V) {
      transport.requests += 1;
      if (transport.down) return { ok: false, failure: lost };
      const result = await execute({
        schema,
        document: document as DocumentNode,
        variableValues: overTheWire(variables) as Record<string, unknown>,
        contextValue,
      });
      return overTheWire(answerOf<R>(result));
    },
    subscribe(document, variables, sink) {
      let ended = false;
      const end = (failure: Failure | null) => {
        if (ended) return;
        ended = true;
        open.delete(end);
        abort.abort();
        sink.end(failure);
      };
      const abort = new AbortController();
      open.add(end);
      const run = async () => {
        await Promise.resolve();
        if (transport.down) {
          end(lost);
          return;
        }
        const results = await subscribe({
          schema,
          document,
          variableValues: overTheWire(variables) as Record<string, unknown>,
          contextValue,
        });
        if (!(Symbol.asyncIterator in results)) {
          end(failureOfErrors(results.errors));
          return;
        }
        abort.signal.addEventListener('abort', () => void results.return(undefined));
        for await (const result of results) {
          if (ended) break;
          const answer = answerOf<never>(result);
          if (answer.ok) sink.next(overTheWire(answer.data));
          else end(answer.failure);
        }
        end(null);
      };
      run().catch((error: unknown) => {
        end(networkFailure(String(error)));
      });
      return () => {
        ended = true;
        open.delete(end);
        abort.abort();
      };
    },
    onConnected(callback) {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
    isDown: () => transport.knownDown,
    connect() {
      transport.down = false;
      transport.knownDown = false;
      for (const listener of listeners) listener();
    },
    dispose: () => undefined,
    cut() {
      for (const end of [...open]) end(lost);
    },
  };
  return transport;
}

function answerOf<R>(result: ExecutionResult): Answer<R> {
  return result.errors
    ? { ok: false, failure: failureOfErrors(result.errors) }
    : { ok: true, data: result.data as R };
}

/** What the kit asks of the server to follow the world's one workstream. */
export const servicesOf = (world: World): SomeServices => ({
  workstreams: { get: (id) => Promise.resolve(id === 'w1' ? world.model(id) : null) },
  history: { page: (_id, range) => Promise.resolve(world.page(range)) },
  feed: {
    follow: (_id, after, signal) => streamOf(signal, (subscriber) => world.subscribe(after, subscriber)),
  },
});

async function* streamOf(
  signal: AbortSignal,
  attach: (subscriber: Subscriber) => () => void,
): AsyncGenerator<FeedEvent> {
  const waiting: FeedEvent[] = [];
  let wake: () => void = () => undefined;
  let ended = false;
  const detach = attach({
    send: (event) => {
      waiting.push(event);
      wake();
    },
    end: () => {
      ended = true;
      wake();
    },
  });
  const stop = () => {
    ended = true;
    wake();
  };
  signal.addEventListener('abort', stop);
  try {
    for (;;) {
      const event = waiting.shift();
      if (event) yield event;
      else if (ended) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    signal.removeEventListener('abort', stop);
    detach();
  }
}

/** Pauses that take one turn of the event loop; `paused` lists how long each would have been. */
export function hastyPace(): Pace & { readonly paused: readonly number[] } {
  const paused: number[] = [];
  return {
    paused,
    now: () => 0,
    random: () => 1,
    pause: (ms) => {
      paused.push(ms);
      return new Promise((resolve) => setImmediate(resolve));
    },
  };
}

/** Waits for a fact; a fact that does not come fails with `what`. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  for (let turns = 0; turns < 20_000; turns += 1) {
    if (holds()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`never came true: ${what}`);
}
