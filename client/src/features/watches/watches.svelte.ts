/**
 * Owns: watches as they are now, asked for while somebody looks: those of one workstream and what is done to them, the
 * polls of one, those of the whole server.
 * Does not own: what the journal says of them (the projection), how they look (the components).
 *
 * Invariants: an answer to an earlier question than the last one is thrown away; what was told last stays until it is told
 * anew, also when an answer fails; a refusal stays where it was asked for until that is asked again.
 */
import {
  cancelWatch,
  createWatch,
  pauseWatch,
  resumeWatch,
  runWatchNow,
  tryWatchConditionQuery,
  updateWatch,
  watchesQuery,
  watchFiguresQuery,
  watchQuery,
  workstreamWatchesQuery,
  type PolledWatch,
  type ResultOf,
} from 'schema/client-kit';
import { Action } from '../../lib/action.svelte.ts';
import type { Api } from '../../lib/api.svelte.ts';
import type { NewWatch, WatchChange } from './draft.ts';
import type { Poll } from './poll-chart.ts';
import type { Trial } from './trial-words.ts';
import { visibleLine } from 'schema/projection';

type Asks = Pick<Api, 'client' | 'explain' | 'signedOut'>;

/** How long after an answer it is asked again. */
export const LOOK_MS = 5_000;
/** The same while a poll is due or under way, whose outcome somebody may be waiting for. */
const DUE_LOOK_MS = 1_000;

/** How often it is asked of what became of a watch that is gone. */
const asksForEnd = 5;

/** When to ask again about these; `now`: milliseconds since 1970. */
export const restMs = (watches: readonly Pick<PolledWatch, 'nextPollAt'>[] | null, now: number): number =>
  watches?.some(({ nextPollAt }) => nextPollAt !== null && Date.parse(nextPollAt) <= now)
    ? DUE_LOOK_MS
    : LOOK_MS;

export type Deed = 'pause' | 'resume' | 'runNow' | 'cancel';
type Deeds = Readonly<Record<Deed, Action<object, unknown>>>;
type Edit = WatchChange & { readonly watchId: string; readonly version: number };

/** The watches of one workstream. */
export class WorkstreamWatches {
  /** Oldest first, as they are told; null until they are known. */
  list = $state.raw<readonly PolledWatch[] | null>(null);
  /** Why they could not be asked for last; null when they could. */
  failure = $state.raw<string | null>(null);
  /** Whether those that have ended are wanted, too. */
  ended = $state(false);
  /** What was found out of a watch that is not among them any more. */
  notice = $state.raw<string | null>(null);
  /** Those that ended since they were shown, other than by who looks at them, until that is dismissed. */
  over = $state.raw<readonly PolledWatch[]>([]);
  readonly creating: Action<NewWatch, unknown>;
  readonly editing: Action<Edit, unknown>;
  readonly #api: Asks;
  readonly #workstreamId: string;
  readonly #deeds: Record<string, Deeds> = {};
  #asked = 0;
  /** Cancelled here. */
  readonly #cancelled = new Set<string>(); // eslint-disable-line svelte/prefer-svelte-reactivity -- nothing shows it
  /** Those that are gone and whose end is not told yet, with how often it was asked for: it is stored a little later. */
  #gone: Readonly<Record<string, number>> = {};

  constructor(api: Asks, workstreamId: string) {
    this.#api = api;
    this.#workstreamId = workstreamId;
    const { client } = api;
    this.creating = new Action((watch) => client.intend(createWatch, { workstreamId, ...watch }), api);
    this.editing = new Action((edit) => client.intend(updateWatch, { workstreamId, ...edit }), api);
  }

