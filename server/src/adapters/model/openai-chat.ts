/**
 * Owns: one streamed chat completion over the official SDK: connection, limits, abort.
 * Does not own: what bytes and chunks mean (`events.ts`, `answer.ts`), what a failure is called (`faults.ts`),
 * retrying (SDK retries are off, D-37), or which alias leads here (`index.ts`).
 *
 * Invariants: never throws; nothing is handed on after the outcome; on abort, timeout and after [DONE] the connection
 * is let go; the same bytes give the same answer however they are cut.
 *
 * The SDK's own stream reader is not used: it hides [DONE], stops at the first event it cannot parse, and cannot say
 * whether bytes still arrive.
 */
import OpenAI, { BadRequestError, UnprocessableEntityError } from 'openai';
import type { Clock } from '../../ports/clock.ts';
import type { ModelDelta, ModelOutcome, ModelRequest } from '../../ports/model.ts';
import { createAnswerAssembly, type AnswerAssembly, type Assembled } from './answer.ts';
import { createAttempt, type Attempt } from './attempt.ts';
import type { Endpoint } from './endpoint.ts';
import { createEventReader } from './events.ts';
import { createFault, faultFromError, type FaultScope } from './faults.ts';
import { isRecord, parseJson, readText } from './json.ts';
import { toWireRequest } from './wire.ts';

export interface OpenAiChat {
  /** As `Model.call`. */
  call(
    request: ModelRequest,
    signal: AbortSignal,
    onDelta: (delta: ModelDelta) => void,
  ): Promise<ModelOutcome>;
}

/**
 * Until the response begins: a local model may read a long prompt first. Connecting alone is given 10 s by Node.
 * Both end as retryable faults.
 */
const responseTimeoutMs = 300_000;
/** Between bytes of a response; keep-alive comments count as bytes (D-37). */
const idleTimeoutMs = 120_000;
/** Answers are far smaller; this is what keeps an endless one from filling the memory. */
const maxResponseBytes = 64 * 1024 * 1024;
const maxErrorBytes = 64 * 1024;

/** A client for one model of one endpoint. */
export function createOpenAiChat(
  deps: { readonly clock: Clock },
  endpoint: Endpoint,
  model: string,
): OpenAiChat {
  const { clock } = deps;
  const scope: FaultScope = { host: endpoint.host, model, secrets: endpoint.secrets };
  const client = new OpenAI({
    baseURL: endpoint.baseUrl,
    // The SDK wants a key; what is sent is decided by the header below.
    apiKey: 'unused',
    adminAPIKey: null,
    defaultHeaders: { authorization: endpoint.authorization },
    maxRetries: 0,
    timeout: 2 * responseTimeoutMs,
    logLevel: 'off',
    fetch: fetchWithPlainErrors,
  });
  // Remembered, so that an endpoint that refuses to be asked for usage refuses once.
  let asksForUsage = true;

  async function open(request: ModelRequest, signal: AbortSignal): Promise<Response> {
    const send = (withUsage: boolean): Promise<Response> =>
      client.chat.completions.create(toWireRequest(model, request, withUsage), { signal }).asResponse();
    try {
      return await send(asksForUsage);
    } catch (error) {
      if (!asksForUsage || !refusesUsage(error)) throw error;
      asksForUsage = false;
      return await send(false);
    }
  }

  return {
    async call(request, signal, onDelta) {
      if (signal.aborted) return { type: 'aborted' };
      const attempt = createAttempt(clock, signal);
      const toolNames = new Set(request.tools.map((tool) => tool.name));
      const answer = createAnswerAssembly(request.alias, toolNames, (delta) => {
        if (!attempt.signal.aborted) onDelta(delta);
      });
      try {
        attempt.expect(responseTimeoutMs);
        const response = await open(request, attempt.signal);
        const outcome = await readAnswer(response, answer, attempt, scope);
        // `onDelta` itself may have been where the caller stopped.
        return signal.aborted ? { type: 'aborted' } : outcome;
      } catch (error) {
        if (signal.aborted) return { type: 'aborted' };
        if (attempt.timedOut()) {
          return createFault('TIMEOUT', scope, { detail: `no data for ${attempt.expected() / 1000} s` });
        }
        return faultFromError(scope, error, clock.now());
      } finally {
        attempt.end();
      }
    },
  };
}

async function readAnswer(
  response: Response,
  answer: AnswerAssembly,
  attempt: Attempt,
  scope: FaultScope,
): Promise<ModelOutcome> {
  if (!response.body) return createFault('EMPTY', scope);
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  const events = createEventReader(answer, scope);
  let bytes = 0;
  for (;;) {
    attempt.expect(idleTimeoutMs);
    const { done, value } = await reader.read();
    // What was already read when the caller stopped is not the answer any more.
    attempt.signal.throwIfAborted();
    const result = done ? events.end() : events.feed(value);
    if (result === 'DONE') {
      if (!done) attempt.drain(reader);
      return outcomeOf(answer.finish('DONE'), scope);
    }
    if (result) return result;
    if (done) return outcomeOf(answer.finish('CLOSED'), scope);
    bytes += value.byteLength;
    if (bytes > maxResponseBytes) return createFault('MALFORMED', scope, tooLarge);
  }
}

const tooLarge = { what: 'sent an answer without end', retryable: false } as const;

function outcomeOf(assembled: Assembled, scope: FaultScope): ModelOutcome {
  switch (assembled.type) {
    case 'answer':
      return assembled.answer;
    case 'cutOff':
      return createFault('MALFORMED', scope, {
        what: 'broke off in the middle of its answer',
        advice: 'try again',
      });
    case 'broken':
      return createFault('OTHER', scope, { what: 'broke down while answering', retryable: true });
    case 'empty':
      return assembled.finish === 'CONTENT_FILTER'
        ? createFault('OTHER', scope, {
            what: 'gave no answer because its content filter blocked it',
            advice: 'say it differently',
          })
        : assembled.finish === 'LENGTH'
          ? createFault('EMPTY', scope, {
              what: 'reached its length limit before it said anything',
              advice: 'let it answer longer or think less',
              retryable: false,
            })
          : createFault('EMPTY', scope);
  }
}

const refusesUsage = (error: unknown): boolean =>
  (error instanceof BadRequestError || error instanceof UnprocessableEntityError) &&
  /stream_options|include_usage/.test(`${error.message} ${JSON.stringify(error.error ?? '')}`);

/**
 * `fetch` whose error bodies end after 64 KiB, since the SDK reads them whole, and have the shape the SDK looks for,
 * `{ error: … }`: some endpoints send the inner object, or a list, and what they say would be lost.
 */
async function fetchWithPlainErrors(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (response.ok || !response.body) return response;
  const text = await readText(response.body, maxErrorBytes);
  const json = parseJson(text);
  const error: unknown = Array.isArray(json) ? json[0] : json;
  const plain = isRecord(error) ? JSON.stringify(error['error'] ? error : { error }) : text;
  const { status, statusText, headers } = response;
  return new Response(plain, { status, statusText, headers });
}
