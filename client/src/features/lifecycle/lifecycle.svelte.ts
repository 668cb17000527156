/**
 * Owns: what a person does to a workstream as a whole, wherever on the page it is asked for: naming it, closing and
 * opening it, deleting it, forking it.
 * Does not own: whether that can be (the server answers a refusal), how the list is shown (`workstreams`).
 *
 * Invariant: what is under way for a workstream, and why it did not work, is one value wherever it is shown, and
 * outlives the page it was asked on.
 */
import {
  closeWorkstream,
  configureWorkstream,
  deleteWorkstream,
  forkWorkstream,
  openWorkstream,
} from 'schema/client-kit';
import { getContext, setContext } from 'svelte';
import { Action } from '../../lib/action.svelte.ts';
import type { Api } from '../../lib/api.svelte.ts';
import type { Router } from '../../lib/router.svelte.ts';
import { hashOf, type Route } from '../../lib/routes.ts';
import { deletedWords, inTurns, isUnderWay, type Closing } from './lifecycle.ts';

/** What can be done to one workstream. */
export interface Deeds {
  readonly renaming: Action<{ title: string }, unknown>;
  readonly closing: Action<object, unknown>;
  readonly opening: Action<object, unknown>;
  readonly deleting: Action<object, { readonly workspaceKept: string | null }>;
  readonly forking: Action<{ revision: number | null }, { readonly workstreamId: string }>;
}

/** How many are closed at a time: each may wait for something to stop. */
const AT_ONCE = 4;

export class Lifecycle {
  /** What was done to something that is not there any more to show it. */
  notice = $state.raw<string | null>(null);
  /** The last closing of several; null before the first. */
  closingAll = $state.raw<Closing | null>(null);
  readonly #api: Api;
  readonly #router: Router;
  /** The address at which the notice is shown. */
  #saidAt: string | null = null;
  readonly #deeds: Record<string, Deeds> = {};

  constructor(api: Api, router: Router) {
    this.#api = api;
    this.#router = router;
  }

  /** The same each time it is asked for. */
  of(workstreamId: string): Deeds {
    return (this.#deeds[workstreamId] ??= this.#make(workstreamId));
  }

  /** Forgets why former deeds did not work. */
  forget(workstreamId: string): void {
    for (const deed of Object.values(this.of(workstreamId)) as readonly Deeds[keyof Deeds][]) deed.forget();
  }

  /** Makes another one that begins with what was said up to this entry (null: up to now), and goes there. */
  async fork(workstreamId: string, revision: number | null): Promise<void> {
    const made = await this.of(workstreamId).forking.run({ revision });
    if (made) this.#router.go({ page: 'workstream', id: made.workstreamId });
  }

  /** Deletes it, says so, and leaves its page, if that is shown. `gone`: called before that, unless it was refused. */
  async delete(workstreamId: string, title: string, gone: () => void): Promise<void> {
    const done = await this.of(workstreamId).deleting.run({});
    if (!done) return;
    gone();
    const { route } = this.#router;
    const leaves = route.page === 'workstream' && route.id === workstreamId;
    const to: Route = leaves ? { page: 'home' } : route;
    this.notice = deletedWords(title, done.workspaceKept);
    this.#saidAt = hashOf(to);
    if (leaves) this.#router.go(to);
  }

  /** To be called when the address has changed: what was said of what is over is not said everywhere. */
  moved(): void {
    if (hashOf(this.#router.route) === this.#saidAt) return;
    this.notice = null;
    this.forgetClosing();
  }

  /** Says no more how closing several went, once it is over. */
  forgetClosing(): void {
    if (this.closingAll && !isUnderWay(this.closingAll)) this.closingAll = null;
  }

  /** Closes these, a few at a time; each refusal stands at its row. Answers the ids of those that are closed. */
  async closeAll(workstreamIds: readonly string[]): Promise<readonly string[]> {
    const done: string[] = [];
    let refused = 0;
    const tell = () => {
      this.closingAll = { of: workstreamIds.length, closed: done.length, refused };
    };
    tell();
    await inTurns(workstreamIds, AT_ONCE, async (id) => {
      if (await this.of(id).closing.run({})) done.push(id);
      else refused += 1;
      tell();
    });
    return done;
  }

  #make(workstreamId: string): Deeds {
    const api = this.#api;
    const { client } = api;
    return {
      renaming: new Action(({ title }) => client.intend(configureWorkstream, { workstreamId, title }), api),
      closing: new Action(() => client.intend(closeWorkstream, { workstreamId }), api),
      opening: new Action(() => client.intend(openWorkstream, { workstreamId }), api),
      deleting: new Action(() => client.intend(deleteWorkstream, { workstreamId }), api),
      forking: new Action((input) => client.intend(forkWorkstream, { workstreamId, ...input }), api),
    };
  }
}

const key = Symbol('lifecycle');
export const setLifecycle = (lifecycle: Lifecycle): Lifecycle => setContext(key, lifecycle);
export const getLifecycle = (): Lifecycle => getContext<Lifecycle>(key);
