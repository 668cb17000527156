/**
 * Owns: reading around a place of history, for who jumps there from what was found: a page before and after it, more of
 * either on demand. It does not follow: for the newest end there is `follow.ts`.
 *
 * Invariants: only durable entries, contiguous, each once (D-53); a page that does not meet what is there is not shown.
 */
import { isSuperseded, type Entry, type Span } from '../projection/index.ts';
import type { ResultOf } from 'gql.tada';
import { networkFailure, type Answer, type Failure } from './failure.ts';
import { newerQuery, olderQuery } from './operations/history.ts';
import type { Transport } from './transport.ts';
import { entryOf } from './wire.ts';

export interface Row {
  readonly entry: Entry;
  /** A rewind took it out of the conversation (D-59). */
  readonly superseded: boolean;
}

export interface Window {
  /** Oldest first. */
  readonly entries: readonly Entry[];
  /** What rewinds had taken out when it was last read. */
  readonly superseded: readonly Span[];
  /** Where to read on, before and after; null when there is nothing more. */
  readonly olderCursor: string | null;
  readonly newerCursor: string | null;
}

export interface Windowed {
  /** Null until the first page has come. */
  readonly window: Window | null;
  readonly loading: 'AROUND' | 'OLDER' | 'NEWER' | null;
  /** True when there is no such workstream. */
  readonly missing: boolean;
  /** Why the last page could not be read; asking again may help. */
  readonly failure: Failure | null;
}

export interface WindowReader {
  /** Reads around the place anew, for example after a failure. */
  reload(): Promise<void>;
  /** Each reads one page. One at a time; does nothing when there is none. */
  loadOlder(): Promise<void>;
  loadNewer(): Promise<void>;
  stop(): void;
}

/** Entries in a page to each side. */
export const WINDOW_PAGE = 50;

type Page = NonNullable<ResultOf<typeof newerQuery>['workstream']>;
type PageAnswer = Answer<{ readonly workstream: Page | null }>;

/** A server that does not keep D-53. */
const gap = networkFailure('The server sent entries that do not follow one another. Reload the page.');

/** The entries with what is to be seen of rewinds; a summary holds whatever is taken back above its watermark. */
export const rowsOf = (
  entries: readonly Entry[],
  projection: { readonly superseded: readonly Span[] },
): readonly Row[] =>
  entries.map((entry) => ({
    entry,
    superseded: entry.kind !== 'CHECKPOINT' && isSuperseded(projection, entry.revision),
  }));

/** What a page holds on its own. */
function windowOf({ superseded, history }: Page): Window {
  const { hasPreviousPage, startCursor, hasNextPage, endCursor } = history.pageInfo;
  const all = history.edges.map((edge) => entryOf(edge.node));
  const entries = all.filter((entry) => entry.revision <= history.durableThrough);
  return {
    entries,
    superseded,
    olderCursor: hasPreviousPage ? startCursor : null,
    // Behind entries that are not durable there is nothing to go on from: they may vanish.
    newerCursor: hasNextPage && entries.length === all.length ? endCursor : null,
  };
}

/** Two neighbours as one, with the marks of the one that was read later; null when they do not meet. */
function joined(older: Window, newer: Window, { superseded }: Window): Window | null {
  const last = older.entries.at(-1);
  const first = newer.entries[0];
  if (last && first && first.revision !== last.revision + 1) return null;
  return {
    entries: [...older.entries, ...newer.entries],
    superseded,
    olderCursor: older.olderCursor,
    newerCursor: newer.newerCursor,
  };
}

/**
 * Reads around `place`, a cursor of history as `search` gives it, the entry there included. Calls `observe` with each
 * new state, the first one at once; never after `stop`.
 */
export function openWindow(
  { transport }: { readonly transport: Transport },
  workstreamId: string,
  place: string,
  observe: (windowed: Windowed) => void,
): WindowReader {
  const stopped = new AbortController();
  let windowed: Windowed = { window: null, loading: null, missing: false, failure: null };

  const change = (part: Partial<Windowed>) => {
    if (stopped.signal.aborted) return;
    windowed = { ...windowed, ...part };
    observe(windowed);
  };
  const older = (before: string): Promise<PageAnswer> =>
    transport.request(olderQuery, { id: workstreamId, last: WINDOW_PAGE, before }, stopped.signal);
  const newer = (after: string | null): Promise<PageAnswer> =>
    transport.request(newerQuery, { id: workstreamId, first: WINDOW_PAGE, after }, stopped.signal);

  /** The page, or null after saying why there is none. */
  const read = async (asked: Promise<PageAnswer>): Promise<Page | null> => {
    const answer = await asked;
    if (!answer.ok) change({ loading: null, failure: answer.failure });
    else if (!answer.data.workstream) change({ loading: null, failure: null, missing: true });
    return answer.ok ? answer.data.workstream : null;
  };
  /** Shows this; null: what was read does not meet, so that what is there stays. */
  const show = (window: Window | null) => {
    change({ loading: null, ...(window ? { window, failure: null } : { failure: gap }) });
  };
  /** Reads the page at this cursor and shows it beside what is there. */
  const extend = async (
    loading: 'OLDER' | 'NEWER',
    cursor: string | null,
    ask: (cursor: string) => Promise<PageAnswer>,
    beside: (page: Window, shown: Window) => Window | null,
  ) => {
    if (cursor === null || windowed.loading) return;
    change({ loading });
    const page = await read(ask(cursor));
    if (page && windowed.window) show(beside(windowOf(page), windowed.window));
  };

  const reload = async () => {
    if (windowed.loading) return;
    change({ loading: 'AROUND', missing: false });
    const before = await read(older(place));
    if (!before) return;
    // What follows the last entry before the place begins with the place.
    const after = await read(newer(before.history.pageInfo.endCursor));
    if (!after) return;
    const [head, tail] = [windowOf(before), windowOf(after)];
    show(joined(head, tail, tail));
  };
  const loadOlder = () =>
    extend('OLDER', windowed.window?.olderCursor ?? null, older, (page, shown) => joined(page, shown, page));
  const loadNewer = () =>
    extend('NEWER', windowed.window?.newerCursor ?? null, newer, (page, shown) => joined(shown, page, page));

  void reload();
  return {
    reload,
    loadOlder,
    loadNewer,
    stop: () => {
      stopped.abort();
    },
  };
}
