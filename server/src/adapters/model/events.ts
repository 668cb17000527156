/**
 * Owns: bytes → events → the answer, and what a body is that holds no events.
 * Does not own: where bytes come from (`openai-chat.ts`), or what chunks mean (`answer.ts`).
 */
import { createParser } from 'eventsource-parser';
import type { ModelOutcome } from '../../ports/model.ts';
import type { AnswerAssembly } from './answer.ts';
import { createFault, faultFromDescription, type FaultScope } from './faults.ts';
import { isRecord, parseJson } from './json.ts';

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
  answer.add(chunk);
  return null;
}

function readBody(body: string, answer: AnswerAssembly, scope: FaultScope): Reading {
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
