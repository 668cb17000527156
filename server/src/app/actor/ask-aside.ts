/**
 * Owns: asking a model beside the turn, for a name or whatever comes, by the ladder that a turn climbs (D-36, D-37).
 * Does not own: the turn's own calls, whose attempts are shown (`core/turn/model-call.ts`).
 *
 * Invariants: no slot is held during a wait; it is over at once when it is aborted, and in any case after its term.
 */
import { bottom, climb } from '../../core/models/ladder.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Model, ModelAnswer, ModelRequest } from '../../ports/model.ts';
import { within } from '../within.ts';

/** What nobody waits for may take no longer, its waits included: a minute is what a provider may ask for. Milliseconds. */
const termMs = 120_000;
/** One call, from when it is asked: it has a slot that a turn may want. */
const callMs = 30_000;

/** The answer; null: none came, or it was aborted. Begins with `lane`. */
export async function askAside(
  { model, clock }: { readonly model: Model; readonly clock: Clock },
  request: Omit<ModelRequest, 'givenUp'>,
  signal: AbortSignal,
): Promise<ModelAnswer | null> {
  const late = new AbortController();
  const end = (): void => late.abort();
  const over = AbortSignal.any([signal, late.signal]);
  const aborted = new Promise<true>((resolve) =>
    over.addEventListener('abort', () => resolve(true), { once: true }),
  );
  const cancelTerm = clock.after(termMs, end);
  let cancelCall = (): void => undefined;
  const asked = (): void => {
    cancelCall();
    cancelCall = clock.after(callMs, end);
  };
  let ladder = { ...bottom, lane: request.lane };
  try {
    for (;;) {
      const { lane, givenUp } = ladder;
      asked();
      const outcome = await model
        .call({ ...request, lane, givenUp }, over, (event) => {
          if (event.type !== 'notice') return;
          if (event.code === 'MODEL_WAITING') cancelCall();
          if (event.code === 'MODEL_ASKED') asked();
        })
        .finally(() => cancelCall());
      if (outcome.type !== 'failed') return outcome.type === 'answered' ? outcome : null;
      const next = climb(ladder, outcome);
      if (next.type === 'giveUp') return null;
      if (next.type === 'wait' && (await within(clock, next.ms, aborted))) return null;
      ladder = next.ladder;
    }
  } finally {
    cancelTerm();
  }
}
