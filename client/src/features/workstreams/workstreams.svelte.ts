/** Owns: the list of workstreams as it is now, as far as it was read, and what of it needs a person. */
import {
  listedIn,
  noStates,
  rowIn,
  type Listing,
  type Older,
  type States,
  type StatesFollower,
  type WorkstreamSummary,
} from 'schema/client-kit';
import { getContext, setContext } from 'svelte';
import type { Api } from '../../lib/api.svelte.ts';
import { createFrame } from '../../lib/frame.ts';
import { announcement, listed } from './order.ts';

export class Workstreams {
  states = $state.raw<States>(noStates);
  filter = $state.raw<Listing>('OPEN');
  readonly listed = $derived(
    listed(this.states.workstreams?.values() ?? [], listedIn(this.states, this.filter)),
  );
  /** How far what the filter shows was read. */
  readonly older = $derived<Older>(this.states.older[this.filter]);
  /** For the live region. */
  announced = $state.raw('');
  readonly #api: Api;
  #following: StatesFollower | null = null;

  constructor(api: Api) {
    this.#api = api;
  }

  /** The row of a workstream: null when there is no such one, undefined when nobody has read it. */
  row(id: string): WorkstreamSummary | null | undefined {
    return rowIn(this.states, id);
  }

  /** Reads on in what the filter shows. */
  showOlder(): void {
    this.#following?.loadOlder(this.filter);
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
    this.#following = following;
    addEventListener('online', following.nudge);
    return () => {
      this.#following = null;
      removeEventListener('online', following.nudge);
      following.stop();
      frame.cancel();
    };
  }
}

const key = Symbol('workstreams');
export const setWorkstreams = (workstreams: Workstreams): Workstreams => setContext(key, workstreams);
export const getWorkstreams = (): Workstreams => getContext<Workstreams>(key);
