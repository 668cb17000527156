/**
 * Owns: what a failed call is called, whether trying again can help, and the one sentence a person reads.
 * Does not own: trying again (the caller's ladder, D-37).
 *
 * Invariants: retryable before acceptance are connection errors, 408, 409, 425, 429 and 5xx only (D-37); a sentence
 * names host and model and never holds a credential.
 */
import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';
import type { ModelFault } from '../../ports/model.ts';
import { isRecord, textOf, type Json } from './json.ts';

export type FaultKind = ModelFault['kind'];

/** Of whom a fault speaks. */
export interface FaultScope {
  readonly host: string;
  readonly model: string;
  /** Texts that must never be shown, wherever they come from. */
  readonly secrets: readonly string[];
}

interface FaultText {
  readonly what: string;
  readonly advice: string;
  readonly retryable: boolean;
}

const table: Readonly<Record<FaultKind, FaultText>> = {
  CONNECTION: {
    what: 'could not be reached or broke the connection',
    advice: 'check that it is running and that OPENAI_BASE_URL is right',
    retryable: true,
  },
  TIMEOUT: {
    what: 'took too long to answer',
    advice: 'try again, or choose a faster model',
    retryable: true,
  },
  RATE_LIMIT: {
    what: 'refused because a rate limit is reached',
    advice: 'wait a little and try again',
    retryable: true,
  },
  OVERLOADED: {
    what: 'failed on its side',
    advice: 'try again in a while',
    retryable: true,
  },
  AUTHENTICATION: {
    what: 'refused the credentials',
    advice: 'check OPENAI_API_KEY and what that key may use',
    retryable: false,
  },
  NOT_FOUND: {
    what: 'does not know this model or address',
    advice: 'check WEIR_MODEL, and that OPENAI_BASE_URL ends where the API begins (usually in /v1)',
    retryable: false,
  },
  CONTEXT_OVERFLOW: {
    what: 'refused because the conversation is longer than the model can read',
    advice: 'start a new workstream or choose a model with a larger context window',
    retryable: false,
  },
  BAD_REQUEST: {
    what: 'refused the request',
    advice: 'check that this model supports chat completions with tools',
    retryable: false,
  },
  MALFORMED: {
    what: 'sent an answer that cannot be read',
    advice: 'try again, and if it stays so check what OPENAI_BASE_URL points at',
    retryable: true,
  },
  EMPTY: {
    what: 'sent an empty answer',
    advice: 'try again, or say it differently',
    retryable: true,
  },
  OTHER: {
    what: 'failed in an unexpected way',
    advice: 'try again, and look at the log of the endpoint if it stays so',
    retryable: false,
  },
};

/** What differs from the table for one fault. */
export interface FaultDetail extends Partial<FaultText> {
  /** What the endpoint said, or a status; shortened and cleaned here. */
  readonly detail?: string;
  readonly retryAfterMs?: number | null;
  readonly status?: number | null;
}

/** A fault of this kind, with its sentence. */
export function createFault(kind: FaultKind, scope: FaultScope, more: FaultDetail = {}): ModelFault {
  const { what, advice, retryable } = { ...table[kind], ...more };
  const detail = clean(more.detail ?? '', scope.secrets);
  const message = `Model "${scope.model}" at ${scope.host} ${what}${detail && ` (${detail})`}; ${advice}.`;
  return {
    type: 'failed',
    kind,
    ...(more.status == null ? {} : { status: more.status }),
    message: hide(message, scope.secrets),
    retryable,
    retryAfterMs: more.retryAfterMs ?? null,
  };
}

const kindByStatus: Readonly<Record<number, FaultKind>> = {
  400: 'BAD_REQUEST',
  401: 'AUTHENTICATION',
  403: 'AUTHENTICATION',
  404: 'NOT_FOUND',
  405: 'NOT_FOUND',
  408: 'TIMEOUT',
  409: 'OVERLOADED',
  410: 'NOT_FOUND',
  413: 'BAD_REQUEST',
  422: 'BAD_REQUEST',
  425: 'OVERLOADED',
  429: 'RATE_LIMIT',
  504: 'TIMEOUT',
};

const kindOfStatus = (status: number): FaultKind =>
  kindByStatus[status] ?? (status >= 500 ? 'OVERLOADED' : 'OTHER');

