/**
 * Owns: what the end of an answer means: complete, cut off, empty, filtered, declined, or out of room. Pure.
 * Does not own: the sentence about it (`faults.ts`).
 */
import type { Finish } from 'schema/projection';
import type { FaultKind } from '../../../ports/model.ts';

/** DONE: the provider's own word that it is through. CLOSED: the stream ended in an orderly way. */
export type Ending = 'DONE' | 'CLOSED';

export interface Said {
  /** Nothing that a person or the loop could use. */
  readonly silent: boolean;
  /** The model said that it would not answer. */
  readonly declined: boolean;
  /** Something came: text, thoughts or calls. */
  readonly delivered: boolean;
  /** The last finish reason in small letters, '' when none came. */
  readonly word: string;
  /** It may end without one (a trait of the model). */
  readonly finishOptional: boolean;
}

export interface Wrong {
  readonly type: 'wrong';
  readonly kind: FaultKind;
  readonly what?: string;
  readonly advice?: string;
}

/** A map: a word may be anything, also the name of what every object has. */
const finishByWord: ReadonlyMap<string, Finish> = new Map(
  Object.entries({
    stop: 'STOP',
    stop_sequence: 'STOP',
    end_turn: 'STOP',
    eos: 'STOP',
    tool_calls: 'TOOL_CALLS',
    tool_use: 'TOOL_CALLS',
    function_call: 'TOOL_CALLS',
    length: 'LENGTH',
    max_tokens: 'LENGTH',
    max_output_tokens: 'LENGTH',
    model_length: 'LENGTH',
    content_filter: 'CONTENT_FILTER',
    safety: 'CONTENT_FILTER',
    refusal: 'CONTENT_FILTER',
  } satisfies Record<string, Finish>),
);

/**
 * Words by which an endpoint says that it did not get through. What came is no answer and may be half a call, so that
 * none of it is run, unlike calls of an answer that ended for a reason nobody knows (D-30, D-38).
 */
const broken: ReadonlySet<string> = new Set([
  'error',
  'failed',
  'abort',
  'aborted',
  'cancelled',
  'canceled',
  'queued',
  'in_progress',
  'timeout',
]);

/** Whether a finish reason, in small letters, says that the answer broke down. */
export const isBroken = (word: string): boolean => broken.has(word);

/** What an answer amounts to at its end. `calls`: it has some. */
export function settle(
  { silent, declined, delivered, word, finishOptional }: Said,
  ending: Ending,
  calls: boolean,
): { readonly type: 'complete'; readonly finish: Finish } | Wrong {
  if (isBroken(word)) return { type: 'wrong', kind: 'PROVIDER_ERROR' };
  // [DONE] without a reason counts as one. A plain end of the stream is what a crash or a proxy makes too, and counts
  // as complete only after a finish reason, or where the model is known to give none (D-37).
  if (word === '' && ending === 'CLOSED' && !(finishOptional && delivered)) {
    return {
      type: 'wrong',
      kind: 'MALFORMED',
      what: 'broke off in the middle of its answer',
      advice: 'try again',
    };
  }
  const named = word === '' ? null : (finishByWord.get(word) ?? 'OTHER');
  if (silent) return { type: 'wrong', kind: kindOfSilence(word, named) };
  // A refusal is text that a person reads, and not the answer that was asked for.
  return {
    type: 'complete',
    finish: declined ? 'CONTENT_FILTER' : (named ?? (calls ? 'TOOL_CALLS' : 'STOP')),
  };
}

function kindOfSilence(word: string, finish: Finish | null): FaultKind {
  if (word === 'refusal') return 'REFUSAL';
  if (finish === 'CONTENT_FILTER') return 'CONTENT_FILTER';
  return finish === 'LENGTH' ? 'NO_ROOM' : 'EMPTY';
}
