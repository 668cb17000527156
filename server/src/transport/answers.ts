/**
 * Owns: what becomes of an answer between its execution and its text: too large, it is refused; large, it takes a place
 * in the line, as do the reads of the database that an answer begins.
 * Does not own: what is too large (`schema`), whose turn it is (`line.ts`), or sending (`http.ts`, `websocket.ts`).
 *
 * Invariants: a query has a place before it begins. A command never waits to be carried out: it needs a place when its
 * payload begins to read, and when its answer is large. An item of a subscription that is large waits before it is made
 * into text; others never do. Whatever has a place keeps it until it was sent.
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
import { callerGone } from './faults.ts';
import { createLine, type Line, type Place } from './line.ts';

/** Whose answers one connection takes. */
export interface Asker {
  /** Aborts when what still waits is not to begin any more; its reason is the answer. */
  readonly leave: AbortSignal;
  /** How many of the same token may wait when one more comes; whoever is bounded otherwise has no need of it. */
  readonly longestLine: number;
  /** Called once, when an answer that has a place was made; resolves when it was sent, or never will be. */
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

export function useAnswers(): Plugin<InTurn> {
  const line = createLine();
  return {
    onContextBuilding({ context: { viewer, asker, services }, extendContext }) {
      const turn = createTurn(line, viewer.tokenId, asker.leave);
      extendContext({ turn, services: servicesOfOne(services, () => turn.take(asker.longestLine)) });
    },
    onExecute({ args, executeFn, setExecuteFn }) {
      const { turn, asker } = args.contextValue;
      setExecuteFn(async (given: ExecutionArgs): Promise<ExecutionResult> => {
        try {
          if (isQuery(given)) await turn.take(asker.longestLine);
          const result = (await executeFn(given)) as ExecutionResult;
          const { refused, large } = weigh(result, given);
          if (refused) return { data: null, errors: [refused] };
          // It is in memory already: nothing is gained by refusing it, however many wait.
          if (large) await turn.take(Infinity);
          return result;
        } catch (error) {
          if (error instanceof GraphQLError) return { errors: [error] };
          throw error;
        } finally {
          // A field that failed may have left others behind, which then read nothing more.
          turn.leave();
          turn.made();
          if (turn.taken()) void asker.sent().then(turn.sent);
        }
      });
    },
    onSubscribe: ({ args }) => ({
      onSubscribeResult({ result, setResult }) {
        if (Symbol.asyncIterator in result)
          setResult(oneByOne(result as AsyncGenerator<ExecutionResult>, args));
      },
    }),
  };
}

const isQuery = ({ document, operationName }: ExecutionArgs): boolean =>
  getOperationAST(document, operationName)?.operation === OperationTypeNode.QUERY;

/** The place of one operation, or of one item after another, if it needs one. */
interface Turn {
  /** Resolves when it has its place; rejects when it is not to begin any more, or `longest` wait already. */
  readonly take: (longest: number) => Promise<void>;
  readonly taken: () => boolean;
  /** As those of a `Place`. */
  readonly made: () => void;
  readonly sent: () => void;
  /** Waits no more and takes no place any more. */
  readonly leave: () => void;
}

function createTurn(line: Line, token: string, gone: AbortSignal): Turn {
  const left = new AbortController();
  const leave = AbortSignal.any([gone, left.signal]);
  let place: Promise<Place> | null = null;
  const then = (tell: (place: Place) => void): void => void place?.then(tell, () => undefined);
  return {
    take: async (longest) => {
      leave.throwIfAborted();
      place ??= line(token, leave, longest);
      await place;
    },
    taken: () => place !== null,
    made: () => then(({ made }) => made()),
    sent: () => {
      then(({ sent }) => sent());
      place = null;
    },
    leave: () => left.abort(callerGone()),
  };
}

/** An item is made when the one before was sent: so one subscriber has one at a time, and a token a few large ones. */
function oneByOne(
  items: AsyncGenerator<ExecutionResult>,
  args: ExecutionArgs & { readonly contextValue: InTurn },
): AsyncGenerator<ExecutionResult> {
  const { turn, asker } = args.contextValue;
  let sent = Promise.resolve();
  const leave = (): void => {
    turn.leave();
    turn.sent();
  };
  return {
    next: async () => {
      await sent;
      turn.sent();
      const item = await items.next();
      if (item.done) return item;
      const { refused, large } = weigh(item.value, args);
      if (refused) return { done: false, value: { data: null, errors: [refused] } };
      try {
        if (large) await turn.take(Infinity);
      } catch {
        // Nobody waits for it any more.
        return items.return(undefined);
      }
      turn.made();
      sent = asker.itemSent();
      return item;
    },
    return: (value) => {
      leave();
      return items.return(value);
    },
    throw: (error) => {
      leave();
      return items.throw(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
    async [Symbol.asyncDispose]() {
      leave();
      await items.return(undefined);
    },
  };
}
