/**
 * Owns: one attempt at one model: connection, limits, abort, and what the endpoint turned out to want.
 * Does not own: what bytes and chunks mean (`wire/`), what a failure is called (`faults.ts`), retrying (SDK retries are
 * off, D-37), slots and health (`plane.ts`).
 */
import type { Effort } from 'schema/projection';
import type { ModelAnswer, ModelDelta, ModelFault, ModelMessage, ToolDefinition } from '../../ports/model.ts';

export interface Asked {
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolDefinition[];
  /** From 0 to 2; null: not sent. */
  readonly temperature: number | null;
  /** One that the model knows; null: not sent. */
  readonly effort: Effort | null;
}

/** A fault as one attempt sees it: whether another model is left is not its to know. */
export type Fault = Omit<ModelFault, 'othersLeft'>;

export type Attempted = ModelAnswer | Fault | { readonly type: 'aborted' };

export interface Caller {
  /** Never throws; `onDelta` is called synchronously as pieces arrive and never after the promise settles. */
  call(asked: Asked, signal: AbortSignal, onDelta: (delta: ModelDelta) => void): Promise<Attempted>;
}