/** Words by which endpoints say that the prompt does not fit. Their `max_tokens must be …` is another matter. */
const overflowWords = [
  /context_length_exceeded|exceed_context_size/i,
  /maximum context length/i,
  /exceeds? (the )?(available |model'?s? )?context (size|length|window|limit)/i,
  /prompt is too long/i,
  /input token count .*exceeds the maximum/i,
  /input (is )?too long/i,
];

/** Codes and types by which endpoints name an error without a usable status. First match wins. */
const kindByWord: readonly (readonly [RegExp, FaultKind])[] = [
  [/tool_use_failed/i, 'MALFORMED'],
  [/rate_?limit|too_?many_?requests|insufficient_quota/i, 'RATE_LIMIT'],
  [/overload|server_?error|internal|unavailable|bad_?gateway/i, 'OVERLOADED'],
  [/time_?d?_?out/i, 'TIMEOUT'],
  [/auth|permission|api_?key/i, 'AUTHENTICATION'],
  [/not_?found/i, 'NOT_FOUND'],
  [/invalid|bad_?request/i, 'BAD_REQUEST'],
];

/**
 * Names an error an endpoint described: its HTTP status when it had one, and the error object or text it sent.
 * Accepts any JSON.
 */
export function faultFromDescription(
  scope: FaultScope,
  description: unknown,
  status: number | null,
  retryAfterMs: number | null = null,
): ModelFault {
  const error = innerError(description);
  const said = textOf(error['message']) || textOf(error['detail']) || textOf(error['error']);
  const words = [error['code'], error['type'], error['status']]
    .filter((w) => typeof w === 'string')
    .join(' ');
  const known = status ?? statusIn(error);
  const overflow = known !== 429 && overflowWords.some((w) => w.test(`${words} ${said}`));
  const named = kindByWord.find(([word]) => word.test(words))?.[1];
  const kind: FaultKind = overflow
    ? 'CONTEXT_OVERFLOW'
    : named === 'MALFORMED'
      ? named
      : known !== null
        ? kindOfStatus(known)
        : (named ?? 'OTHER');
  const detail = [known === null ? '' : `HTTP ${known}`, /<html|<!doctype/i.test(said) ? 'a web page' : said]
    .filter((part) => part !== '')
    .join(', ');
  // A spent quota or balance looks like a rate limit, but waiting does not help.
  const spent = known === 402 || /insufficient_quota/i.test(words);
  const more: FaultDetail = spent
    ? { what: 'refused because the account has no credit left', advice: 'check billing', retryable: false }
    : kind === 'MALFORMED'
      ? {
          what: 'could not read the tool call its model wrote',
          advice: 'try again',
          // Inside a stream the request had been accepted, and another answer may be better (D-37).
          retryable: status === null,
        }
      : {};
  return createFault(kind, scope, { ...more, detail, retryAfterMs, status });
}

/** Names what the SDK or the transport threw. `now` is milliseconds since 1970, for a Retry-After date. */
export function faultFromError(scope: FaultScope, error: unknown, now: number): ModelFault {
  if (error instanceof APIConnectionTimeoutError)
    return createFault('TIMEOUT', scope, { detail: codeOf(error) });
  if (error instanceof APIConnectionError) return createFault('CONNECTION', scope, { detail: codeOf(error) });
  if (error instanceof APIError) {
    const status = typeof error.status === 'number' ? error.status : null;
    // Without a JSON body the SDK puts the body's text into the message, after the status.
    const description: unknown = error.error ?? {
      message: error.message.replace(/^\d{3} (status code \(no body\))?/, ''),
    };
    return faultFromDescription(
      scope,
      description,
      status,
      retryAfterOf(error.headers as Headers | undefined, now),
    );
  }
  return createFault('CONNECTION', scope, { detail: codeOf(error) });
}

/** Milliseconds an answer asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date; null when none. */
export function retryAfterOf(headers: Headers | undefined, now: number): number | null {
  const number = (name: string): number | null => {
    const text = headers?.get(name)?.trim() ?? '';
    return /^\d+(\.\d+)?$/.test(text) ? Number(text) : null;
  };
  const ms = number('retry-after-ms');
  if (ms !== null) return Math.round(ms);
  const seconds = number('retry-after');
  if (seconds !== null) return Math.round(seconds * 1000);
  // Only dates as HTTP writes them: Date.parse would also read numbers and words.
  const date = headers?.get('retry-after') ?? '';
  const at = /^[A-Za-z]{3,9}, /.test(date) ? Date.parse(date) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

/** The object that describes the error, however deep it was wrapped. */
function innerError(description: unknown): Json {
  if (typeof description === 'string') return { message: description };
  if (Array.isArray(description)) return innerError(description[0]);
  if (!isRecord(description)) return {};
  return isRecord(description['error']) ? description['error'] : description;
}

function statusIn(error: Json): number | null {
  for (const name of ['code', 'status_code', 'status']) {
    const status = Number(error[name]);
    if (Number.isInteger(status) && status >= 400 && status < 600) return status;
  }
  return null;
}

/** The code of the innermost cause that has one (ECONNREFUSED …), else its message. */
export function codeOf(error: unknown): string {
  let text = '';
  let at: unknown = error;
  for (let depth = 0; depth < 5 && at instanceof Error; depth++) {
    text = 'code' in at && typeof at.code === 'string' && at.code !== '' ? at.code : at.message || text;
    at = at.cause;
  }
  return text;
}

/** One line, at most 300 characters, nothing secret, no full stop at its end. */
function clean(text: string, secrets: readonly string[]): string {
  const line = hide(text, secrets)
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, ' ')
    .trim()
    .replace(/[.;\s]+$/, '');
  const characters = [...line];
  return characters.length > 300 ? `${characters.slice(0, 300).join('')}…` : line;
}

function hide(text: string, secrets: readonly string[]): string {
  return secrets
    .reduce((t, secret) => t.replaceAll(secret, '[hidden]'), text)
    .replace(/\/\/[^/@\s]+@/g, '//')
    .replace(/\bBearer\s+\S+/gi, 'Bearer [hidden]')
    .replace(/\b(sk|gsk|pk|xai|hf|nvapi)[-_][\w*-]{6,}/g, '[hidden]');
}
