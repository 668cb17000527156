/**
 * Owns: the need to judge the condition of a watch (D-83): when it is made, and at each poll. Conditions and outputs are
 * hostile: nothing they say reaches the process that judges, and a judgement is bounded in time and memory.
 */
export interface ConditionFacts {
  /** Output of this poll. */
  readonly output: string;
  /** Output of the poll before; null: there was none. */
  readonly prevOutput: string | null;
  /** -1: it did not end by itself. */
  readonly exitCode: number;
  /** Number of the poll, 1 for the first. */
  readonly poll: number;
  /** Whole seconds since the watch was made. */
  readonly elapsedSeconds: number;
}

export type Verdict =
  | { readonly type: 'holds' }
  | { readonly type: 'holdsNot' }
  /** One sentence: what in it went wrong, and the spelling to use where that is known. */
  | { readonly type: 'failed'; readonly message: string }
  /** It could not be judged, through no fault of its own: this says nothing about it, and is no error of it. One sentence: why. */
  | { readonly type: 'unjudged'; readonly message: string };

export type ConditionCheck =
  | { readonly type: 'sound' }
  /** `column`: of the place it is about, in UTF-16 code units, 1 for the first; null: of the whole. `message`: one sentence. */
  | {
      readonly type: 'unsound';
      readonly message: string;
      readonly line: number;
      readonly column: number | null;
    };

export interface Conditions {
  /** Syntax, names and types. Never rejects. */
  check(expression: string): Promise<ConditionCheck>;
  /** At most 200 ms and 64 MB, whatever is in it. `isTrial`: it waits for those of polls. Never rejects. */
  judge(expression: string, facts: ConditionFacts, isTrial?: boolean): Promise<Verdict>;
  /** Ends its workers. */
  stop(): Promise<void>;
}
