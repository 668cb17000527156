/**
 * Owns: GraphQL over WebSocket (subprotocol graphql-transport-ws): who may open a socket, what it may carry, how it ends.
 *
 * Close codes: 4401 no valid token, or no longer · 1012 the server restarts, reconnect · 1001 the server goes away ·
 * 1013 the database does not answer, try later · 1009 a message over 4 MB. Of these clients give up only on 4401.
 *
 * Invariants: a socket that is gone leaves nothing running; nothing begins on one whose token was revoked, which closes
 * it; a socket has at most twice as many operations unfinished as it may carry, whoever still waits for them; the next
 * query of a token begins when an answer has been written, not when it has been put into a buffer; a subscription takes
 * its next item then, too.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  getOperationAST,
  GraphQLError,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLSchema,
} from 'graphql';
import { CloseCode, handleProtocols, makeServer, type ConnectionInitMessage } from 'graphql-ws';
import { hasMoreValues, operationLimits } from 'schema';
import type { Access, Services } from 'schema/services';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Log } from '../ports/log.ts';
import { admit, notAdmitted, tokenOf, type Admission } from './access.ts';
import type { Asked } from './answers.ts';
import { callerGone, isStorageUnavailable, maxBodyBytes, type Faults } from './faults.ts';
import type { GraphQLEngine } from './graphql.ts';
import type { Turns } from './line.ts';
import { isUrgent } from './urgent.ts';

export interface Sockets {
  /** Takes over an upgrade request that was found allowed. */
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Closes all sockets with this code; those that do not answer within a second are cut. */
  close(code: number, reason: string): Promise<void>;
}

/** One operation whose work is not over. */
interface Work {
  readonly id: string;
  /** Aborted when nobody waits for it any more. */
  readonly caller: AbortController;
}
type State = {
  readonly socket: WebSocket;
  admission?: Admission;
  readonly running: Set<Work>;
  /** What is to be told that an operation was answered, by its payload: ids come again. */
  readonly answered: Map<object, () => void>;
  /** Which operations somebody waits for, by their ids; as graphql-ws counts them. */
  awaited?: Readonly<Record<string, unknown>>;
} & Record<PropertyKey, unknown>;
/** What Yoga calls an enveloped engine: its plugins around GraphQL, for one operation. Yoga types it loosely. */
interface Engine {
  readonly schema: GraphQLSchema;
  readonly parse: (source: string) => DocumentNode;
  readonly validate: (schema: GraphQLSchema, document: DocumentNode) => readonly GraphQLError[];
  readonly contextFactory: () => unknown;
  readonly execute: (args: ExecutionArgs) => unknown;
  readonly subscribe: (args: ExecutionArgs) => unknown;
}

/** What `onSubscribe` hands `execute` and `subscribe`: graphql-ws passes it on as the root value. */
interface Operation {
  readonly engine: Engine;
  /** Its work is over. */
  readonly end: () => void;
}

/** Most operations, subscriptions included, that a client waits for at once on one socket. */
const maxOperations = 256;
/** Most that are under way, with those it has left: it may leave all and begin as many others in one breath. */
const maxUnfinished = 2 * maxOperations;
const tokenRevoked = 'The token was revoked.';
/** Between two pings of a socket. */
const beatMs = 12_000;

