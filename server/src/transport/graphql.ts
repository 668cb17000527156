/**
 * Owns: GraphQL over HTTP: queries and mutations as JSON, subscriptions as server-sent events.
 * Does not own: who may ask (`http.ts` has checked), or sockets (`websocket.ts`, which uses the same engine).
 */
import { useCSRFPrevention } from '@graphql-yoga/plugin-csrf-prevention';
import {
  createYoga,
  useExecutionCancellation,
  type GraphQLParams,
  type Plugin,
  type YogaServerInstance,
} from 'graphql-yoga';
import { GraphQLError } from 'graphql';
import {
  hasMoreValues,
  operationLimits,
  parseOperation,
  refusalsOf,
  schema,
  validateOperation,
} from 'schema';
import type { Context } from 'schema/context';
import { useAnswers, type Asked } from './answers.ts';
import { maxBodyBytes, type Faults } from './faults.ts';

export type GraphQLEngine = YogaServerInstance<Asked, object>;

export const graphqlPath = '/graphql';

export async function createGraphQL({
  faults,
  allowedOrigins,
  dev,
}: {
  readonly faults: Faults;
  readonly allowedOrigins: readonly string[];
  readonly dev: boolean;
}): Promise<GraphQLEngine> {
  return createYoga<Asked>({
    schema,
    graphqlEndpoint: graphqlPath,
    // Faults log what is to be logged; Yoga would log it a second time.
    logging: false,
    maskedErrors: { maskError: (error) => faults.mask(error) },
    batching: false,
    multipart: false,
    maxRequestBodySize: maxBodyBytes,
    landingPage: false,
    cors:
      allowedOrigins.length === 0
        ? false
        : { origin: [...allowedOrigins], credentials: false, methods: ['GET', 'POST'], maxAge: 600 },
    graphiql: dev && { title: 'GraphiQL for Weir', subscriptionsProtocol: 'WS' },
    ...(dev && { renderGraphiQL: await graphiql() }),
    plugins: [
      useNamedCSRFPrevention(),
      useExecutionCancellation(),
      useOperationLimits(),
      useAnswers(),
      useNamedNotAcceptable(),
    ],
  });
}

/** A page that needs no network; a development dependency, so it may be missing. */
async function graphiql() {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  return renderGraphiQL;
}

/** A page elsewhere can make a browser send a simple request; it cannot add a header to it. Yoga gives it no code. */
function useNamedCSRFPrevention(): Plugin<Context> {
  const { onRequestParse } = useCSRFPrevention({ requestHeaders: [csrfHeader] });
  return {
    onRequestParse(payload) {
      try {
        return onRequestParse?.(payload);
      } catch {
        throw new GraphQLError(
          `Send this request as JSON by POST, or with the header \`${csrfHeader}\`: without it any web page could have sent it.`,
          { extensions: { code: 'CSRF_REFUSED', http: { status: 403 } } },
        );
      }
    },
  };
}

/** Yoga answers with nothing when it has nothing that the caller accepts. Follows Yoga's own choice. */
function useNamedNotAcceptable(): Plugin<Context> {
  return {
    onResultProcess({ result, resultProcessor, setResultProcessor }) {
      if (resultProcessor) return;
      const message =
        Symbol.asyncIterator in result
          ? 'A subscription is answered as server-sent events: send `Accept: text/event-stream`, or use a WebSocket.'
          : 'The answer is JSON: send `Accept: application/json`.';
      setResultProcessor(
        (_, { Response }) =>
          Response.json({ errors: [{ message, extensions: { code: 'NOT_ACCEPTABLE' } }] }, { status: 406 }),
        'application/json',
      );
    },
  };
}

const csrfHeader = 'x-graphql-yoga-csrf';

/** Refuses an operation that asks for too much before any resolver runs, or cannot even be looked at. */
function useOperationLimits(): Plugin<Context> {
  return {
    onRequestParse({ request, setRequestParser }) {
      if (request.method === 'POST') setRequestParser(async (post) => paramsOf(await post.text()));
    },
    onParse({ setParseFn }) {
      setParseFn(parseOperation);
    },
    onValidate({ setValidationFn }) {
      setValidationFn(validateOperation);
    },
    onExecute({ args, setResultAndStopExecution }) {
      const errors = refusalsOf(args, args.contextValue);
      if (errors.length > 0) setResultAndStopExecution({ errors });
    },
    onSubscribe({ args, setResultAndStopExecution }) {
      const errors = refusalsOf(args, args.contextValue);
      if (errors.length > 0) setResultAndStopExecution({ errors });
    },
  };
}

/** Yoga looks further at what is in it. */
function paramsOf(body: string): GraphQLParams {
  const { values } = operationLimits;
  if (hasMoreValues(body, values))
    throw badRequest(
      'OPERATION_TOO_LARGE',
      `A request may hold at most ${values} values, with its variables.`,
    );
  let params: unknown;
  try {
    params = JSON.parse(body);
  } catch {
    params = null;
  }
  if (typeof params !== 'object' || params === null)
    throw badRequest('BAD_REQUEST', 'Send a JSON object: {"query": "…", "variables": {…}}.');
  return params;
}

const badRequest = (code: string, message: string): GraphQLError =>
  new GraphQLError(message, { extensions: { code, http: { status: 400 } } });
