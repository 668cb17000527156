/**
 * Owns: what a failed call is called, and the one sentence a person reads.
 * Does not own: what follows from a kind (`core/models/fault.ts`), or trying again (the caller's ladder, D-37).
 *
 * Invariant: a sentence names alias, model and host, says what to do, and never holds a credential.
 */
import { stripVTControlCharacters } from 'node:util';
import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';
import type { FaultKind } from '../../ports/model.ts';
import type { Binding } from './binding.ts';
import type { Fault } from './asked.ts';
import { hideAsWritten, hiderOf } from './hide.ts';
import { namesAnswerLimit, saysTooFast, saysTooLong, saysTooMuchAtOnce } from './refusals.ts';
import { isRecord, maxCount, parseJson, textOf, type Json } from './wire/json.ts';

export type { FaultKind } from '../../ports/model.ts';

/** Of whom a fault speaks. */
export interface FaultScope {
  readonly alias: string;
  readonly host: string;
  /** The name of the model at its endpoint. */
  readonly model: string;
  /** Texts that must never be shown, wherever they come from. */
  readonly secrets: readonly string[];
  /** Where its settings are: what to look at is named after that. */
  readonly source: Binding['source'];
}

export const scopeOf = ({ alias, endpoint, model, source }: Binding): FaultScope => ({
  alias,
  host: endpoint.host,
  model,
  secrets: endpoint.secrets,
  source,
});

interface FaultText {
  readonly what: string;
  /** `{endpoint}`, `{key}`, `{model}`, `{limit}` and `{window}` stand for where each is set. */
  readonly advice: string;
}

const table: Readonly<Record<FaultKind, FaultText>> = {
  CONNECTION: {
    what: 'could not be reached or broke the connection',
    advice: 'check that it is running and that {endpoint} is right',
  },
  TIMEOUT: { what: 'took too long to answer', advice: 'try again, or choose a faster model' },
  IDLE_STREAM: {
    what: 'fell silent in the middle of its answer',
    advice: 'try again, and look at the log of the endpoint if it stays so',
  },
  RATE_LIMIT: {
    what: 'refused because a rate limit is reached',
    advice: 'wait a little and try again, or choose another model',
  },
  OVER_LIMIT: {
    what: 'refused because the request alone is more than its rate limit lets through',
    advice:
      'set {window} to no more than that limit, choose another model, go back in the conversation, or have the limit raised',
  },
  OVERLOADED: { what: 'failed on its side', advice: 'try again in a while, or choose another model' },
  AUTHENTICATION: { what: 'refused the credentials', advice: 'check {key} and what that key may use' },
  QUOTA: {
    what: 'refused because the account has no credit left',
    advice: 'check its billing, or choose another model',
  },
  NOT_FOUND: {
    what: 'does not know this model or address',
    advice: 'check {model}, and that {endpoint} ends where the API begins (usually in /v1)',
  },
  WEB_PAGE: {
    what: 'answered with a web page',
    advice: 'check {endpoint}, which usually ends in /v1',
  },
  CONTEXT_OVERFLOW: {
    what: 'refused because the conversation is longer than the model can read',
    advice: 'start a new workstream, or choose a model with a larger context window',
  },
  REFUSAL: { what: 'declined to answer', advice: 'say it differently, or choose another model' },
  CONTENT_FILTER: {
    what: 'gave no answer because its content filter blocked it',
    advice: 'say it differently, or choose another model',
  },
  BAD_REQUEST: {
    what: 'refused the request',
    advice: 'check that this model supports tools and the settings it is given, or choose another model',
  },
  NO_ROOM: {
    what: 'reached its length limit before it said anything',
    advice: 'let it answer longer or think less',
  },
  TOO_LONG: {
    what: 'gave an answer that is longer than Weir takes',
    advice: 'ask for less at once, or for the long part in a file',
  },
  MALFORMED: {
    what: 'sent an answer that cannot be read',
    advice: 'try again, and if it stays so check what {endpoint} points at',
  },
  EMPTY: { what: 'sent an empty answer', advice: 'try again, or say it differently' },
  PROVIDER_ERROR: {
    what: 'broke down while answering',
    advice: 'try again, and look at the log of the endpoint if it stays so',
  },
  UNPREPARED: { what: 'could not be asked', advice: 'try again in a while' },
  OTHER: {
    what: 'failed in an unexpected way',
    advice: 'try again, and look at the log of the endpoint if it stays so',
  },
};