export function serveSockets(deps: {
  readonly graphql: GraphQLEngine;
  readonly services: Services;
  readonly access: Access;
  readonly faults: Faults;
  readonly log: Log;
  readonly turn: Turns;
}): Sockets {
  const { graphql, services, access, faults, log, turn } = deps;
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: maxBodyBytes,
    perMessageDeflate: false,
    handleProtocols: (protocols) => handleProtocols(protocols),
  });

  const protocol = makeServer<ConnectionInitMessage['payload'], State>({
    connectionInitWaitTimeout: 5_000,
    onConnect: async ({ connectionParams, extra }) => {
      const { socket } = extra;
      try {
        const admission = await admit(access, tokenOf(connectionParams), () => {
          socket.close(4401, tokenRevoked);
        });
        if (!admission) {
          socket.close(4401, 'A valid token is needed.');
          return false;
        }
        if (socket.readyState !== socket.OPEN) {
          admission.release();
          return false;
        }
        extra.admission = admission;
        socket.once('close', admission.release);
        return true;
      } catch (error) {
        if (!isStorageUnavailable(error)) faults.mask(error);
        socket.close(1013, 'The server cannot check the token now; try later.');
        return false;
      }
    },
    onSubscribe: async (context, id, params) => {
      const { extra } = context;
      // This one is among them already; what was completed is none of them any more.
      if (Object.keys(context.subscriptions).length > maxOperations)
        return [
          fault('TOO_MANY_OPERATIONS', `A socket carries at most ${maxOperations} operations at once.`),
        ];
      if (extra.running.size >= maxUnfinished)
        return [
          fault(
            'TOO_MANY_OPERATIONS',
            'Too many operations that were completed on this socket are not over yet. Try again after a moment.',
          ),
        ];
      extra.awaited = context.subscriptions;
      const work: Work = { id, caller: new AbortController() };
      extra.running.add(work);
      const end = (): void => void extra.running.delete(work);
      const over = new Promise<void>((resolve) => {
        if (extra.socket.readyState === extra.socket.CLOSED) resolve();
        else extra.answered.set(params, resolve);
      });
      const refused = (errors: readonly GraphQLError[]): readonly GraphQLError[] => {
        end();
        extra.answered.delete(params);
        return errors.map(withoutHttp);
      };
      try {
        if (!extra.admission) throw notAdmitted();
        await turn(extra.admission.viewer.tokenId, work.caller.signal, isUrgent(params.query));
        const viewer = await extra.admission.again();
        if (!viewer) {
          extra.socket.close(4401, tokenRevoked);
          throw notAdmitted();
        }
        const asked: Asked = {
          services,
          viewer,
          caller: work.caller.signal,
          asker: {
            leave: work.caller.signal,
            over,
            follows: () => undefined,
            sent: () => over,
            // graphql-ws asks for the next one when it has been written.
            itemSent: () => Promise.resolve(),
          },
        };
        const engine = graphql.getEnveloped({ ...asked, params } as never) as Engine;
        const document = engine.parse(params.query);
        const errors = engine.validate(engine.schema, document);
        if (errors.length > 0) return refused(errors);
        // Here and not by graphql-ws, which would then ask neither `execute` nor `subscribe`.
        if (!getOperationAST(document, params.operationName))
          return refused([new GraphQLError('Unable to identify operation')]);
        const operation: Operation = { engine, end };
        return {
          schema: engine.schema,
          document,
          operationName: params.operationName,
          variableValues: params.variables,
          contextValue: await engine.contextFactory(),
          rootValue: operation,
        };
      } catch (error) {
        return refused([faults.mask(error)]);
      }
    },
    execute: async (args) => {
      const { engine, end } = args.rootValue as Operation;
      try {
        return (await engine.execute(args)) as ExecutionResult;
      } finally {
        end();
      }
    },
    subscribe: async (args) => {
      const { engine, end } = args.rootValue as Operation;
      try {
        const result = (await engine.subscribe(args)) as AsyncGenerator<ExecutionResult> | ExecutionResult;
        if (Symbol.asyncIterator in result) return endingInAnswer(result, faults, end);
        end();
        return result;
      } catch (error) {
        end();
        throw error;
      }
    },
    // By now its answer has been written, or nobody waited for it.
    onComplete: ({ extra }, _id, payload) => {
      extra.answered.get(payload)?.();
      extra.answered.delete(payload);
    },
    onNext: (_context, _id, _params, _args, { data, errors, extensions }) =>
      errors && {
        ...(data !== undefined && { data }),
        ...(extensions !== undefined && { extensions }),
        errors: errors.map((e) => withoutHttp(e).toJSON()),
      },
  });

  // Not by graphql-ws/use/ws, which prints to the console what any stranger can provoke.
  sockets.on('connection', (socket: WebSocket) => {
    socket.on('error', (error) => {
      log.warn({ reason: error.message }, 'a socket failed');
    });
    const state: State = { socket, running: new Set(), answered: new Map() };
    const closed = protocol.opened(
      {
        protocol: socket.protocol,
        send: (text) =>
          new Promise((resolve) => {
            // One that is gone hears of it by 'close'.
            if (socket.readyState === socket.OPEN) socket.send(text, () => resolve());
            else resolve();
          }),
        close: (code, reason) => {
          socket.close(code, reason);
        },
        onMessage: (handle) => {
          socket.on('message', (data: Buffer) => {
            const text = data.toString('utf8');
            if (hasMoreValues(text, operationLimits.values))
              return void socket.close(CloseCode.BadRequest, 'A message holds too many values.');
            handle(text).then(
              () => abandon(state, (id) => !(id in (state.awaited ?? {}))),
              (error: unknown) => {
                log.warn({ reason: String(error) }, 'a message on a socket could not be handled');
                socket.close(CloseCode.BadRequest, 'Invalid message received');
              },
            );
          });
        },
      },
      state,
    );
    const stopBeating = keepAlive(socket);
    socket.once('close', (code, reason) => {
      stopBeating();
      abandon(state, () => true);
      for (const resolve of state.answered.values()) resolve();
      closed(code, reason.toString()).catch((error: unknown) => {
        faults.mask(error);
      });
    });
  });

  return {
    upgrade(req, socket, head) {
      sockets.handleUpgrade(req, socket, head, (opened) => {
        sockets.emit('connection', opened, req);
      });
    },
    async close(code, reason) {
      const open = [...sockets.clients];
      for (const socket of open) socket.close(code, reason);
      await Promise.all(open.map((socket) => closedWithin(socket, 1_000)));
      await new Promise<void>((resolve) => {
        sockets.close(() => resolve());
      });
    },
  };
}

