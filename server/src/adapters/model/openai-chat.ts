/**
 * Owns: one streamed chat completion over the official SDK: connection, bytes, events, timeouts, abort.
 * Does not own: what chunks mean (`answer.ts`), what a failure is called (`faults.ts`), retrying (SDK retries are
 * off, D-37), or which alias leads here (`index.ts`).
 *
 * Invariants: never throws; nothing is handed on after the outcome; on abort, timeout and after [DONE] the connection
 * is let go; the same bytes give the same answer however they are cut.
 *
 * The SDK's own stream reader is not used: it hides [DONE], stops at the first event it cannot parse, and cannot say
 * whether bytes still arrive.
 */
import { createParser } from 'eventsource-parser';
import OpenAI, { BadRequestError, UnprocessableEntityError } from 'openai';
import type { Clock } from '../../ports/clock.ts';
import type { ModelDelta, ModelOutcome, ModelRequest } from '../../ports/model.ts';
import { createAnswerAssembly, type Assembled } from './answer.ts';
import type { Endpoint } from './endpoint.ts';
import { createFault, faultFromDescription, faultFromError, type FaultScope } from './faults.ts';
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
/** Grace for the endpoint to close after [DONE], so that the connection can be used again. */
const drainMs = 1_000;
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

/** One attempt's lifetime: ends by the caller's abort, by silence, or by `end`. */
interface Attempt {
  readonly signal: AbortSignal;
  /** Gives the endpoint this long until it is heard of again. */
  expect(ms: number): void;
  expected(): number;
  timedOut(): boolean;
  /** Lets the endpoint finish for a moment in the background, then lets the connection go. */
  drain(reader: ReadableStreamDefaultReader<Uint8Array>): void;
  /** Lets the connection go, unless it is being drained. */
  end(): void;
}

function createAttempt(clock: Clock, caller: AbortSignal): Attempt {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  let cancelTimer = (): void => undefined;
  let state: 'OPEN' | 'DRAINING' | 'TIMED_OUT' = 'OPEN';
  let ms = 0;
  caller.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    expect(limit) {
      cancelTimer();
      ms = limit;
      cancelTimer = clock.after(limit, () => {
        state = 'TIMED_OUT';
        abort();
      });
    },
    expected: () => ms,
    timedOut: () => state === 'TIMED_OUT',
    drain(reader) {
      state = 'DRAINING';
      cancelTimer();
      cancelTimer = clock.after(drainMs, abort);
      const rest = async (): Promise<void> => {
        while (!(await reader.read()).done);
      };
      void rest()
        .catch(() => undefined)
        .finally(() => cancelTimer());
    },
    end() {
      caller.removeEventListener('abort', abort);
      if (state === 'DRAINING') return;
      cancelTimer();
      abort();
    },
  };
}

type Answer = ReturnType<typeof createAnswerAssembly>;

async function readAnswer(
  response: Response,
  answer: Answer,
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

/** What the events read so far amount to; null: read on. */
type Reading = ModelOutcome | 'DONE' | null;

/**
 * Bytes → events → the answer. A body that does not begin like an event stream is kept, to be judged whole at its
 * end: a completion that was not streamed is as good; an error or a web page is named for what it is.
 */
function createEventReader(answer: Answer, scope: FaultScope) {
  const decoder = new TextDecoder();
  let kind: 'UNKNOWN' | 'EVENTS' | 'BODY' = 'UNKNOWN';
  let body = '';
  let result: Reading = null;
  const parser = createParser({
    onEvent({ event, data }) {
      if (result !== null || data.trim() === '') return;
      result = readEvent(event, data, answer, scope);
    },
    maxBufferSize: maxResponseBytes,
  });

  function take(text: string): Reading {
    if (kind === 'EVENTS') {
      parser.feed(text);
      return result;
    }
    body += text;
    const begins = body.trimStart();
    if (kind === 'UNKNOWN' && begins !== '') kind = /^[[{<]/.test(begins) ? 'BODY' : 'EVENTS';
    if (kind !== 'EVENTS') return null;
    parser.feed(body);
    body = '';
    return result;
  }

  return {
    feed: (chunk: Uint8Array): Reading => take(decoder.decode(chunk, { stream: true })),
    end(): Reading {
      // The blank line that ends the last event is sometimes missing.
      const reading = take(`${decoder.decode()}\n\n`);
      return reading === null && kind === 'BODY' ? readBody(body, answer, scope) : reading;
    },
  };
}

function readEvent(event: string | undefined, data: string, answer: Answer, scope: FaultScope): Reading {
  if (data.trim() === '[DONE]') return 'DONE';
  const chunk = parseJson(data);
  if (event === 'error') return faultFromDescription(scope, chunk ?? data, null);
  if (chunk === undefined) return createFault('MALFORMED', scope, { detail: 'a stream event is not JSON' });
  if (isRecord(chunk) && chunk['error']) return faultFromDescription(scope, chunk, null);
  answer.add(chunk);
  return null;
}

function readBody(body: string, answer: Answer, scope: FaultScope): Reading {
  const json = parseJson(body);
  if (isRecord(json) && Array.isArray(json['choices']) && !json['error']) {
    answer.add(json);
    return 'DONE';
  }
  if (isRecord(json) && json['error']) return faultFromDescription(scope, json, null);
  if (/^\s*</.test(body)) {
    return createFault('MALFORMED', scope, {
      what: 'answered with a web page',
      advice: 'check OPENAI_BASE_URL, which usually ends in /v1',
      retryable: false,
    });
  }
  return createFault('MALFORMED', scope, { detail: 'the body is no event stream' });
}

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
