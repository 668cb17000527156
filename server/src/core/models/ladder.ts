/**
 * Owns: whether, when and whom to ask again after a failed model call (D-37). Pure, so that every caller climbs the
 * same way: a turn, a title, whatever comes.
 *
 * Invariants: it ends: at most `maxAttempts` for each model and `maxReissues` for each answer; an answer that broke off
 * is asked for anew from its beginning, at the same model first; who chooses another model begins at the bottom; the
 * first fault is the one reported.
 */
import { cut } from '../kit/cut.ts';
import { remedies, type ModelFault, type Remedy } from './fault.ts';

/** Attempts at one model before a response is accepted, the first included (D-37). */
const maxAttempts = 4;
/** New requests for an answer that broke off after it was accepted (D-37). */
const maxReissues = 2;
/** Milliseconds before the second, third and fourth attempt, and before the first and second re-issue (D-37). */
const backoffMs: readonly number[] = [1_000, 2_000, 4_000];
/** The longest wait a provider may ask for, milliseconds; one that asks for more is given up (D-37). */
const maxRetryAfterMs = 60_000;

/** Of how many fallbacks it is told why they did not answer, and in how many UTF-16 units of each. */
const maxReasonsTold = 3;
const maxReasonTold = 300;

export interface Ladder {
  /** The model to ask; null: the first that is fit, beginning with the one asked for. */
  readonly lane: string | null;
  /** Which attempt at it comes or runs, 1 for the first. */
  readonly number: number;
  readonly reissues: number;
  /** Aliases that are not asked again for this answer. */
  readonly givenUp: readonly string[];
  /** Why each of them was given up, for people, in the same order. */
  readonly reasons: readonly string[];
  readonly fault: ModelFault | null;
}

export const bottom: Ladder = { lane: null, number: 1, reissues: 0, givenUp: [], reasons: [], fault: null };

export type Climb =
  /** Ask again after `ms`. `attempt`: for people, which comes, of how many. */
  | { readonly type: 'wait'; readonly ladder: Ladder; readonly ms: number; readonly attempt: string }
  /** Ask the next model at once. */
  | { readonly type: 'goOn'; readonly ladder: Ladder }
  | { readonly type: 'giveUp'; readonly fault: ModelFault };

/** `remedy`: what follows, where that is not for its kind to say. */
export function climb(ladder: Ladder, fault: ModelFault, remedy: Remedy = remedies[fault.kind]): Climb {
  const reported: Ladder = { ...ladder, fault: ladder.fault ?? fault };
  // Who asks for no wait, or for one that is over by a clock that goes otherwise, has not said when.
  const asked = fault.retryAfterMs ?? 0;
  const patient = remedy === 'RETRY' && asked <= maxRetryAfterMs;
  const without: Ladder = {
    ...reported,
    givenUp: [...ladder.givenUp, fault.alias],
    reasons: [...ladder.reasons, fault.message],
  };
  if (fault.accepted) {
    if (!patient || ladder.reissues >= maxReissues) return giveUp(without);
    const reissues = ladder.reissues + 1;
    return {
      type: 'wait',
      ladder: { ...reported, lane: fault.alias, number: 1, reissues },
      ms: asked || backoffMs[reissues - 1]!,
      attempt: `answer ${reissues + 1} of ${maxReissues + 1}`,
    };
  }
  if (patient && ladder.number < maxAttempts)
    return {
      type: 'wait',
      ladder: { ...reported, lane: fault.alias, number: ladder.number + 1 },
      ms: asked || backoffMs[ladder.number - 1]!,
      attempt: `attempt ${ladder.number + 1} of ${maxAttempts}`,
    };
  const movesOn = (remedy === 'RETRY' || remedy === 'FALLBACK') && fault.othersLeft;
  if (!movesOn) return giveUp(without);
  return { type: 'goOn', ladder: { ...without, lane: null, number: 1 } };
}

/** The first fault is what is told; of its fallbacks, some with their reasons, each said once, and the others by name. */
function giveUp({ fault, givenUp, reasons: whys }: Ladder): Climb {
  const first = fault!;
  const others = givenUp
    .map((alias, i) => ({ alias, reason: whys[i]! }))
    .filter(({ alias }) => alias !== first.alias);
  if (others.length === 0) return { type: 'giveUp', fault: first };
  const named = others.map(({ alias }) => `"${alias}"`).join(', ');
  const reasons = new Set(others.map(({ reason }) => reason));
  reasons.delete(first.message);
  const why = reasons.size === 0 ? ', for the same reason' : '';
  const told = withoutAdviceAgain(first.message, [...reasons].slice(0, maxReasonsTold)).map(shortened);
  const message = [`${first.message} Its fallbacks did not answer either${why}: ${named}.`, ...told].join(
    ' ',
  );
  return { type: 'giveUp', fault: { ...first, message } };
}

/** What to do stands at the end of a reason, behind a semicolon: where it is what was said before, it is left out. */
function withoutAdviceAgain(first: string, reasons: readonly string[]): readonly string[] {
  const said = [first, ...reasons].map(adviceIn);
  return reasons.map((reason, i) => {
    const advice = adviceIn(reason);
    return advice !== '' && said.indexOf(advice) <= i ? withoutAdvice(reason) : reason;
  });
}

/** The reason alone, where what to do about it is being done. */
export function withoutAdvice(reason: string): string {
  const advice = adviceIn(reason);
  return advice === '' ? reason : `${reason.slice(0, -advice.length)}.`;
}

const adviceIn = (reason: string): string => {
  const at = reason.lastIndexOf('; ');
  return at < 0 ? '' : reason.slice(at);
};

const shortened = (reason: string): string =>
  reason.length <= maxReasonTold ? reason : `${cut(reason, maxReasonTold)}…`;
