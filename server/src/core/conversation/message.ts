/**
 * Owns: the words between the journal and a model: canonical messages, tool definitions, how a call ended.
 * Does not own: any provider's wire (adapters), or which entries become messages (`lower.ts`).
 */
import type { Call, Finish, Usage } from 'schema/projection';

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, an object schema. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export type ModelMessage =
  | { readonly role: 'system'; readonly text: string }
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'assistant'; readonly text: string; readonly calls: readonly Call[] }
  | { readonly role: 'tool'; readonly callId: string; readonly text: string };

export interface ModelAnswer {
  readonly type: 'answered';
  readonly text: string;
  readonly reasoning: string;
  /** In the order declared. Arguments as written by the model. Empty provider ids are allowed. */
  readonly calls: readonly Omit<Call, 'callId'>[];
  readonly finish: Finish;
  readonly usage: Usage | null;
  /** The model that answered, as the provider named it, else the alias. */
  readonly model: string;
}

export interface ModelFault {
  readonly type: 'failed';
  readonly kind:
    | 'CONNECTION'
    | 'TIMEOUT'
    | 'RATE_LIMIT'
    | 'OVERLOADED'
    | 'AUTHENTICATION'
    | 'NOT_FOUND'
    | 'CONTEXT_OVERFLOW'
    | 'BAD_REQUEST'
    | 'MALFORMED'
    | 'EMPTY'
    | 'OTHER';
  /** HTTP status of the answer, where one came that was not a stream yet. */
  readonly status?: number;
  /** One sentence: what failed, at which endpoint (no credentials), and what to try. */
  readonly message: string;
  readonly retryable: boolean;
  /** Milliseconds the provider asked to wait, if it did. */
  readonly retryAfterMs: number | null;
}

export type ModelOutcome = ModelAnswer | ModelFault | { readonly type: 'aborted' };
