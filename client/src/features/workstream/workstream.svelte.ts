/**
 * Owns: one workstream as it is shown: what the client kit follows, brought to the page once a frame, and what a person
 * does to it.
 * Does not own: following (`client-kit`), what follows from entries (the projection), how it looks (the components).
 */
import {
  compactWorkstream,
  configureWorkstream,
  decideApproval,
  discardUnsaved,
  resumeQueue,
  stopTurn,
  type Followed,
  type Follower,
} from 'schema/client-kit';
import {
  activityOf,
  durableThrough,
  isStopping,
  liveTurn,
  openItems,
  stateOf,
  type ApprovalMode,
  type ModelChoice,
} from 'schema/projection';
import { getContext, setContext } from 'svelte';
import { SvelteSet } from 'svelte/reactivity';
import { Action } from '../../lib/action.svelte.ts';
import type { Api } from '../../lib/api.svelte.ts';
import { createFrame } from '../../lib/frame.ts';
import type { BoundsChange } from '../bounds/bounds.ts';
import { newsAfter, type SummaryNews } from '../context/summary-news.ts';
import { blocksOf } from '../transcript/blocks.ts';
import { watchSight } from './in-sight.ts';

export interface Decision {
  readonly cycleId: string;
  readonly callId: string;
  readonly argumentsHash: string;
  readonly verdict: 'APPROVED' | 'DENIED';
  readonly feedback: string | null;
}

export class Workstream {
  readonly id: string;
  followed = $state.raw<Followed>({
    connection: { status: 'CONNECTING' },
    known: null,
    missing: false,
    failure: null,
    loadingOlder: false,
  });

  readonly known = $derived(this.followed.known);
  readonly projection = $derived(this.known?.view.projection ?? null);
  readonly state = $derived(this.projection && stateOf(this.projection));
  readonly turn = $derived(this.projection && liveTurn(this.projection));
  readonly activity = $derived(this.projection && activityOf(this.projection));
  /** That the last summary came to nothing, as long as that is news. */
  summaryNews = $state.raw<SummaryNews | null>(null);
  readonly stopping = $derived(this.projection !== null && isStopping(this.projection));
  readonly asking = $derived(this.projection ? openItems(this.projection) : []);
  // Each on its own, so that an answer that grows does not have all that was said told anew.
  readonly entries = $derived(this.known?.entries ?? []);
  readonly durable = $derived(this.known ? durableThrough(this.known.view) : 0);
  readonly model = $derived(this.projection?.configuration.model ?? null);
  readonly blocks = $derived(blocksOf(this.entries, this.durable, this.model));

  readonly stopIt: Action<{ turnId: string }, unknown>;
  /** Stop without waiting for what runs (D-66). */
  readonly forceIt: Action<{ turnId: string }, unknown>;
  /** Ending once more what this turn, which is over, may have left running. */
  readonly endRest: Action<{ turnId: string }, { readonly nothingToStop: boolean }>;
  readonly resuming: Action<object, unknown>;
  readonly configuring: Action<{ approvalMode: ApprovalMode }, unknown>;
  /** The model to go on with, from its next call on. */
  readonly choosing: Action<ModelChoice, unknown>;
  /** Its instructions and its budget. */
  readonly bounding: Action<BoundsChange, unknown>;
  /** Summarising older history, because a person wants it. */
  readonly summarising: Action<object, unknown>;
  readonly discarding: Action<object, { readonly discarded: number }>;
  readonly #api: Api;
  /** What was typed to go along with a decision, by call id. It outlives the question, which others may answer. */
  readonly notes: Record<string, string> = $state({});
  /** The open questions that stand before the reader's eyes, by call id. */
  readonly inSight = new SvelteSet<string>();
  readonly #decisions: Record<string, Action<Decision, unknown>> = {};
  #follower: Follower | null = null;

  constructor(api: Api, id: string) {
    this.#api = api;
    this.id = id;
    const { client } = api;
    this.stopIt = new Action(({ turnId }) => client.intend(stopTurn, { workstreamId: id, turnId }), api);
    this.forceIt = new Action(
      ({ turnId }) => client.intend(stopTurn, { workstreamId: id, turnId, force: true }),
      api,
    );
    this.endRest = new Action(({ turnId }) => client.intend(stopTurn, { workstreamId: id, turnId }), api);
    this.resuming = new Action(() => client.intend(resumeQueue, { workstreamId: id }), api);
    this.configuring = new Action(
      ({ approvalMode }) => client.intend(configureWorkstream, { workstreamId: id, approvalMode }),
      api,
    );
    this.choosing = new Action(
      (model) => client.intend(configureWorkstream, { workstreamId: id, model }),
      api,
    );
    this.bounding = new Action(
      (change) => client.intend(configureWorkstream, { workstreamId: id, ...change }),
      api,
    );
    this.summarising = new Action(() => client.intend(compactWorkstream, { workstreamId: id }), api);
    this.discarding = new Action(() => client.intend(discardUnsaved, { workstreamId: id }), api);
  }

  /** The deciding of one call, the same each time it is asked for. */
  deciding(callId: string): Action<Decision, unknown> {
    return (this.#decisions[callId] ??= new Action<Decision, unknown>(
      (decision) => this.#api.client.intend(decideApproval, { workstreamId: this.id, ...decision }),
      this.#api,
    ));
  }

  /** For the element of a question about this call, as long as it is open. */
  sight(callId: string): (element: Element) => () => void {
    return (element) =>
      watchSight(element, (isSeen) => {
        if (isSeen) this.inSight.add(callId);
        else this.inSight.delete(callId);
      });
  }

  async stop(): Promise<void> {
    const { turn } = this;
    if (!turn || this.stopping || this.stopIt.busy) return;
    await end(this.stopIt, turn.id);
  }

  async forceStop(): Promise<void> {
    const { turn } = this;
    if (!turn || this.forceIt.busy) return;
    await end(this.forceIt, turn.id);
  }

  loadOlder(): Promise<void> {
    return this.#follower?.loadOlder() ?? Promise.resolve();
  }

  /** Tries at once instead of when the pause is over. */
  reconnect(): void {
    this.#follower?.nudge();
  }

  /** Follows until the returned function is called. */
  start(): () => void {
    const frame = createFrame<Followed>((followed) => {
      this.followed = followed;
      if (followed.connection.status === 'SIGNED_OUT') this.#api.signedOut(followed.connection.reason);
    });
    const follower = this.#api.client.observe(this.id, (followed) => {
      // What is said once may be gone again when the frame comes.
      const news = newsAfter(this.summaryNews, followed);
      if (news !== this.summaryNews) this.summaryNews = news;
      frame.bring(followed);
    });
    this.#follower = follower;
    addEventListener('online', follower.nudge);
    return () => {
      removeEventListener('online', follower.nudge);
      follower.stop();
      frame.cancel();
    };
  }
}

/** A turn that had ended by itself is what was wanted. */
async function end(deed: Action<{ turnId: string }, unknown>, turnId: string): Promise<void> {
  await deed.run({ turnId });
  if (deed.problem?.code === 'STALE_TURN') deed.forget();
}

const key = Symbol('workstream');
export const setWorkstream = (workstream: Workstream): Workstream => setContext(key, workstream);
export const getWorkstream = (): Workstream => getContext<Workstream>(key);