/** Ends a socket that does not answer a ping until the next one is due. The returned function stops it. */
function keepAlive(socket: WebSocket): () => void {
  let answered = true;
  socket.on('pong', () => (answered = true));
  const beat = setInterval(() => {
    if (!answered) return socket.terminate();
    answered = false;
    socket.ping();
  }, beatMs);
  return () => clearInterval(beat);
}

/** Tells the work that nobody waits for that it is so. */
function abandon({ running }: State, isUnheard: (id: string) => boolean): void {
  for (const { id, caller } of running)
    if (!caller.signal.aborted && isUnheard(id)) caller.abort(callerGone());
}

const fault = (code: string, message: string): GraphQLError =>
  new GraphQLError(message, { extensions: { code } });

/** Yoga keeps the HTTP status of an error in its extensions; there is none on a socket. */
function withoutHttp(error: GraphQLError): GraphQLError {
  if (!('http' in error.extensions)) return error;
  const { http: _, ...extensions } = error.extensions;
  const { message, nodes, source, positions, path } = error;
  return new GraphQLError(message, { nodes, source, positions, path, extensions });
}

/**
 * A stream that breaks ends with a masked error as its last answer; graphql-ws would show the error's own message.
 * `end` is called when the stream is over.
 */
function endingInAnswer(
  results: AsyncGenerator<ExecutionResult>,
  faults: Faults,
  end: () => void,
): AsyncGenerator<ExecutionResult> {
  let broken = false;
  return {
    next: async () => {
      if (broken) return { done: true, value: undefined };
      try {
        const result = await results.next();
        if (result.done) end();
        return result;
      } catch (error) {
        broken = true;
        end();
        return { done: false, value: { errors: [faults.mask(error)] } };
      }
    },
    return: (value) => results.return(value).finally(end),
    throw: (error) => results.throw(error).finally(end),
    [Symbol.asyncIterator]() {
      return this;
    },
    async [Symbol.asyncDispose]() {
      await results.return(undefined).finally(end);
    },
  };
}

function closedWithin(socket: WebSocket, ms: number): Promise<void> {
  if (socket.readyState === socket.CLOSED) return Promise.resolve();
  return new Promise((resolve) => {
    const cut = setTimeout(() => {
      socket.terminate();
    }, ms);
    socket.once('close', () => {
      clearTimeout(cut);
      resolve();
    });
  });
}
