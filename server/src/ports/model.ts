/**
 * Owns: the need for a language model, as the turn loop states it. Retrying, slots and fences are the caller's.
 */
import type { ModelMessage, ModelOutcome, ToolDefinition } from '../core/conversation/message.ts';

export type {
  ModelAnswer,
  ModelFault,
  ModelMessage,
  ModelOutcome,
  ToolDefinition,
} from '../core/conversation/message.ts';

export interface ModelRequest {
  /** Who asks, for the log; no endpoint is told. */
  readonly workstreamId: string;
  readonly alias: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolDefinition[];
}

/** A piece of the answer, in order. Reasoning and text are separate channels. */
export type ModelDelta =
  { readonly type: 'text'; readonly text: string } | { readonly type: 'reasoning'; readonly text: string };

export interface Model {
  /** One attempt. Never throws; `onDelta` is called synchronously as pieces arrive and never after the promise settles. */
  call(
    request: ModelRequest,
    signal: AbortSignal,
    onDelta: (delta: ModelDelta) => void,
  ): Promise<ModelOutcome>;
  list(): readonly {
    readonly alias: string;
    readonly description: string;
    readonly demo: boolean;
    readonly isDefault: boolean;
  }[];
}
