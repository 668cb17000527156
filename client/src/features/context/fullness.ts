/**
 * Owns: how full the context of the model is, as it is said to a person (D-39). Pure.
 * Does not own: how many tokens that are (the projection), how it looks (`ContextMeter.svelte`).
 *
 * Invariants: what is estimated has "about" before it; where the window is not known no share of it is told; that it is
 * nearly full is said in words.
 */
import { isEstimated, isNearlyFull, usedOf, type ContextMark } from 'schema/projection';
import { tokensInFull, tokensInShort } from '../models/model-words.ts';

export interface Fullness {
  readonly used: number;
  /** Null: not known. */
  readonly window: number | null;
  /** NOTHING: nothing was said yet. FULL: nearly. OVER: it does not fit. */
  readonly state: 'NOTHING' | 'CALM' | 'FULL' | 'OVER';
  readonly estimated: boolean;
  /** `about 12.4k of 32k`, and `about 12.4k` where the window is not known. */
  readonly amount: string;
  /** `38 %`; empty where that cannot be told. */
  readonly share: string;
  /** `nearly full`, to follow these; empty where there is nothing to warn of. */
  readonly warning: string;
  /** All of that in one line, in full numbers. */
  readonly long: string;
}

/** `windowSetUp`: what the chosen model can read as it is set up, for as long as none has answered. */
export function fullnessOf(context: ContextMark, windowSetUp: number | null): Fullness {
  const window = context.window ?? windowSetUp;
  const mark: ContextMark = { ...context, window };
  const used = usedOf(mark);
  const estimated = isEstimated(mark);
  if (context.told === 0 && context.counted === null)
    return {
      used: 0,
      window,
      state: 'NOTHING',
      estimated: false,
      amount: 'empty',
      share: '',
      warning: '',
      long: 'nothing was said yet',
    };
  const about = estimated ? 'about ' : '';
  if (window === null)
    return {
      used,
      window,
      state: 'CALM',
      estimated,
      amount: `${about}${tokensInShort(used)}`,
      share: '',
      warning: 'tokens, window not known',
      long: `${about}${tokensInFull(used)} tokens; how many the model can read is not known`,
    };
  const state = used > window ? 'OVER' : isNearlyFull(mark) ? 'FULL' : 'CALM';
  const share = `${Math.round((used / window) * 100)} %`;
  const warning = warnings[state];
  const said = `${about}${tokensInFull(used)} of ${tokensInFull(window)} tokens, ${share}`;
  return {
    used,
    window,
    state,
    estimated,
    amount: `${about}${tokensInShort(used, window)} of ${tokensInShort(window)}`,
    share,
    warning,
    long: warning === '' ? said : `${said}: ${warning}`,
  };
}

const warnings = { CALM: '', FULL: 'nearly full', OVER: 'does not fit' } as const;
