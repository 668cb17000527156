/**
 * Owns: one search: asking, more of it, and what to say when there is nothing. Does not own: what is found (the server).
 *
 * Invariant: what is shown belongs to the last question asked; an answer to an earlier one is thrown away.
 */
import { failureText, searchQuery, type Failure, type ResultOf } from 'schema/client-kit';
import type { Api } from '../../lib/api.svelte.ts';

export type Hit = ResultOf<typeof searchQuery>['search']['edges'][number]['node'];

export interface Question {
  readonly text: string;
  /** Id of the one workstream to search; null: all. */
  readonly within: string | null;
}

export type Found =
  /** Nothing was asked. */
  | { readonly type: 'nothing' }
  | { readonly type: 'asking' }
  | { readonly type: 'hits'; readonly hits: readonly Hit[]; readonly after: string | null }
  /** `advice`: what to do; empty when the message says it. */
  | { readonly type: 'failed'; readonly message: string; readonly advice: string };

const PAGE = 30;

export class Searching {
  found = $state.raw<Found>({ type: 'nothing' });
  /** More of the same is being read. */
  loading = $state(false);
  /** Why more could not be read. */
  problem = $state.raw<string | null>(null);
  readonly #api: Api;
  #asked = new AbortController();
  #question: Question = { text: '', within: null };

  constructor(api: Api) {
    this.#api = api;
  }

  async ask(question: Question): Promise<void> {
    this.stop();
    this.#question = question;
    this.problem = null;
    if (question.text.trim() === '') {
      this.found = { type: 'nothing' };
      return;
    }
    // What was found stays until there is something else to show.
    if (this.found.type !== 'hits') this.found = { type: 'asking' };
    this.loading = true;
    const page = await this.#read(null);
    if (page) this.found = page.ok ? page.data : failed(this.#api, page.failure);
  }

  async more(): Promise<void> {
    const { found } = this;
    if (this.loading || found.type !== 'hits' || found.after === null) return;
    this.loading = true;
    this.problem = null;
    const page = await this.#read(found.after);
    if (page?.ok) this.found = { ...page.data, hits: [...found.hits, ...page.data.hits] };
    else if (page) this.problem = this.#api.explain(page.failure);
  }

  stop(): void {
    this.#asked.abort();
    this.#asked = new AbortController();
    this.loading = false;
  }

  /** Null when another question was asked meanwhile. */
  async #read(after: string | null) {
    const { signal } = this.#asked;
    const { text, within } = this.#question;
    const answer = await this.#api.client.request(
      searchQuery,
      { text, workstreamId: within, first: PAGE, after },
      signal,
    );
    if (signal.aborted) return null;
    this.loading = false;
    if (!answer.ok) return answer;
    const { edges, pageInfo } = answer.data.search;
    const hits = edges.map(({ node }) => node);
    return {
      ok: true,
      data: { type: 'hits', hits, after: pageInfo.hasNextPage ? pageInfo.endCursor : null },
    } as const;
  }
}

function failed(api: Api, failure: Failure): Found {
  if (failure.type === 'Server' && failure.code === 'SEARCH_TOO_BROAD')
    return {
      type: 'failed',
      message: 'Too much has these words.',
      advice:
        'Use longer or more words, put words that belong together in "quotes", or search one workstream.',
    };
  // The server says what to write.
  if (failure.type === 'Server' && failure.code === 'BAD_USER_INPUT')
    return { type: 'failed', message: failureText(failure), advice: '' };
  return { type: 'failed', message: api.explain(failure), advice: 'Press Enter to try again.' };
}
