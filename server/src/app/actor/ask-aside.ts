/**
 * Owns: asking a model beside the turn, for what nobody waits for (a name), by the ladder that a turn climbs (`ask.ts`).
 *
 * Invariants: it is over at once when it is aborted, and in any case after its term; one call is over sooner, and when a turn
 * waits for its slot: then it is asked again.
 */
import type { Clock } from '../../ports/clock.ts';
import type { Model, ModelAnswer } from '../../ports/model.ts';
import { ask, type Asking, type Question } from './ask.ts';

/** What nobody waits for may take no longer, its waits included: a minute is what a provider may ask for. Milliseconds. */
const termMs = 120_000;
/** One call, from when it is asked: it has a slot that a turn may want. */
const callMs = 30_000;

/** The answer; null: none came, or it was aborted. Begins with `lane`. */
export async function askAside(
  { model, clock }: { readonly model: Model; readonly clock: Clock },
  question: Question,
  signal: AbortSignal,
  asking: Asking,
): Promise<ModelAnswer | null> {
  const late = new AbortController();
  const end = (): void => late.abort();
  const brief: Pick<Model, 'call'> = {
    call(request, over, onEvent) {
      let cancelCall = clock.after(callMs, end);
      return model
        .call(request, over, (event) => {
          // The wait for a slot is nobody's fault; its term begins when it is asked.
          if (event.type === 'notice' && event.code === 'MODEL_WAITING') cancelCall();
          if (event.type === 'notice' && event.code === 'MODEL_ASKED') {
            cancelCall();
            cancelCall = clock.after(callMs, end);
          }
          onEvent(event);
        })
        .finally(() => cancelCall());
    },
  };
  const cancelTerm = clock.after(termMs, end);
  try {
    const over = AbortSignal.any([signal, late.signal]);
    const outcome = await ask({ model: brief, clock }, { ...question, yields: true }, over, asking);
    return outcome.type === 'answered' ? outcome : null;
  } finally {
    cancelTerm();
  }
}
