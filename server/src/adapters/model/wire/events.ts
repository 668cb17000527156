/**
 * Owns: bytes → events → the answer, and what a body is that holds no events.
 * Does not own: where bytes come from (`openai-chat.ts`), or what chunks mean (`answer.ts`).
 */
import { createParser } from 'eventsource-parser';
import type { ModelOutcome } from '../../ports/model.ts';
import { maxAnswer, type AnswerAssembly } from './answer.ts';
import { createFault, faultFromDescription, type FaultScope } from './faults.ts';
import { isRecord, parseJson } from './json.ts';

/**
 * Longest event, or body without events, UTF-16 units: room for the longest answer with each unit escaped as \uXXXX,
 * and for what is around it.
 */
const maxEvent = 8 * maxAnswer;

/** What the events read so far amount to; null: read on. */
export type Reading = ModelOutcome | 'DONE' | null;

/**
 * Bytes → events → the answer. A body that does not begin like an event stream is kept, to be judged whole at its
 * end: a completion that was not streamed is as good; an error or a web page is named for what it is.
 */
export function createEventReader(answer: AnswerAssembly, scope: FaultScope) {
  const decoder = new TextDecoder();
  let kind: 'UNKNOWN' | 'EVENTS' | 'BODY' = 'UNKNOWN';
  let body = '';
  let result: Reading = null;
  const parser = createParser({
    maxBufferSize: maxEvent,
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded') result ??= tooLong(scope);
    },
    onEvent({ event, data }) {
      if (result !== null || data.trim() === '') return;
      result = readEvent(event, data, answer, scope);
    },
  });

  function take(text: string): Reading {
    if (kind === 'EVENTS') {
      parser.feed(text);
      return result;
    }
    if (kind === 'UNKNOWN') {
      // White space before either means nothing.
      const begins = (body + text).trimStart();
      if (begins !== '') kind = /^[[{<]/.test(begins) ? 'BODY' : 'EVENTS';
      body = begins;
    } else body += text;
    if (kind !== 'EVENTS') return body.length > maxEvent ? tooLong(scope) : null;
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

function readEvent(
  event: string | undefined,
  data: string,
  answer: AnswerAssembly,
  scope: FaultScope,
): Reading {
  if (data.trim() === '[DONE]') return 'DONE';
  const chunk = parseJson(data);
  if (event === 'error') return faultFromDescription(scope, chunk ?? data, null);
  if (chunk === undefined) return createFault('MALFORMED', scope, { detail: 'a stream event is not JSON' });
  if (isRecord(chunk) && chunk['error']) return faultFromDescription(scope, chunk, null);
  return answer.add(chunk) === 'TOO_LONG' ? tooLong(scope) : null;
}

function readBody(body: string, answer: AnswerAssembly, scope: FaultScope): Reading {
  const json = parseJson(body);
  if (isRecord(json) && Array.isArray(json['choices']) && !json['error']) {
    return answer.add(json) === 'TOO_LONG' ? tooLong(scope) : 'DONE';
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

const tooLong = (scope: FaultScope): ModelOutcome =>
  createFault('OTHER', scope, {
    what: 'gave an answer that is longer than Weir takes',
    advice: 'ask for less at once, or for the long part in a file',
    retryable: false,
  });
