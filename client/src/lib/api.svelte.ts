/** Owns: what every signed-in page is given: the client of this token, what the server is, the way out. */
import { failureText, serverQuery, type Failure, type Persistent, type WeirClient } from 'schema/client-kit';
import type { ResultOf } from 'schema/client-kit';
import { getContext, setContext } from 'svelte';

export type ServerInfo = ResultOf<typeof serverQuery>;

export class Api {
  readonly client: WeirClient;
  info = $state.raw<ServerInfo | null>(null);
  failure = $state.raw<string | null>(null);
  #loading: Persistent | null = null;
  readonly #signedOut: (reason: string) => void;

  constructor(client: WeirClient, signedOut: (reason: string) => void) {
    this.client = client;
    this.#signedOut = signedOut;
  }

  /** The server does not take our token any more. */
  signedOut(reason: string): void {
    this.#signedOut(reason);
  }

  /** Asks what the server is until it says so, or until the returned function is called. */
  load(): () => void {
    this.#loading = this.client.ask(serverQuery, {}, (answer) => {
      if (answer.ok) {
        this.info = answer.data;
        this.failure = null;
      } else this.failure = this.explain(answer.failure);
    });
    return this.#loading.stop;
  }

  /** Asks at once instead of after the pause that follows a failure. */
  hurry(): void {
    this.#loading?.nudge();
  }

  /** One sentence for a person; a token that is not accepted leads out. */
  explain(failure: Failure): string {
    if (failure.type === 'Unauthenticated') this.signedOut(failure.message);
    return failureText(failure);
  }
}

const key = Symbol('api');
export const setApi = (api: Api): Api => setContext(key, api);
export const getApi = (): Api => getContext<Api>(key);