const places: Readonly<
  Record<Binding['source'], Readonly<Record<'endpoint' | 'key' | 'model' | 'limit' | 'window', string>>>
> = {
  ENVIRONMENT: {
    endpoint: 'OPENAI_BASE_URL',
    key: 'OPENAI_API_KEY',
    model: 'WEIR_MODEL',
    limit: 'a "maxOutput" for it in weir.config.json',
    window: 'a "window" for it in weir.config.json',
  },
  FILE: {
    endpoint: 'its "endpoint" in weir.config.json',
    key: 'its "key" in weir.config.json',
    model: 'its "model" in weir.config.json',
    limit: 'its "maxOutput" in weir.config.json',
    window: 'its "window" in weir.config.json',
  },
};

/** What differs from the table for one fault. */
export interface FaultDetail extends Partial<FaultText> {
  /** What the endpoint said, or a status; shortened and cleaned here. */
  readonly detail?: string;
  readonly retryAfterMs?: number | null;
  readonly status?: number | null;
}

/** Longer waits than this are told to a person, milliseconds (D-37: the ladder waits for no more). */
const longWaitMs = 60_000;

/** A fault of this kind before a response was accepted, with its sentence. */
export function createFault(kind: FaultKind, scope: FaultScope, more: FaultDetail = {}): Fault {
  const retryAfterMs = more.retryAfterMs ?? null;
  const wait = retryAfterMs !== null && retryAfterMs > longWaitMs ? `in ${duration(retryAfterMs)}` : null;
  const { what, advice } = {
    ...table[kind],
    ...(wait !== null && { advice: `try again ${wait}, or choose another model` }),
    ...more,
  };
  const detail = clean(more.detail ?? '', hiderOf(scope.secrets));
  const { endpoint, key, model, limit, window } = places[scope.source];
  const where = advice
    .replace('{endpoint}', endpoint)
    .replace('{key}', key)
    .replace('{model}', model)
    .replace('{limit}', limit)
    .replace('{window}', window);
  const name = hideAsWritten(nameOf(scope), scope.secrets);
  return {
    type: 'failed',
    kind,
    alias: scope.alias,
    accepted: false,
    ...(more.status == null ? {} : { status: more.status }),
    message: `${name} ${what}${detail && ` (${detail})`}; ${where}.`,
    retryAfterMs,
  };
}

/** What the keys of some providers begin with, and the names of their models too. */
const keyLike = /\b(?=(?:sk|gsk|pk|xai|hf|nvapi)[-_])/g;

/** The name of a model as its endpoint tells it, without a secret, however that is written. */
export function shownModel(name: string, secrets: readonly string[]): string {
  const hide = hiderOf(secrets);
  const plain = name.replace(keyLike, 'x');
  return hide(plain) === plain ? name : hide(name);
}

/** For people: which model, and where. */
const nameOf = ({ alias, model, host }: FaultScope): string =>
  alias === model ? `Model "${model}" at ${host}` : `Model "${alias}" (${model} at ${host})`;

function duration(ms: number): string {
  const minutes = Math.ceil(ms / 60_000);
  if (minutes < 120) return `${minutes} minutes`;
  const hours = Math.ceil(minutes / 60);
  return hours < 48 ? `${hours} hours` : `${Math.ceil(hours / 24)} days`;
}

const kindByStatus: Readonly<Record<number, FaultKind>> = {
  400: 'BAD_REQUEST',
  401: 'AUTHENTICATION',
  402: 'QUOTA',
  403: 'AUTHENTICATION',
  404: 'NOT_FOUND',
  405: 'NOT_FOUND',
  407: 'AUTHENTICATION',
  408: 'TIMEOUT',
  409: 'OVERLOADED',
  410: 'NOT_FOUND',
  // Where it is not the pace that is limited, what is larger than it takes is the conversation.
  413: 'OVER_LIMIT',
  422: 'BAD_REQUEST',
  425: 'OVERLOADED',
  429: 'RATE_LIMIT',
  504: 'TIMEOUT',
};

