/**
 * Owns: the need for language models, as their callers state it. Which model is asked again, when and whom next is the
 * caller's ladder (`core/models/ladder.ts`); endpoints, slots and health are the adapter's.
 */
import type { ModelModel } from 'schema/model';
import type { ModelChoice } from 'schema/projection';
import type { ModelMessage, ModelOutcome, ToolDefinition } from '../core/conversation/message.ts';

export type {
  ModelAnswer,
  ModelMessage,
  ModelOutcome,
  ToolDefinition,
} from '../core/conversation/message.ts';
export type { FaultKind, ModelFault } from '../core/models/fault.ts';

export interface ModelRequest {
  /** Who asks, for the log; no endpoint is told. */
  readonly workstreamId: string;
  readonly model: ModelChoice;
  /** The alias to ask in its place; null: the first that is fit of `model` and its fallbacks. */
  readonly lane: string | null;
  /** Aliases that are not asked. */
  readonly givenUp: readonly string[];
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolDefinition[];
}

/** A piece of the answer, in order. Reasoning and text are separate channels. */
export type ModelDelta =
  { readonly type: 'text'; readonly text: string } | { readonly type: 'reasoning'; readonly text: string };

export type ModelEvent =
  | ModelDelta
  /** One sentence for a person about what happens before the answer: MODEL_WAITING, MODEL_FALLBACK. */
  | { readonly type: 'notice'; readonly code: string; readonly message: string };

export interface Model {
  /**
   * One attempt: waits for a slot of the alias, asks, reads to the end, lets the slot go. Never throws; `onEvent` is
   * called synchronously as things happen and never after the promise settles.
   */
  call(
    request: ModelRequest,
    signal: AbortSignal,
    onEvent: (event: ModelEvent) => void,
  ): Promise<ModelOutcome>;
  /** The default first. */
  list(): readonly ModelModel[];
}
