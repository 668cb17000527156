/**
 * Owns: one attempt at one model: connection, limits, abort, and what the endpoint turned out to want.
 * Does not own: what bytes and chunks mean (`wire/`), what a failure is called (`faults.ts`), retrying (SDK retries are
 * off, D-37), slots and health (`plane.ts`).
 *
 * Invariants: nothing is handed on after the outcome; on abort, timeout and at the end the connection is let go; what is
 * learned from a refusal is tried once, and remembered once it was accepted.
 *
 * The SDK's own stream reader is not used: it hides [DONE], stops at the first event it cannot parse, and cannot say
 * whether bytes still arrive.
 */
import OpenAI, { BadRequestError, UnprocessableEntityError } from 'openai';
import type { Clock } from '../../ports/clock.ts';
import type { ModelAnswer } from '../../ports/model.ts';
import type { Asked, Attempted, Caller, Fault } from './asked.ts';
import { createAttempt, type Attempt } from './attempt.ts';
import type { Binding } from './binding.ts';
import { createFault, faultFromError, scopeOf, type FaultScope } from './faults.ts';
import { createModelFetch, postOf, unpacked } from './post.ts';
import { createBodyWriter, type Form } from './wire/body.ts';
import { createChatReader } from './wire/chat-reader.ts';
import { chatForm } from './wire/chat-request.ts';
import type { ChunkReader } from './wire/chunk.ts';
import { createDrain } from './wire/drain.ts';
import { createReading, type Reading } from './wire/events.ts';
import type { Outgoing, Wants } from './wire/outgoing.ts';
import { createResponsesReader } from './wire/responses-reader.ts';
import { responsesForm } from './wire/responses-request.ts';
import { firstWants, lessons, type Lesson } from './wire/wants.ts';

export type { Asked, Attempted, Caller, Fault } from './asked.ts';

interface Dialect {
  readonly path: string;
  readonly form: Form;
  createReader(): ChunkReader;
}

const dialects: Readonly<Record<Binding['dialect'], Dialect>> = {
  CHAT: { path: '/chat/completions', form: chatForm, createReader: createChatReader },
  RESPONSES: { path: '/responses', form: responsesForm, createReader: createResponsesReader },
};

/**
 * Until the response begins: a local model may read a long prompt first. Connecting alone is given 10 s by Node.
 * Both end as faults that are worth another try.
 */
const responseTimeoutMs = 300_000;
/** Between bytes of a response; keep-alive comments count as bytes (D-37). */
const idleTimeoutMs = 120_000;
/** Answers are far smaller; this is what keeps an endless one from filling the memory. */
const maxResponseBytes = 64 * 1024 * 1024;
/** Of a refusal, what is searched for what the endpoint wants, UTF-16 units. */
const maxRefusal = 4_000;