  /** Asks for them now. */
  async look(): Promise<void> {
    const asked = (this.#asked += 1);
    let answer = await this.#ask(this.ended);
    if (asked !== this.#asked) return;
    const left = answer.ok ? this.#left(answer.data.workstream?.watches ?? []) : [];
    let over: readonly PolledWatch[] = [];
    if (left.length > 0) {
      answer = await this.#ask(true);
      if (asked !== this.#asked) return;
      if (answer.ok)
        over = (answer.data.workstream?.watches ?? []).filter(
          ({ watchId, status }) =>
            status === 'ENDED' && (left.includes(watchId) || this.#isShownLiving(watchId)),
        );
      const untold = left.filter((id) => !over.some(({ watchId }) => watchId === id));
      this.#gone = Object.fromEntries(
        untold.flatMap((id) => {
          const times = (this.#gone[id] ?? 0) + 1;
          return times < asksForEnd ? [[id, times]] : [];
        }),
      );
    }
    if (!answer.ok) this.failure = this.#api.explain(answer.failure);
    else if (answer.data.workstream) {
      const { watches } = answer.data.workstream;
      this.list = this.ended ? watches : watches.filter(({ status }) => status !== 'ENDED');
      this.over = [...this.over, ...over];
      this.failure = null;
    } else this.failure = 'This workstream is not there any more.';
  }

  #ask(ended: boolean) {
    return this.#api.client.request(workstreamWatchesQuery, { id: this.#workstreamId, ended });
  }

  /** Those that were shown as living and are not among these any more, though nobody cancelled them here. */
  #left(now: readonly PolledWatch[]): readonly string[] {
    const gone = (this.list ?? []).filter(
      ({ watchId }) => this.#isShownLiving(watchId) && !now.some((watch) => watch.watchId === watchId),
    );
    return [...Object.keys(this.#gone), ...gone.map(({ watchId }) => watchId)];
  }

  /** It is shown as one that has not ended, and nobody cancelled it here. */
  #isShownLiving(watchId: string): boolean {
    const watch = this.of(watchId);
    return watch !== null && watch.status !== 'ENDED' && !this.#cancelled.has(watchId);
  }

  showEnded(ended: boolean): Promise<void> {
    this.ended = ended;
    if (ended) {
      this.#gone = {};
      this.dismiss();
    }
    return this.look();
  }

  /** It is known that they have ended. */
  dismiss(): void {
    this.over = [];
  }

  of(watchId: string): PolledWatch | null {
    return this.list?.find((watch) => watch.watchId === watchId) ?? null;
  }

  /** What can be done to a watch, the same each time it is asked for. */
  deeds(watchId: string): Deeds {
    return (this.#deeds[watchId] ??= this.#make(watchId));
  }

  /** Does it and shows what came of it. True when it was done. */
  async run(
    { watchId, definition }: Pick<PolledWatch, 'watchId' | 'definition'>,
    deed: Deed,
  ): Promise<boolean> {
    if (this.busy(watchId)) return false;
    const deeds = this.deeds(watchId);
    for (const other of Object.values(deeds) as readonly Deeds[Deed][]) other.forget();
    this.notice = null;
    // Before, for it may be seen to be gone first.
    if (deed === 'cancel') this.#cancelled.add(watchId);
    const done = (await deeds[deed].run({})) !== null;
    if (!done) this.#cancelled.delete(watchId);
    const { problem } = deeds[deed];
    if (problem?.code === 'WATCH_NOT_FOUND') {
      // It is about to go from the list, and the refusal with it.
      this.notice = `“${visibleLine(definition.name)}”: ${problem.message}`;
      deeds[deed].forget();
    }
    await this.look();
    return done;
  }

  /** Whether something is being done to it. */
  busy(watchId: string): boolean {
    const { pause, resume, runNow, cancel } = this.deeds(watchId);
    return pause.busy || resume.busy || runNow.busy || cancel.busy;
  }

  #make(watchId: string): Deeds {
    const { client } = this.#api;
    const input = { workstreamId: this.#workstreamId, watchId };
    return {
      pause: new Action(() => client.intend(pauseWatch, input), this.#api),
      resume: new Action(() => client.intend(resumeWatch, input), this.#api),
      runNow: new Action(() => client.intend(runWatchNow, input), this.#api),
      cancel: new Action(() => client.intend(cancelWatch, input), this.#api),
    };
  }
}

const PER_PAGE = 50;

/** What the last poll of a watch put out, and its polls as far as they were read. */
export class WatchPolls {
  /** What the last one put out; null: there was none, or nothing is known yet. */
  output = $state.raw<string | null>(null);
  /** Newest first; null until they are known. */
  polls = $state.raw<readonly Poll[] | null>(null);
  /** There may be older ones. */
  more = $state(false);
  asking = $state(false);
  failure = $state.raw<string | null>(null);
  readonly #api: Asks;
  readonly #id: string;

  /** `id`: its global id. */
  constructor(api: Asks, id: string) {
    this.#api = api;
    this.#id = id;
  }

  /** Asks for the newest ones; older ones that were read stay, unless there are too many between. */
  async look(): Promise<void> {
    const page = await this.#page(null);
    if (!page) return;
    const oldest = page.polls.at(-1)?.poll ?? 0;
    const known = this.polls ?? [];
    const older = known.filter(({ poll }) => poll < oldest);
    const joins = older[0]?.poll === oldest - 1;
    if (!joins || older.length === 0) this.more = page.full;
    this.polls = joins ? [...page.polls, ...older] : page.polls;
    this.output = page.output;
  }

  async older(): Promise<void> {
    const last = this.polls?.at(-1);
    if (!last) return;
    const page = await this.#page(last.poll);
    // Meanwhile the newest ones may have been asked for again, without those that it follows.
    if (!page || this.polls?.at(-1)?.poll !== last.poll) return;
    this.polls = [...this.polls, ...page.polls];
    this.more = page.full;
  }

  async #page(before: number | null): Promise<{
    readonly polls: readonly Poll[];
    readonly full: boolean;
    readonly output: string | null;
  } | null> {
    if (this.asking) return null;
    this.asking = true;
    const answer = await this.#api.client.request(watchQuery, { id: this.#id, first: PER_PAGE, before });
    this.asking = false;
    if (!answer.ok) {
      this.failure = this.#api.explain(answer.failure);
      return null;
    }
    const { watch } = answer.data;
    this.failure = watch ? null : 'This watch is not stored yet, or its workstream is gone.';
    return (
      watch && {
        polls: watch.history,
        full: watch.history.length === PER_PAGE && (watch.history.at(-1)?.poll ?? 1) > 1,
        output: watch.lastOutput,
      }
    );
  }
}

/** By what a condition is judged: the last output of a watch, a sample, or nothing. */
export interface TrialInput {
  readonly expression: string;
  readonly watchId: string | null;
  readonly output: string | null;
  readonly exitCode: number | null;
  readonly prevOutput: string | null;
}

/** What a condition would say. */
export class ConditionTrial {
  /** The answer and what it is about; null before the first. */
  told = $state.raw<{ readonly input: TrialInput; readonly trial: Trial } | null>(null);
  failure = $state.raw<string | null>(null);
  asking = $state(false);
  readonly #api: Asks;
  #asked = 0;

  constructor(api: Asks) {
    this.#api = api;
  }

  async ask(input: TrialInput): Promise<void> {
    const asked = (this.#asked += 1);
    this.asking = true;
    const answer = await this.#api.client.request(tryWatchConditionQuery, { input });
    if (asked !== this.#asked) return;
    this.asking = false;
    this.failure = answer.ok ? null : this.#api.explain(answer.failure);
    this.told = answer.ok ? { input, trial: answer.data.tryWatchCondition } : null;
  }
}

export type Figures = ResultOf<typeof watchFiguresQuery>['server']['watches'];

/** The watches of all workstreams that have not ended, and how the server does with them. */
export class AllWatches {
  list = $state.raw<readonly PolledWatch[] | null>(null);
  figures = $state.raw<Figures | null>(null);
  /** There are older ones. */
  more = $state(false);
  asking = $state(false);
  failure = $state.raw<string | null>(null);
  readonly #api: Asks;
  /** How many pages are shown. */
  #pages = 1;
  #asked = 0;

  constructor(api: Asks) {
    this.#api = api;
  }

  /** Asks for all that is shown. */
  async look(): Promise<void> {
    const asked = (this.#asked += 1);
    this.asking = true;
    const figures = this.#api.client.request(watchFiguresQuery, {});
    const list: PolledWatch[] = [];
    let failure: string | null = null;
    let after: string | null = null;
    let more = true;
    for (let page = 0; page < this.#pages && more; page += 1) {
      const answer: Awaited<ReturnType<AllWatches['page']>> = await this.page(after);
      if (!answer.ok) {
        failure = this.#api.explain(answer.failure);
        break;
      }
      const { edges, pageInfo } = answer.data.watches;
      list.push(...edges.map(({ node }) => node));
      more = pageInfo.hasNextPage;
      after = pageInfo.endCursor;
    }
    const told = await figures;
    if (asked !== this.#asked) return;
    this.asking = false;
    if (told.ok) this.figures = told.data.server.watches;
    else failure ??= this.#api.explain(told.failure);
    this.failure = failure;
    if (failure !== null) return;
    this.list = list;
    this.more = more;
  }

  showMore(): Promise<void> {
    this.#pages += 1;
    return this.look();
  }

  private page(after: string | null) {
    return this.#api.client.request(watchesQuery, { first: PER_PAGE, after, filter: null });
  }
}
