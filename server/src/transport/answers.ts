/**
 * Owns: what becomes of an answer between its execution and its text: too large, it is refused; large, it takes a place
 * in the line, as do the reads of the database for it. How many operations a token has under way.
 * Does not own: what is too large (`schema`), whose turn it is (`line.ts`), sending (`http.ts`, `websocket.ts`), or what of a
 * command has to wait (the services).
 *
 * Invariants: a query has a place before it begins, and until it was sent. Others have one while they read, and keep it
 * until they were sent when what was read is large; a large answer or item has one before it is made into text. Nothing
 * works in it while it waits for something else: no command is carried out in the turn of another token. An operation is
 * under way until nothing of it is in memory, also when its caller has left: so what is small comes to little.
 */
import type { Plugin } from 'graphql-yoga';
import {
  getOperationAST,
  GraphQLError,
  OperationTypeNode,
  type ExecutionArgs,
  type ExecutionResult,
} from 'graphql';
import { servicesOfOne, weigh } from 'schema';
import type { Context } from 'schema/context';
import type { Reading } from 'schema/services';
import type { Line, Place } from '../ports/line.ts';
import { callerGone } from './faults.ts';
import { lineOf } from './line.ts';

/** Whose answers one connection takes. */
export interface Asker {
  /** Aborts when what still waits is not to begin any more; its reason is the answer. */
  readonly leave: AbortSignal;
  /** Resolves when the operation was answered to its end, or never will be, whether anything was made of it or not. */
  readonly over: Promise<void>;
  /** Called once, before it is opened, when the operation is a subscription. */
  readonly follows: () => void;
  /** Called once, when the last of an operation was made; resolves when it was sent, or never will be. */
  readonly sent: () => Promise<void>;
  /** Called when an item of a subscription is handed over; resolves when it was sent, or never will be. */
  readonly itemSent: () => Promise<void>;
}

/** What an operation comes with; resolvers are given the `Context` of it. */
export interface Asked extends Context {
  readonly asker: Asker;
}
interface InTurn extends Asked {
  readonly turn: Turn;
}

/** Of one token, over all its sockets and requests: as many as four sockets carry. */
const maxUnderWay = 1_024;

export function useAnswers(): Plugin<InTurn> {
  const line = lineOf('reads');
  const underWay = new Map<string, number>();

  /** Counts one more; the returned function counts it no more, once. */
  const enter = (token: string): (() => void) => {
    const count = underWay.get(token) ?? 0;
    if (count >= maxUnderWay)
      throw new GraphQLError(
        `This token has ${maxUnderWay} operations under way, over all its sockets and requests. End subscriptions or wait for answers, then try again; give each program a token of its own.`,
        { extensions: { code: 'TOO_MANY_OPERATIONS' } },
      );
    underWay.set(token, count + 1);
    return () => {
      const left = underWay.get(token)! - 1;
      if (left > 0) underWay.set(token, left);
      else underWay.delete(token);
    };
  };

  return {
    onContextBuilding({ context: { viewer, asker, services }, extendContext }) {
      const turn = createTurn(line, viewer.tokenId, asker.leave);
      extendContext({ turn, services: servicesOfOne(services, turn.reading) });
    },
    onExecute({ args, executeFn, setExecuteFn }) {
      const { turn, asker, viewer } = args.contextValue;
      setExecuteFn(async (given: ExecutionArgs): Promise<ExecutionResult> => {
        let leave = (): void => undefined;
        try {
          asker.leave.throwIfAborted();
          leave = enter(viewer.tokenId);
          if (isQuery(given)) await turn.take();
          const result = (await executeFn(given)) as ExecutionResult;
          const { refused, large } = weigh(result, given);
          if (refused) return { data: null, errors: [refused] };
          if (large) await turn.take();
          return result;
        } catch (error) {
          if (error instanceof GraphQLError) return { errors: [error] };
          throw error;
        } finally {
          // A field that failed may have left others behind, which then read nothing more.
          turn.leave();
          turn.rest();
          void asker.sent().then(() => (turn.free(), leave()));
        }
      });
    },
    onSubscribe({ args, subscribeFn, setSubscribeFn }) {
      const { contextValue } = args;
      const { asker, viewer } = contextValue;
      setSubscribeFn(async (given: ExecutionArgs) => {
        let leave = (): void => undefined;
        try {
          asker.leave.throwIfAborted();
          asker.follows();
          leave = enter(viewer.tokenId);
          const result = (await subscribeFn(given)) as AsyncGenerator<ExecutionResult> | ExecutionResult;
          if (Symbol.asyncIterator in result) {
            const items = oneByOne(result, given, contextValue, leave);
            // Whoever was to take them may never have begun: what they accept was nothing that a stream is sent as.
            void asker.over.then(() => items.return(undefined)).catch(() => undefined);
            return items;
          }
          leave();
          return result;
        } catch (error) {
          leave();
          if (error instanceof GraphQLError) return { errors: [error] };
          throw error;
        }
      });
    },
  };
}

