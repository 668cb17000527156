/**
 * Owns: how a model call can fail, and what follows from each kind (D-37, D-39); what is known of one that was begun.
 * Does not own: the sentence a person reads and how a kind is told from bytes (adapters), or how often (`ladder.ts`).
 */
import type { Usage } from 'schema/projection';

/**
 * RETRY: the same request may do better, at the same model and then at another one. FALLBACK: this model will not
 * answer, another one may. COMPACT: the conversation must become shorter first. STOP: another model would be asked
 * against what this one said, or fail for the same reason.
 */
export type Remedy = 'RETRY' | 'FALLBACK' | 'COMPACT' | 'STOP';

export const remedies = {
  /** The endpoint could not be reached, or broke the connection. */
  CONNECTION: 'RETRY',
  /** No response within the term, or the endpoint says that it gave up waiting. */
  TIMEOUT: 'RETRY',
  /** A stream that had begun fell silent. */
  IDLE_STREAM: 'RETRY',
  RATE_LIMIT: 'RETRY',
  /** One request is more than a rate limit lets through in a while: the same one never passes. No overflow (G11). */
  OVER_LIMIT: 'FALLBACK',
  /** 5xx, 409, 425: it failed on its side. */
  OVERLOADED: 'RETRY',
  /** Bytes that are no answer, or one that broke off without a finish reason. */
  MALFORMED: 'RETRY',
  /** An answer without text and calls. */
  EMPTY: 'RETRY',
  /** An error event in a stream, or an error in a body with status 200, that names no other kind. */
  PROVIDER_ERROR: 'RETRY',
  /** The request could not be prepared here, for example because the database is away. */
  UNPREPARED: 'RETRY',
  AUTHENTICATION: 'FALLBACK',
  /** Credit or quota is used up: waiting does not help. */
  QUOTA: 'FALLBACK',
  /** The endpoint does not know the model or the address, or the alias is gone. */
  NOT_FOUND: 'FALLBACK',
  /** A web page with status 200: something else answers at that address. */
  WEB_PAGE: 'FALLBACK',
  CONTEXT_OVERFLOW: 'COMPACT',
  /** The model declined to answer. */
  REFUSAL: 'STOP',
  CONTENT_FILTER: 'STOP',
  BAD_REQUEST: 'STOP',
  /** The length limit was reached before anything was said. */
  NO_ROOM: 'STOP',
  /** The answer is longer than is taken. */
  TOO_LONG: 'STOP',
  /** What nobody knows the meaning of. */
  OTHER: 'STOP',
} as const satisfies Readonly<Record<string, Remedy>>;

export type FaultKind = keyof typeof remedies;

/** What had come of a call that was sent and not refused, and became no answer: it costs what it costs (D-5). */
export interface Unfinished {
  /** As far as the provider had counted; null: it had not. */
  readonly usage: Usage | null;
  /** UTF-16 units of the calls in it, names and arguments: these are not told while they come. */
  readonly calls: number;
}

export interface ModelFault {
  readonly type: 'failed';
  readonly kind: FaultKind;
  /** Alias of the model that failed: the one asked for, or one of its fallbacks. */
  readonly alias: string;
  /** True once a stream had been accepted: what it said is never spliced with another answer (D-37). */
  readonly accepted: boolean;
  /** Another model could be asked in its place. */
  readonly othersLeft: boolean;
  /** It was found here that the request would not fit; no endpoint was asked. */
  readonly local?: boolean;
  /** The model that was asked for is not set up any more: this one answers for it, as if it had been chosen. */
  readonly standsIn?: boolean;
  /** It has been set up otherwise since it was asked: what it said may not hold any more. */
  readonly outdated?: boolean;
  /** HTTP status of the answer, where one came that was not a stream yet. */
  readonly status?: number;
  /** One sentence: what failed, at which alias and endpoint (no credentials), and what to try. */
  readonly message: string;
  /** Milliseconds the provider asked to wait, if it did. */
  readonly retryAfterMs: number | null;
  /** Absent: nothing was sent, or it was refused. */
  readonly unfinished?: Unfinished;
}
