/**
 * Owns: the words between the journal and a model: canonical messages, tool definitions, how a call ended.
 * Does not own: any provider's wire (adapters), or which entries become messages (`lower.ts`).
 */
import type { Call, Finish, Native, Usage } from 'schema/projection';
import type { ModelFault, Unfinished } from '../models/fault.ts';

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, an object schema. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export type ModelMessage =
  | { readonly role: 'system'; readonly text: string }
  | { readonly role: 'user'; readonly text: string }
  | {
      readonly role: 'assistant';
      readonly text: string;
      readonly calls: readonly Call[];
      /** What it thought, for a provider that wants to be told again. */
      readonly reasoning?: string;
      /** What only the model that wrote it can read. */
      readonly native?: Native;
    }
  | { readonly role: 'tool'; readonly callId: string; readonly text: string };

export interface ModelAnswer {
  readonly type: 'answered';
  readonly text: string;
  readonly reasoning: string;
  /** In the order declared. Arguments as written by the model. Empty provider ids are allowed. */
  readonly calls: readonly Omit<Call, 'callId'>[];
  readonly finish: Finish;
  readonly usage: Usage | null;
  /** Alias of the model that answered: the one asked for, or one of its fallbacks. */
  readonly alias: string;
  /** That model, as the provider named it, else the alias. */
  readonly model: string;
  readonly native?: Native;
}

export interface ModelAborted {
  readonly type: 'aborted';
  /** Absent: nothing was sent. */
  readonly unfinished?: Unfinished;
}

export type ModelOutcome = ModelAnswer | ModelFault | ModelAborted;