const kindOfStatus = (status: number): FaultKind =>
  kindByStatus[status] ?? (status >= 500 ? 'OVERLOADED' : status < 400 ? 'NOT_FOUND' : 'OTHER');

/** Of what an endpoint says, what is looked at, UTF-16 units: nobody writes a longer sentence for a person. */
const maxSaid = 4_096;
/** Of a code or a type, the same. */
const maxWord = 200;

/** Codes and types by which endpoints name an error without a usable status. First match wins. */
const kindByWord: readonly (readonly [RegExp, FaultKind])[] = [
  [/tool_use_failed/i, 'MALFORMED'],
  [/insufficient_quota|billing|payment_?required/i, 'QUOTA'],
  [/rate_?limit|too_?many_?requests|resource_exhausted/i, 'RATE_LIMIT'],
  [/content_?filter|responsible_?ai|content_policy|safety/i, 'CONTENT_FILTER'],
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
): Fault {
  const error = innerError(description);
  const said = [saidIn(error), relayedIn(error)].filter((part) => part !== '').join(': ');
  const words = [error['code'], error['type'], error['status']]
    .map((word) => textOf(word).slice(0, maxWord))
    .filter((word) => word !== '')
    .join(' ');
  const begin = said.slice(0, maxSaid);
  const known = status ?? statusIn(error);
  const told = `${words}: ${begin}`;
  const overflow = isOverflow(told, known);
  const named = kindByWord.find(([word]) => word.test(words))?.[1];
  // A tool call that its own server refused: in a stream that had begun, another answer may be better (D-37).
  const mistold = named === 'MALFORMED' && status === null;
  const kind: FaultKind = overflow
    ? 'CONTEXT_OVERFLOW'
    : mistold || named === 'QUOTA' || named === 'CONTENT_FILTER'
      ? named
      : saysTooMuchAtOnce(told)
        ? 'OVER_LIMIT'
        : known !== null
          ? kindOfStatus(known)
          : (named ?? 'PROVIDER_ERROR');
  const detail = [known === null ? '' : `HTTP ${known}`, /<html|<!doctype/i.test(begin) ? 'a web page' : said]
    .filter((part) => part !== '')
    .join(', ');
  const more: FaultDetail =
    known === 407
      ? behindProxy
      : named === 'MALFORMED'
        ? {
            what: 'could not read the tool call its model wrote',
            advice: 'try again, or choose another model',
          }
        : kind === 'CONTEXT_OVERFLOW' && !saysTooLong(begin) && known === 413
          ? tooLarge
          : kind === 'BAD_REQUEST' && namesAnswerLimit(begin)
            ? { advice: 'set {limit} to what this model takes, or leave it out' }
            : {};
  // When its limit begins anew, the same request is as large.
  const wait = kind === 'OVER_LIMIT' ? null : retryAfterMs;
  return createFault(kind, scope, { ...more, detail, retryAfterMs: wait, status });
}

/** A request that is too many bytes: no model has said so, but what stands before it. */
const tooLarge: FaultDetail = {
  what: 'refused because the request is larger than it takes',
  advice: 'start a new workstream, or let the server at {endpoint} take larger requests',
};

/** It is not the endpoint that wants to know who asks. */
const behindProxy: FaultDetail = {
  what: 'could not be asked, because a proxy on the way wants credentials',
  advice:
    'give Weir the proxy with its name and password (HTTPS_PROXY, HTTP_PROXY), or a way to {endpoint} without it',
};

/** What a status that means something else comes with is not about the conversation, whatever it says (A35). */
function isOverflow(text: string, status: number | null): boolean {
  if (status === 413) return !saysTooFast(text);
  const kind = status === null ? null : kindOfStatus(status);
  return kind !== 'AUTHENTICATION' && kind !== 'QUOTA' && kind !== 'RATE_LIMIT' && saysTooLong(text);
}

/** What a router was told by the endpoint behind it, of which it says itself only that there was an error. */
function relayedIn(error: Json): string {
  const raw = isRecord(error['metadata']) ? textOf(error['metadata']['raw']).slice(0, maxSaid) : '';
  const parsed = parseJson(raw);
  return parsed === undefined ? raw : saidIn(innerError(parsed));
}

