/**
 * Owns: bytes → events → the answer, and what a body is that holds no events.
 * Does not own: where bytes come from (`caller.ts`), what an event says (the dialect's reader), or what chunks amount to
 * (`drain.ts`).
 *
 * Invariants: the same bytes give the same outcome however they are cut; there is one outcome, and what goes wrong
 * after an answer is complete does not take it away.
 */
import { createParser } from 'eventsource-parser';
import type { ModelAnswer } from '../../../ports/model.ts';
import type { Fault } from '../asked.ts';
import { createFault, faultFromDescription, type FaultScope } from '../faults.ts';
import type { Chunk, ChunkReader } from './chunk.ts';
import { maxAnswer, type Drain } from './drain.ts';
import { isRecord, parseJson } from './json.ts';
import type { Ending } from './settle.ts';

/**
 * Longest event, or body without events, UTF-16 units: room for the longest answer with each unit escaped as \uXXXX,
 * and for what is around it.
 */
const maxEvent = 8 * maxAnswer;

/**
 * Fields may be added to the format and are then ignored. What has no such name is no field, and what looks like an
 * event's data under another name is an event into which something strayed.
 */
const isField = (name: string, value: string): boolean =>
  /^(?!data)[\w.-]{1,64}$/.test(name) && !/^\s*[{[]/.test(value);

export interface Reading {
  /** What the bytes so far amount to; null: read on. Nothing is fed after an outcome. */
  feed(bytes: Uint8Array): ModelAnswer | Fault | null;
  /** The bytes ended in an orderly way. */
  end(): ModelAnswer | Fault;
  /** They broke off by this fault: it is the outcome, unless the answer was complete. */
  breakOff(fault: Fault): ModelAnswer | Fault;
  /**
   * Whether an event has said something of an answer, which is never spliced with another one (D-37). Before that nothing
   * was said, also where comments have kept the connection or events have told who speaks, and another model may be asked.
   */
  hasBegun(): boolean;
  /** Whether the request was refused, as far as can be known: what came is no stream of events, or an error in place of an answer. */
  isRefused(): boolean;
}

/**
 * Reads one response. A body that does not begin like an event stream is kept, to be judged whole at its end: an answer
 * that was not streamed is as good; an error or a web page is named for what it is.
 */
export function createReading(reader: ChunkReader, drain: Drain, scope: FaultScope): Reading {
  const decoder = new TextDecoder();
  /** LINES: what may be a stream, of which no event has come. FOREIGN: such lines, and some are of no stream. */
  let kind: 'UNKNOWN' | 'LINES' | 'FOREIGN' | 'EVENTS' | 'BODY' = 'UNKNOWN';
  let body = '';
  /** The beginning of a line whose end has not come: the parser would drop one that it does not know. */
  let line: string[] = [];
  let lineLength = 0;
  let outcome: ModelAnswer | Fault | null = null;
  /** The first that was said is an error. */
  let refused = false;
  const parser = createParser({
    maxBufferSize: maxEvent,
    onError({ type, field, value, line }) {
      if (type === 'max-buffer-size-exceeded') outcome ??= fault(createFault('TOO_LONG', scope));
      if (type === 'unknown-field' && kind === 'LINES') kind = 'FOREIGN';
      if (type === 'unknown-field' && !isField(field ?? '', value ?? ''))
        outcome ??= orElse(strayLine(line ?? ''));
    },
    onEvent({ event, data }) {
      if (outcome !== null || data.trim() === '') return;
      kind = 'EVENTS';
      outcome = readEvent(event ?? '', data);
    },
  });

  const hasBegun = (): boolean => kind === 'EVENTS' && drain.hasBegun();

  const fault = (what: Fault): Fault => ({ ...what, accepted: hasBegun() });

  /** An error in place of an answer is a refusal, whatever the status said before it was known. */
  function failure(description: unknown): Fault {
    refused ||= !hasBegun();
    return fault(faultFromDescription(scope, description, null));
  }

  function finish(ending: Ending): ModelAnswer | Fault {
    const finished = drain.finish(ending);
    if (finished.type === 'answered') return finished;
    const { type: _, kind: wrong, ...words } = finished;
    refused ||= wrong === 'PROVIDER_ERROR' && !hasBegun();
    return fault(createFault(wrong, scope, words));
  }

  const orElse = (what: Fault): ModelAnswer | Fault => (drain.isComplete() ? finish('CLOSED') : fault(what));

  /** Some gateways write an error into a stream as it is; anything else in an event's place may have been one. */
  function strayLine(line: string): Fault {
    const json = parseJson(line);
    return isRecord(json) && json['error']
      ? failure(json)
      : createFault('MALFORMED', scope, { detail: 'a line of the stream belongs to no event' });
  }

  function readEvent(name: string, data: string): ModelAnswer | Fault | null {
    if (data.trim() === '[DONE]') return finish(reader.doneIsEnough ? 'DONE' : 'CLOSED');
    const event = parseJson(data);
    if (name === 'error') return orElse(failure(event ?? data));
    if (event === undefined)
      return orElse(createFault('MALFORMED', scope, { detail: 'a stream event is not JSON' }));
    return take(reader.read(event, name));
  }

  function take(chunks: readonly Chunk[]): ModelAnswer | Fault | null {
    for (const chunk of chunks) {
      if (chunk.type === 'end') return finish('DONE');
      if (chunk.type === 'error') {
        // Providers put an error after the finish reason too, and tokens after that.
        if (drain.isComplete()) continue;
        return failure(chunk.description);
      }
      if (drain.add(chunk) === 'TOO_LONG') return fault(createFault('TOO_LONG', scope));
      if (chunk.type === 'missing') return fault(createFault('MALFORMED', scope, { detail: chunk.what }));
    }
    return null;
  }

  function readBody(): ModelAnswer | Fault {
    const json = parseJson(body);
    const chunks = isRecord(json) && !json['error'] ? reader.readWhole(json) : null;
    const read = chunks && take(chunks);
    if (read) return read;
    if (isRecord(json) && (json['error'] || json['object'] === 'error' || json['type'] === 'error'))
      return failure(json);
    if (/^\s*</.test(body)) return fault(createFault('WEB_PAGE', scope));
    return fault(createFault('MALFORMED', scope, { detail: 'the body is no event stream' }));
  }

  function atEnd(): ModelAnswer | Fault {
    if (kind === 'BODY') return readBody();
    if (kind === 'EVENTS') return finish('CLOSED');
    if (kind === 'FOREIGN') return createFault('MALFORMED', scope, { detail: 'the body is no event stream' });
    // Where nothing came, nothing broke off; comments say nothing.
    return createFault('EMPTY', scope);
  }

  function feedLines(text: string): ModelAnswer | Fault | null {
    const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1;
    const lines = end === 0 ? '' : [...line, text.slice(0, end)].join('');
    if (end > 0) [line, lineLength] = [[], 0];
    line.push(text.slice(end));
    lineLength += text.length - end;
    if (lines !== '') parser.feed(lines);
    if (lineLength > maxEvent) outcome ??= fault(createFault('TOO_LONG', scope));
    return outcome;
  }

  /** Whatever an answer is made of, it is the answer that cannot be read then, and no connection that broke. */
  function guarded<T extends ModelAnswer | Fault | null>(read: () => T): T | ModelAnswer | Fault {
    try {
      return read();
    } catch {
      return orElse(createFault('MALFORMED', scope, { detail: 'a part of it is no answer' }));
    }
  }

  function feedText(text: string): ModelAnswer | Fault | null {
    if (kind !== 'UNKNOWN' && kind !== 'BODY') return feedLines(text);
    if (kind === 'UNKNOWN') {
      // White space before either means nothing.
      const begins = (body + text).trimStart();
      if (begins !== '') kind = /^[[{<]/.test(begins) ? 'BODY' : 'LINES';
      body = begins;
    } else body += text;
    if (kind !== 'LINES') return body.length > maxEvent ? fault(createFault('TOO_LONG', scope)) : null;
    const begin = body;
    body = '';
    return feedLines(begin);
  }

  return {
    feed: (bytes) => guarded(() => feedText(decoder.decode(bytes, { stream: true }))),
    end() {
      // The blank line that ends the last event is sometimes missing.
      return guarded(() => feedText(`${decoder.decode()}\n\n`) ?? atEnd());
    },
    breakOff: orElse,
    hasBegun,
    isRefused: () => kind === 'BODY' || kind === 'FOREIGN' || refused,
  };
}
