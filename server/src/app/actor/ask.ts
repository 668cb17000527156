/**
 * Owns: asking a model by the ladder that a turn climbs (D-36, D-37), for whatever is no turn: a summary, a name.
 * Does not own: the turn's own calls, whose attempts are shown (`core/turn/model-call.ts`).
 *
 * Invariants: no slot is held during a wait; it is over at once when it is aborted; every call that ended is told once.
 */
import { remedies } from '../../core/models/fault.ts';
import { bottom, climb, withoutAdvice, type Ladder } from '../../core/models/ladder.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Model, ModelOutcome, ModelRequest } from '../../ports/model.ts';
import { within } from '../within.ts';
import { createSaid, type Said } from './spending.ts';

/** How long who has yielded a slot lets others have it, before it waits for one again. Milliseconds. */
const yieldedMs = 2_000;

/** What is said, and how long the answer may be. */
export type Wording = Pick<ModelRequest, 'messages' | 'maxOutput'>;

/** Whom the next request goes to, as far as the caller says: the first that is fit, or `lane`. */
export type Addressee = Pick<ModelRequest, 'lane' | 'givenUp'>;

export interface Question extends Omit<ModelRequest, 'givenUp' | keyof Wording> {
  /** Aliases that are not asked. */
  readonly givenUp?: readonly string[];
  /** No other model is asked than `lane`. */
  readonly pinned?: boolean;
  /** In which words it is asked: once of each model. */
  worded(to: Addressee): Wording;
}

export interface Asking {
  /** A call has ended, whatever came of it: what was asked, and what was said before it ended. */
  ended(request: ModelRequest, outcome: ModelOutcome, said: Said): void;
  /** What a person who waits should know. */
  notice?(sentence: string): void;
  /** Asked before another call; when it says no, that is as good as an abort. */
  mayGoOn?(): boolean;
}

/**
 * The answer; or why there is none: the first fault, but for an overflow, which is about this very question and is told
 * as it is.
 */
export async function ask(
  { model, clock }: { readonly model: Pick<Model, 'call'>; readonly clock: Clock },
  { pinned = false, givenUp = [], worded, ...question }: Question,
  signal: AbortSignal,
  asking: Asking,
): Promise<ModelOutcome> {
  let wake = (): void => undefined;
  const aborted = new Promise<true>((resolve) => (wake = () => resolve(true)));
  signal.addEventListener('abort', wake, { once: true });
  const notice = (sentence: string): void => asking.notice?.(sentence);
  let ladder: Ladder = { ...bottom, lane: question.lane };
  const to = (): Addressee => ({ lane: ladder.lane, givenUp: [...givenUp, ...ladder.givenUp] });
  let wording = worded(to());
  try {
    while (!signal.aborted) {
      const said = createSaid();
      const asked: ModelRequest = { ...question, ...wording, ...to() };
      const outcome = await model.call(asked, signal, (event) =>
        event.type === 'notice' ? notice(event.message) : said.add(event),
      );
      asking.ended(asked, outcome, said);
      if (outcome.type === 'aborted' && question.yields && !signal.aborted) {
        await within(clock, yieldedMs, aborted);
        continue;
      }
      if (outcome.type !== 'failed' || remedies[outcome.kind] === 'COMPACT') return outcome;
      const next = climb(ladder, outcome);
      if (next.type === 'giveUp') return next.fault;
      if (next.type === 'goOn' && pinned) return next.ladder.fault ?? outcome;
      if (asking.mayGoOn?.() === false) break;
      ladder = next.ladder;
      if (next.type === 'wait') {
        notice(
          `${withoutAdvice(outcome.message)} Trying again in ${Math.ceil(next.ms / 1_000)} s (${next.attempt}).`,
        );
        await within(clock, next.ms, aborted);
      } else {
        notice(`${withoutAdvice(outcome.message)} Asking another model.`);
        wording = worded(to());
      }
    }
    return { type: 'aborted' };
  } finally {
    signal.removeEventListener('abort', wake);
  }
}
