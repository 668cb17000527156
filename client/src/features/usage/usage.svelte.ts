/**
 * Owns: what model calls cost over some days: asking, and what to say when there is no answer.
 * Does not own: the sums (the server), how they look (`UsagePage.svelte`).
 *
 * Invariants: what is shown belongs to the days asked about last; an answer about others is thrown away; what was told
 * stays while it is asked about again, and all parts of it are of one asking.
 */
import { usageQuery, type Answer, type ResultOf } from 'schema/client-kit';
import type { Api } from '../../lib/api.svelte.ts';
import { firstDay, type UsageGroup, type UsageTotal } from './usage-words.ts';

export interface Told {
  readonly total: UsageTotal;
  /** The newest first; those without a call are left out. */
  readonly days: readonly UsageGroup[];
  /** The most tokens first, as the next. */
  readonly models: readonly UsageGroup[];
  readonly workstreams: readonly UsageGroup[];
  /** There may be more workstreams than these. */
  readonly more: boolean;
}

export type Usage =
  | { readonly type: 'asking' }
  | { readonly type: 'told'; readonly told: Told }
  | { readonly type: 'failed'; readonly message: string };

const PER_ANSWER = 200;

const nothing: UsageTotal = {
  calls: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cost: null,
  estimatedCalls: 0,
};

export class Spent {
  usage = $state.raw<Usage>({ type: 'asking' });
  /** It is being asked, also while something is shown. */
  asking = $state(false);
  readonly #api: Pick<Api, 'client' | 'explain'>;
  readonly #now: () => number;
  #asked = new AbortController();

  constructor(api: Pick<Api, 'client' | 'explain'>, now: () => number = Date.now) {
    this.#api = api;
    this.#now = now;
  }

  /** Asks about so many days, today included. */
  async ask(days: number): Promise<void> {
    this.stop();
    const { signal } = this.#asked;
    const from = firstDay(days, this.#now());
    const by = (key: 'DAY' | 'MODEL' | 'WORKSTREAM' | null): Promise<Answer<ResultOf<typeof usageQuery>>> =>
      this.#api.client.request(
        usageQuery,
        { from, through: null, workstreamId: null, by: key === null ? [] : [key], first: PER_ANSWER },
        signal,
      );
    this.asking = true;
    const answers = await Promise.all([by(null), by('DAY'), by('MODEL'), by('WORKSTREAM')]);
    if (signal.aborted) return;
    this.asking = false;
    const groups: (readonly UsageGroup[])[] = [];
    for (const answer of answers) {
      if (!answer.ok) {
        this.usage = { type: 'failed', message: this.#api.explain(answer.failure) };
        return;
      }
      groups.push(answer.data.usage);
    }
    const [all = [], daysTold = [], models = [], workstreams = []] = groups;
    this.usage = {
      type: 'told',
      told: {
        total: all[0]?.total ?? nothing,
        days: daysTold,
        models,
        workstreams,
        more: workstreams.length === PER_ANSWER,
      },
    };
  }

  /** Waits for no answer any more. */
  stop(): void {
    this.#asked.abort();
    this.#asked = new AbortController();
    this.asking = false;
  }
}
