/**
 * Owns: the need to find entries by their words, over all workstreams and without loading any. CREATING rows do not
 * exist here, and neither do pending entries: what is found is durable.
 */
import type { Entry } from 'schema/projection';
import type { SearchQuery, SnippetSegment } from '../core/journal/search-query.ts';

/** Where an entry stands among all that can be found: by its time, then (of one moment) by the other two. */
export interface SearchPlace {
  /** ISO 8601, milliseconds. */
  readonly at: string;
  readonly workstreamId: string;
  readonly revision: number;
}

export interface FoundEntry {
  readonly workstreamId: string;
  /** Of the workstream, as it is stored now. */
  readonly title: string;
  readonly entry: Entry;
  /** A rewind took it out of the conversation (D-59). */
  readonly superseded: boolean;
  readonly snippet: readonly SnippetSegment[];
}

export type SearchAnswer =
  | { readonly type: 'found'; readonly items: readonly FoundEntry[]; readonly hasNext: boolean }
  /** It took longer than a search may; asked again it would, too. */
  | { readonly type: 'tooBroad' };

export interface Search {
  /** Newest first, those after a place. Rejects when the database is away. */
  find(
    query: SearchQuery,
    range: {
      /** Null: in all of them. Unknown: nothing is found. */
      readonly workstreamId: string | null;
      readonly first: number;
      readonly after: SearchPlace | null;
    },
  ): Promise<SearchAnswer>;
}
