/**
 * Owns: one button's deed: whether it is under way, what it waits for, why it did not work.
 *
 * Invariant: pressing again after a failure repeats the same intent, key included, as long as the input is the same
 * (D-60); another input is another intent. What was wrong with a field is said until somebody writes there, or until there
 * is another answer.
 */
import type { Intent, Outcome, Progress } from 'schema/client-kit';
import { getApi, type Api } from './api.svelte.ts';

export interface Problem {
  readonly message: string;
  /** The input field that is wrong, when one is. */
  readonly field: string | null;
  /** True when pressing again may help: nobody knows whether it happened. */
  readonly unsettled: boolean;
  readonly code: string | null;
}

export class Action<Input, Accepted> {
  busy = $state(false);
  progress = $state.raw<Progress | null>(null);
  problem = $state.raw<Problem | null>(null);

  readonly #api: Pick<Api, 'signedOut'>;
  readonly #intend: (input: Input) => Intent<Accepted>;
  #unsettled: { readonly input: string; readonly intent: Intent<Accepted> } | null = null;

  constructor(intend: (input: Input) => Intent<Accepted>, api: Pick<Api, 'signedOut'> = getApi()) {
    this.#intend = intend;
    this.#api = api;
  }

  /** The payload when it was accepted, else null; `problem` then says why. Does nothing while under way. */
  async run(input: Input): Promise<Accepted | null> {
    if (this.busy) return null;
    const told = JSON.stringify(input);
    const intent = this.#unsettled?.input === told ? this.#unsettled.intent : this.#intend(input);
    this.busy = true;
    this.problem = null;
    const outcome = await intent.run((progress) => {
      this.progress = progress;
    });
    this.busy = false;
    this.progress = null;
    this.#unsettled = outcome.type === 'Failed' ? { input: told, intent } : null;
    this.problem = problemOf(outcome);
    if (outcome.type === 'Failed' && outcome.failure?.type === 'Unauthenticated')
      this.#api.signedOut(outcome.message);
    return outcome.type === 'Accepted' ? outcome.payload : null;
  }

  forget(): void {
    this.problem = null;
  }

  /** For the input events of a form whose fields bear the names that the server has for them. */
  readonly edited = ({ target }: Pick<Event, 'target'>): void => {
    const field = target !== null && 'name' in target ? target.name : null;
    if (field !== null && field === this.problem?.field) this.forget();
  };
}

/** Why it did not work, for a person; null when it did. */
export function problemOf(outcome: Outcome<unknown>): Problem | null {
  switch (outcome.type) {
    case 'Accepted':
      return null;
    case 'Rejected': {
      const { message, field, code } = outcome;
      return { message, field, unsettled: false, code };
    }
    case 'Failed':
      return { message: outcome.message, field: null, unsettled: true, code: null };
  }
}
