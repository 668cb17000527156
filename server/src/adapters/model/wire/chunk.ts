/**
 * Owns: what a piece of a streamed answer can be, whichever dialect it came in.
 * Does not own: how a dialect says it (`chat-reader.ts`, `responses-reader.ts`), or what pieces amount to (`drain.ts`).
 */
import type { Usage } from 'schema/projection';

export type Chunk =
  | { readonly type: 'model'; readonly name: string }
  /** `apart`: it does not go on with the text before it. */
  | { readonly type: 'text'; readonly text: string; readonly apart?: boolean }
  | { readonly type: 'reasoning'; readonly text: string; readonly apart?: boolean }
  /** What the model says to the person in place of an answer. */
  | { readonly type: 'refusal'; readonly text: string }
  /** Those of one event: two that name a tool are two calls, even when they are alike. */
  | { readonly type: 'calls'; readonly pieces: readonly CallPiece[] }
  | { readonly type: 'usage'; readonly usage: Partial<Usage> }
  | { readonly type: 'finish'; readonly word: string }
  /** What means something to this model alone, as it is kept (`Native`). */
  | { readonly type: 'native'; readonly part: unknown }
  /** There is more of it than is taken. */
  | { readonly type: 'tooLong' }
  /** A part of the answer did not come; `what` is for people. */
  | { readonly type: 'missing'; readonly what: string }
  | { readonly type: 'error'; readonly description: unknown }
  /** The provider's own word that nothing follows. */
  | { readonly type: 'end' };

export interface CallPiece {
  readonly index: number | null;
  /** Where the call stands among the others; null or absent: where it came. */
  readonly place?: number | null;
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  /** What the provider wants to see again beside the call, a JSON value. */
  readonly extra?: unknown;
}

/** Events of one answer in one dialect → chunks. Any JSON is accepted. */
export interface ChunkReader {
  /** `name` is the event's own field of the stream, '' when it has none. */
  read(event: unknown, name: string): readonly Chunk[];
  /** An answer that was not streamed, in the same words; null when it is none. */
  readWhole(body: unknown): readonly Chunk[] | null;
  /** Whether `[DONE]` alone says that an answer is complete. */
  readonly doneIsEnough: boolean;
}