/** Names what the SDK or the transport threw. `now` is milliseconds since 1970, for a Retry-After date. */
export function faultFromError(scope: FaultScope, error: unknown, now: number): Fault {
  if (error instanceof APIConnectionTimeoutError)
    return createFault('TIMEOUT', scope, { detail: codeOf(error) });
  // What is nested too deep cannot be read; the connection had no part in it.
  if (
    error instanceof RangeError ||
    (error instanceof APIConnectionError && error.cause instanceof RangeError)
  )
    return createFault('MALFORMED', scope, { detail: 'a part of it is no answer' });
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

/**
 * Milliseconds an answer asks to wait: `retry-after-ms`, `retry-after` in seconds or as a date, or the time until a
 * limit that is used up begins anew (`x-ratelimit-reset-…`); null when it asks for nothing. At most about 25 days.
 */
export function retryAfterOf(headers: Headers | undefined, now: number): number | null {
  const asked = askedWait(headers, now);
  return asked === null ? null : Math.min(asked, maxCount);
}

function askedWait(headers: Headers | undefined, now: number): number | null {
  const get = (name: string): string => headers?.get(name)?.trim() ?? '';
  const ms = decimal(get('retry-after-ms'));
  if (ms !== null) return Math.round(ms);
  const asked = get('retry-after');
  const seconds = decimal(asked);
  if (seconds !== null) return Math.round(seconds * 1000);
  // Only dates as HTTP writes them: Date.parse would also read numbers and words.
  const at = /^[A-Za-z]{3,9}, /.test(asked) ? Date.parse(asked) : Number.NaN;
  if (!Number.isNaN(at)) return Math.max(0, at - now);
  const resets = ['requests', 'tokens']
    .filter((what) => get(`x-ratelimit-remaining-${what}`) === '0')
    .map((what) => resetOf(get(`x-ratelimit-reset-${what}`)))
    .filter((reset) => reset !== null);
  return resets.length > 0 ? Math.max(...resets) : null;
}

const decimal = (text: string): number | null => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : null);

/** Milliseconds of a text like `1h2m3.5s`, `20ms`, or a number of seconds. */
function resetOf(text: string): number | null {
  const seconds = decimal(text);
  if (seconds !== null) return Math.round(seconds * 1000);
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) return null;
  const units: Readonly<Record<string, number>> = { ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5 };
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  return Math.round(parts.reduce((sum, [, n, unit]) => sum + Number(n) * units[unit!]!, 0));
}

/** The object that describes the error, however deep it was wrapped. */
function innerError(description: unknown): Json {
  let at: unknown = description;
  while (Array.isArray(at)) at = at[0];
  if (typeof at === 'string') return { message: at };
  if (!isRecord(at)) return {};
  return isRecord(at['error']) ? at['error'] : at;
}

/** The first sentence in it: some endpoints put lists or further objects where others have a text. */
function saidIn(x: unknown, depth = 8): string {
  if (typeof x === 'string') return x;
  if (depth === 0) return '';
  if (Array.isArray(x)) return saidIn(x[0], depth - 1);
  const places = isRecord(x) ? [x['message'], x['detail'], x['error'], x['errors'], x['msg']] : [];
  for (const place of places) {
    const said = saidIn(place, depth - 1);
    if (said !== '') return said;
  }
  return '';
}

function statusIn(error: Json): number | null {
  for (const name of ['code', 'status_code', 'status']) {
    const said = error[name];
    const status = typeof said === 'string' && /^\d{3}$/.test(said) ? Number(said) : said;
    if (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 600)
      return status;
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
function clean(text: string, hide: (text: string) => string): string {
  const line = hide(
    // Colours of a terminal, which may stand in the middle of a credential.
    stripVTControlCharacters(text.slice(0, maxSaid))
      .replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}]+/gu, '')
      .replace(/[\p{Cc}\p{Cs}\s]+/gu, ' ')
      .trim(),
  );
  const characters = [...line];
  if (characters.length > 300) return `${characters.slice(0, 300).join('')}…`;
  // The last word was cut: it may be the beginning of a credential, too short to be known.
  if (text.length > maxSaid) return `${line.slice(0, line.lastIndexOf(' ') + 1)}…`;
  let end = line.length;
  while (end > 0 && '.; '.includes(line[end - 1]!)) end--;
  return line.slice(0, end);
}
