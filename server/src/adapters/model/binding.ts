/**
 * Owns: what one alias stands for, as a whole: an endpoint, a model there, and how that model wants to be spoken to.
 * Does not own: where it is read from (`file/`, `index.ts`), or what its endpoint turned out to want (`caller.ts`).
 *
 * Invariant: never changed, only replaced; a call that has begun keeps the one it began with.
 */
import type { Effort, Native } from 'schema/projection';
import type { ModelPrice } from '../../ports/model.ts';
import type { Endpoint } from './endpoint.ts';

export interface Binding {
  readonly alias: string;
  /** Where its settings come from. */
  readonly source: 'ENVIRONMENT' | 'FILE';
  readonly endpoint: Endpoint;
  /** The name of the model at its endpoint. */
  readonly model: string;
  readonly dialect: Native['dialect'];
  /** Aliases that are asked in its place when it fails, in order. */
  readonly fallbacks: readonly string[];
  /** Tokens it can read at once; null: not configured. */
  readonly window: number | null;
  /** Most tokens of one answer; null: not sent. */
  readonly maxOutput: number | null;
  /** Used where the workstream sets none; null: not sent. */
  readonly temperature: number | null;
  readonly effort: Effort | null;
  /** Calls at the same time; null: no bound. */
  readonly concurrency: number | null;
  readonly price: ModelPrice | null;
  readonly traits: Traits;
}

/** How a model differs from what most of them do. */
export interface Traits {
  readonly vision: boolean;
  readonly reasoning: boolean;
  /** The efforts it knows, weakest first; empty: it is told none. */
  readonly efforts: readonly Effort[];
  /** False: it is told to call one tool at a time. */
  readonly parallelTools: boolean;
  /** Whether a chat completion may be asked to count its tokens (`stream_options`). */
  readonly streamOptions: boolean;
  /** It may end its stream without a finish reason and without [DONE] (D-37). */
  readonly finishOptional: boolean;
  /** Its text begins inside of a thought whose opening tag was part of the prompt. */
  readonly reasoningStartsOpen: boolean;
  /** It wants to be told again what it thought, in the field in which that came. */
  readonly replayReasoning: boolean;
  /** What stands for the text of an answer that has only calls: providers refuse one or another of these. */
  readonly emptyText: 'NULL' | 'EMPTY' | 'ABSENT';
  /** The name of the field for `maxOutput` in a chat completion. */
  readonly outputField: 'max_completion_tokens' | 'max_tokens';
}

/** What is assumed of a model of which nothing is said. */
export const usualTraits: Traits = {
  vision: false,
  reasoning: false,
  efforts: [],
  parallelTools: true,
  streamOptions: true,
  finishOptional: false,
  reasoningStartsOpen: false,
  replayReasoning: false,
  emptyText: 'NULL',
  outputField: 'max_completion_tokens',
};
