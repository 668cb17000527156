/**
 * Owns: the need for language models, as their callers state it. Which model is asked again, when and whom next is the
 * caller's ladder (`core/models/ladder.ts`); endpoints, slots and health are the adapter's.
 */
import type { Effort, ModelChoice } from 'schema/projection';
import type { ModelMessage, ModelOutcome, ToolDefinition } from '../core/conversation/message.ts';

export type {
  ModelAborted,
  ModelAnswer,
  ModelMessage,
  ModelOutcome,
  ToolDefinition,
} from '../core/conversation/message.ts';
export type { FaultKind, ModelFault, Unfinished } from '../core/models/fault.ts';

export interface ModelRequest {
  /** Who asks, for the log; no endpoint is told. */
  readonly workstreamId: string;
  readonly model: ModelChoice;
  /** The alias to ask in its place; null: the first that is fit of `model` and its fallbacks. */
  readonly lane: string | null;
  /** Aliases that are not asked. */
  readonly givenUp: readonly string[];
  /** Most tokens of the answer, below what the model is set up for; absent: as it is set up. */
  readonly maxOutput?: number;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolDefinition[];
  /** It waits for a slot after all who do not yield, and is ended, as if it were aborted, when one of them waits for its own. */
  readonly yields?: boolean;
}

/** A piece of the answer, in order. Reasoning and text are separate channels. */
export type ModelDelta =
  { readonly type: 'text'; readonly text: string } | { readonly type: 'reasoning'; readonly text: string };

export type ModelEvent =
  | ModelDelta
  /** One sentence for a person about what happens before the answer: MODEL_WAITING, MODEL_ASKED, MODEL_FALLBACK. */
  | { readonly type: 'notice'; readonly code: string; readonly message: string };

export interface Model {
  /**
   * One attempt: waits for a slot of the alias, asks, reads to the end, lets the slot go. Never throws; `onEvent` is
   * called synchronously as things happen and never after the promise settles. What was sent and became no answer says
   * what had come of it.
   */
  call(
    request: ModelRequest,
    signal: AbortSignal,
    onEvent: (event: ModelEvent) => void,
  ): Promise<ModelOutcome>;
  /** The default first. */
  list(): readonly ModelInfo[];
}

/** What is known of one alias now. */
export interface ModelInfo {
  readonly alias: string;
  /** Model and host, for people; no credential. */
  readonly description: string;
  /** The built-in demo, which is no language model. */
  readonly demo: boolean;
  readonly isDefault: boolean;
  /**
   * FAILING: its last call failed. DEGRADED: it or its endpoint failed five times in a row, so it is asked last for a while.
   * UNKNOWN: not asked yet.
   */
  readonly health: 'UNKNOWN' | 'HEALTHY' | 'FAILING' | 'DEGRADED';
  /** Why its last call failed. Null: nothing is wrong. */
  readonly problem: string | null;
  /** Tokens it can read at once, as configured or as its endpoint says; null: not known. */
  readonly window: number | null;
  /** Most tokens of one answer; null: the endpoint's own. */
  readonly maxOutput: number | null;
  /** Calls at the same time; null: no bound. */
  readonly concurrency: number | null;
  readonly inUse: number;
  readonly waiting: number;
  /** Aliases that are asked in its place when it fails, in order. */
  readonly fallbacks: readonly string[];
  /** As configured; null: as the endpoint does it. */
  readonly temperature: number | null;
  readonly effort: Effort | null;
  /** The efforts it knows; others are rounded up to one of these. Empty: it is told none. */
  readonly efforts: readonly Effort[];
  readonly vision: boolean;
  readonly reasoning: boolean;
  /** United States dollars per million tokens; null: not configured. */
  readonly price: ModelPrice | null;
}

export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  /** Null: as `input`. */
  readonly cachedInput: number | null;
}