const isQuery = ({ document, operationName }: ExecutionArgs): boolean =>
  getOperationAST(document, operationName)?.operation === OperationTypeNode.QUERY;

/** The place of one operation, or of one item after another, if it needs one. Used by one at a time. */
interface Turn {
  /** Resolves when it may work in its place; rejects when it is not to begin any more. */
  readonly take: () => Promise<void>;
  /** For what is read meanwhile: once taken, in that turn. */
  readonly reading: Reading;
  /** As those of a `Place`. */
  readonly rest: () => void;
  readonly free: () => void;
  /** The place is another's, unless what was read is still in memory. */
  readonly itemSent: () => void;
  /** Waits no more and takes no place any more. */
  readonly leave: () => void;
}

function createTurn(line: Line, token: string, gone: AbortSignal): Turn {
  const left = new AbortController();
  const leave = AbortSignal.any([gone, left.signal]);
  let place: Promise<Place> | null = null;
  let works = false;
  /** By who reads, until they let it go: what was read is in memory also while they wait for more of it. */
  let isHeld = false;
  const take = async (): Promise<void> => {
    leave.throwIfAborted();
    place ??= line(token, leave);
    await (await place).work(leave);
    works = true;
  };
  const then = (tell: (place: Place) => void): void => {
    works = false;
    place?.then(tell, () => undefined);
  };
  const rest = (): void => then((one) => one.rest());
  const free = (): void => {
    then((one) => one.free());
    place = null;
  };
  return {
    take,
    reading: {
      ask: async (query, isLarge) => {
        if (works) return query();
        await take();
        try {
          const answer = await query();
          isHeld ||= isLarge?.(answer) ?? false;
          return answer;
        } finally {
          if (isHeld) rest();
          else free();
        }
      },
      aside: async (work) => {
        if (!works) return work();
        rest();
        try {
          return await work();
        } finally {
          await take();
        }
      },
      letGo: () => {
        isHeld = false;
        free();
      },
    },
    rest,
    itemSent: () => {
      if (!isHeld) free();
    },
    free,
    leave: () => left.abort(callerGone()),
  };
}

/**
 * An item is made when the one before was sent: so one subscriber has one at a time, and a token a few large ones. `over`
 * is called when none is left to be sent.
 */
function oneByOne(
  items: AsyncGenerator<ExecutionResult>,
  args: ExecutionArgs,
  { turn, asker }: InTurn,
  over: () => void,
): AsyncGenerator<ExecutionResult> {
  let sent = Promise.resolve();
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    turn.leave();
    turn.rest();
    // The last one may still be on its way.
    void asker.sent().then(() => (turn.free(), over()));
  };
  const ending = <T>(result: Promise<T>): Promise<T> => {
    end();
    return result;
  };
  return {
    next: async () => {
      await sent;
      turn.itemSent();
      const item = await items.next().catch((error: unknown) => ending(Promise.reject(error as Error)));
      if (item.done) return ending(Promise.resolve(item));
      const { refused, large } = weigh(item.value, args);
      try {
        if (large && !refused) await turn.take();
      } catch {
        // Nobody waits for it any more.
        return ending(items.return(undefined));
      }
      turn.rest();
      sent = asker.itemSent();
      return refused ? { done: false, value: { data: null, errors: [refused] } } : item;
    },
    return: (value) => ending(items.return(value)),
    throw: (error) => ending(items.throw(error)),
    [Symbol.asyncIterator]() {
      return this;
    },
    async [Symbol.asyncDispose]() {
      await ending(items.return(undefined));
    },
  };
}
