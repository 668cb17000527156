/** Owns: answering a question, and where the keyboard goes on then. */
import type { Action } from '../../lib/action.svelte.ts';
import type { Decision } from '../workstream/workstream.svelte.ts';

/** Whoever went elsewhere before the answer was here is not fetched back. */
const stayed = (): boolean => {
  const { activeElement } = document;
  return (
    !activeElement || activeElement === document.body || activeElement.closest('[data-reading]') !== null
  );
};

/**
 * Decides, and calls `after` when the keyboard was at the question and is still there. The feed may take the card away
 * before the answer is here: what is needed then is handed over before.
 */
export async function decideAndGoOn(
  action: Action<Decision, unknown>,
  decision: Decision,
  after: (callId: string) => Promise<void>,
): Promise<void> {
  const hadFocus = document.activeElement?.closest('[data-call]') !== null;
  await action.run(decision);
  if (!action.problem && hadFocus && stayed()) await after(decision.callId);
}
