/**
 * Owns: reading on in the list of workstreams beyond its snapshot: the open ones, the closed ones or all, page by page.
 * Does not own: what is told of workstreams (`states.ts`), which is newer than what was read here.
 *
 * Invariants: rows stand by when they were made, so what changes between two pages moves no other row, and reading goes
 * on after the last one seen: nothing is left out and nothing comes twice. What was read stays until it is told anew,
 * is gone, or has been read again: after each snapshot, to where it was, since changes before that may have been missed.
 */
import type { Failure } from './failure.ts';
import { olderWorkstreams } from './operations/follow.ts';
import type { Transport } from './transport.ts';
import type { WorkstreamSummary } from './wire.ts';

/** Which workstreams a list shows. */
export type Listing = 'OPEN' | 'CLOSED' | 'ALL';

export interface Older {
  /** MORE: there may be some. FAILED: `failure` says why the last page could not be read; asking again may help. */
  readonly status: 'MORE' | 'LOADING' | 'FAILED' | 'END';
  readonly failure: Failure | null;
  /** By id, in their order: what was read. */
  readonly rows: ReadonlyMap<string, WorkstreamSummary>;
}

/** Nothing is known yet. */
export const nothingOlder: Older = { status: 'END', failure: null, rows: new Map() };

export interface OlderReader {
  /** To be called with each snapshot: where its list goes on; null: nothing does. Answers the state from then on. */
  begin(after: string | null): Older;
  /** Reads a page, if there may be one. */
  more(): void;
  /** It was deleted. */
  drop(id: string): void;
  stop(): void;
}

/** Rows in a page. */
export const OLDER_PAGE = 100;

/** `isGone`: of what a page may still have. Calls `observe` with each new state until stopped. */
export function readOlder(
  transport: Transport,
  listing: Listing,
  isGone: (id: string) => boolean,
  observe: (older: Older) => void,
): OlderReader {
  let older = nothingOlder;
  /** Rows that are wanted: as many as are shown, and one more while a page is asked for. */
  let wanted = 0;
  /** Since the last snapshot: what was read, and where to go on; null: at the end. */
  let read = new Map<string, WorkstreamSummary>();
  let after: string | null = null;
  let reading = new AbortController();

  const show = (part: Partial<Older>) => {
    older = { ...older, failure: null, ...part };
    observe(older);
  };
  const settled = (): Older => {
    wanted = read.size;
    return { status: after === null ? 'END' : 'MORE', failure: null, rows: new Map(read) };
  };

  async function readOn(signal: AbortSignal): Promise<void> {
    while (after !== null && read.size < wanted) {
      const answer = await transport.request(
        olderWorkstreams,
        { first: OLDER_PAGE, after, lifecycle: listing === 'ALL' ? null : listing },
        signal,
      );
      if (signal.aborted) return;
      if (!answer.ok) {
        show({ status: 'FAILED', failure: answer.failure });
        return;
      }
      const { edges, pageInfo } = answer.data.workstreams;
      for (const { node } of edges) if (!isGone(node.id)) read.set(node.id, node);
      after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
    }
    show(settled());
  }

  return {
    begin(from) {
      reading.abort();
      reading = new AbortController();
      read = new Map();
      after = from;
      if (from === null || wanted === 0) return (older = settled());
      older = { ...older, status: 'LOADING', failure: null };
      void readOn(reading.signal);
      return older;
    },
    more() {
      if (older.status === 'LOADING' || older.status === 'END') return;
      wanted = older.rows.size + 1;
      show({ status: 'LOADING' });
      void readOn(reading.signal);
    },
    drop(id) {
      read.delete(id);
      if (!older.rows.has(id)) return;
      const rows = new Map(older.rows);
      rows.delete(id);
      observe((older = { ...older, rows }));
    },
    stop() {
      reading.abort();
    },
  };
}
