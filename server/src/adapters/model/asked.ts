/**
 * Owns: the words of one attempt at one model: what is asked, and how it ends. Does not own: making it (`caller.ts`).
 */
import type { Effort } from 'schema/projection';
import type {
  ModelAborted,
  ModelAnswer,
  ModelDelta,
  ModelFault,
  ModelMessage,
  ToolDefinition,
} from '../../ports/model.ts';

export interface Asked {
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolDefinition[];
  /** From 0 to 2; null: not sent. */
  readonly temperature: number | null;
  /** One that the model knows; null: not sent. */
  readonly effort: Effort | null;
  /** Most tokens of the answer, below the setting; absent: as set. */
  readonly maxOutput?: number;
}

/** A fault as one attempt sees it: whether another model is left is not its to know. */
export type Fault = Omit<ModelFault, 'othersLeft'>;

export type Attempted = ModelAnswer | Fault | ModelAborted;

export interface Caller {
  /** Never throws; `onDelta` is called synchronously as pieces arrive and never after the promise settles. */
  call(asked: Asked, signal: AbortSignal, onDelta: (delta: ModelDelta) => void): Promise<Attempted>;
}