/** Whoever calls this binding's model; what it learns about its endpoint lives as long as it does. */
export function createCaller(deps: { readonly clock: Clock }, binding: Binding): Caller {
  const { clock } = deps;
  const { endpoint } = binding;
  const scope = scopeOf(binding);
  const dialect = dialects[binding.dialect];
  const client = new OpenAI({
    baseURL: endpoint.baseUrl,
    // The SDK wants a key; what is sent is decided by the header below.
    apiKey: 'unused',
    adminAPIKey: null,
    defaultHeaders: { ...unpacked, authorization: endpoint.authorization },
    maxRetries: 0,
    timeout: 2 * responseTimeoutMs,
    logLevel: 'off',
    fetch: createModelFetch(clock),
  });
  const bodies = createBodyWriter(dialect.form);
  let remembered = firstWants(binding);

  /** The SDK would write the whole conversation anew; a stream it hands on as it is. */
  const send = (outgoing: Outgoing, signal: AbortSignal): Promise<Response> =>
    client.post(dialect.path, { ...postOf(bodies.write(outgoing)), stream: true, signal }).asResponse();

  async function open(asked: Asked, attempt: Attempt): Promise<Response> {
    let wants: Wants = remembered;
    let lasting: Partial<Wants> = {};
    const left = new Set<Lesson>(lessons);
    for (;;) {
      attempt.expect(responseTimeoutMs);
      const outgoing = { binding, asked, wants };
      try {
        const response = await send(outgoing, attempt.signal);
        remembered = { ...remembered, ...lasting };
        return response;
      } catch (error) {
        const learned = learn(error, outgoing, left);
        if (learned === null) throw error;
        left.delete(learned.lesson);
        wants = { ...wants, ...learned.wants };
        if (learned.lesson.lasting) lasting = { ...lasting, ...learned.wants };
      }
    }
  }

  return {
    async call(asked, signal, onDelta) {
      if (signal.aborted) return { type: 'aborted' };
      const attempt = createAttempt(clock, signal);
      const drain = createDrain(binding, new Set(asked.tools.map((tool) => tool.name)), (delta) => {
        if (!attempt.signal.aborted) onDelta(delta);
      });
      const reading = createReading(dialect.createReader(), drain, scope);
      /** It was not refused: it is being answered, or, as far as can be known, read. */
      let taken = false;
      const settled = (outcome: ModelAnswer | Fault): Attempted => {
        // `onDelta` itself may have been where the caller stopped.
        if (signal.aborted) return { type: 'aborted', unfinished: drain.unfinished() };
        if (outcome.type === 'answered') return outcome;
        const unfinished = drain.unfinished();
        // A refusal costs nothing, unless it says that something was counted.
        const costs = unfinished.usage !== null || unfinished.calls > 0 || (taken && !reading.isRefused());
        return costs ? { ...outcome, unfinished } : outcome;
      };
      try {
        const response = await open(asked, attempt);
        taken = true;
        return settled(await readAnswer(response, reading, attempt, scope));
      } catch (error) {
        // Connecting has a shorter term: who was silent for so long had the request.
        taken ||= attempt.timedOut();
        return settled(
          reading.breakOff(
            attempt.timedOut() ? silence(attempt, reading, scope) : faultFromError(scope, error, clock.now()),
          ),
        );
      } finally {
        attempt.end();
      }
    },
  };
}

/** What to do differently after an error, by the first of the lessons left that knows it. */
function learn(
  error: unknown,
  outgoing: Outgoing,
  left: ReadonlySet<Lesson>,
): { readonly lesson: Lesson; readonly wants: Partial<Wants> } | null {
  if (!(error instanceof BadRequestError || error instanceof UnprocessableEntityError)) return null;
  const said = `${error.message} ${JSON.stringify(error.error ?? '')}`.slice(0, maxRefusal);
  for (const lesson of left) {
    const wants = lesson.learn(said, outgoing);
    if (wants) return { lesson, wants };
  }
  return null;
}

const silence = (attempt: Attempt, reading: Reading, scope: FaultScope): Fault =>
  createFault(reading.hasBegun() ? 'IDLE_STREAM' : 'TIMEOUT', scope, {
    detail: `no data for ${attempt.expected() / 1000} s`,
  });

async function readAnswer(
  response: Response,
  reading: Reading,
  attempt: Attempt,
  scope: FaultScope,
): Promise<ModelAnswer | Fault> {
  if (!response.body) return createFault('EMPTY', scope);
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  let bytes = 0;
  for (;;) {
    attempt.expect(idleTimeoutMs);
    const { done, value } = await reader.read();
    // What was already read when the caller stopped is not the answer any more.
    attempt.signal.throwIfAborted();
    if (done) return reading.end();
    const outcome = reading.feed(value);
    if (outcome) {
      if (outcome.type === 'answered') attempt.drain(reader);
      return outcome;
    }
    bytes += value.byteLength;
    if (bytes > maxResponseBytes)
      return reading.breakOff(createFault('TOO_LONG', scope, { what: 'sent an answer without end' }));
  }
}
