/** Owns: the list of workstreams as it is now, and what of it needs a person. */
import type { States } from 'schema/client-kit';
import { getContext, setContext } from 'svelte';
import type { Api } from '../../lib/api.svelte.ts';
import { createFrame } from '../../lib/frame.ts';
import { announcement, listed, type Filter } from './order.ts';

export class Workstreams {
  states = $state.raw<States>({
    connection: { status: 'CONNECTING' },
    workstreams: null,
    persistence: null,
  });
  filter = $state.raw<Filter>('OPEN');
  readonly listed = $derived(listed(this.states.workstreams?.values() ?? [], this.filter));
  /** For the live region. */
  announced = $state.raw('');
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** Follows the list until the returned function is called. */
  start(): () => void {
    const frame = createFrame<States>((states) => {
      const before = this.listed.needsYou;
      this.states = states;
      this.announced = announcement(before, this.listed.needsYou, this.announced);
      if (states.connection.status === 'SIGNED_OUT') this.#api.signedOut(states.connection.reason);
    });
    const following = this.#api.client.followStates(frame.bring);
    addEventListener('online', following.nudge);
    return () => {
      removeEventListener('online', following.nudge);
      following.stop();
      frame.cancel();
    };
  }
}

const key = Symbol('workstreams');
export const setWorkstreams = (workstreams: Workstreams): Workstreams => setContext(key, workstreams);
export const getWorkstreams = (): Workstreams => getContext<Workstreams>(key);
