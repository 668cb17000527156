/**
 * Owns: following one workstream for as long as somebody looks: snapshot, feed from its cursor, resubscribing,
 * reconnecting, older history on demand.
 * Does not own: what an item means (`followed.ts` and the fold), or when to try again (`persist.ts`).
 *
 * Invariants: nothing is applied twice and nothing is lost, however often the connection is cut (I7, D-54, D-55); what
 * was shown stays shown until there is something newer to show.
 */
import { endOf, subscribed } from './attempt.ts';
import { knownAfter, knownOf, olderCursorOf, withOlder, type Followed, type Next } from './followed.ts';
import { feedSubscription, snapshotQuery } from './operations/follow.ts';
import { olderQuery } from './operations/history.ts';
import { persist, type AttemptEnd, type Pace } from './persist.ts';
import type { Transport } from './transport.ts';
import { entryOf, feedItemOf } from './wire.ts';

export interface Follower {
  /** Reads the page of history before what is loaded. One at a time; does nothing when there is none. */
  loadOlder(): Promise<void>;
  /** Ends a pause between two attempts. */
  nudge(): void;
  stop(): void;
}

/** Entries in a page of history. */
export const PAGE = 100;

const noSuchWorkstream = 'WORKSTREAM_NOT_FOUND';

/** Calls `observe` with each new state, the first one at once; never after `stop`. */
export function follow(
  deps: { readonly transport: Transport; readonly pace: Pace },
  workstreamId: string,
  observe: (followed: Followed) => void,
): Follower {
  const { transport } = deps;
  let followed: Followed = {
    connection: { status: 'CONNECTING' },
    known: null,
    missing: false,
    failure: null,
    loadingOlder: false,
  };
  let needsSnapshot = true;
  let stopped = false;

  const change = (part: Partial<Followed>) => {
    if (stopped) return;
    followed = { ...followed, ...part };
    observe(followed);
  };

  const persistent = persist(deps, attempt, (connection) => {
    change({ connection });
  });

  return {
    loadOlder,
    nudge: persistent.nudge,
    stop() {
      stopped = true;
      persistent.stop();
    },
  };

  async function attempt(up: () => void, signal: AbortSignal): Promise<AttemptEnd> {
    if (needsSnapshot) {
      const failed = await takeSnapshot(signal);
      if (failed) return failed;
    }
    return subscribed(
      { transport, signal },
      feedSubscription,
      { id: workstreamId, after: followed.known?.cursor ?? null },
      ({ workstreamFeed }) => {
        const received = feedItemOf(workstreamFeed);
        if (!received || !followed.known) return null;
        const [known, next] = knownAfter(followed.known, received.item, received.cursor);
        if (known !== followed.known) change({ known });
        if (next.type !== 'continue') return endOfFeed(next);
        if (received.item.type === 'Synchronized') up();
        return null;
      },
      'The server ended the feed.',
    );
  }

  async function takeSnapshot(signal: AbortSignal): Promise<AttemptEnd | null> {
    const answer = await transport.request(snapshotQuery, { id: workstreamId, last: PAGE }, signal);
    if (!answer.ok) {
      change({ failure: answer.failure });
      return endOf(answer.failure);
    }
    const { workstream } = answer.data;
    if (!workstream) return gone();
    needsSnapshot = false;
    change({ known: knownOf(workstream), failure: null, missing: false });
    return null;
  }

  function endOfFeed(next: Exclude<Next, { readonly type: 'continue' }>): AttemptEnd {
    if (next.type === 'resubscribe') return { type: 'again' };
    if (next.type === 'snapshot') {
      needsSnapshot = true;
      return { type: 'again' };
    }
    if (next.resumable) return { type: 'later', reason: next.reason };
    return next.reason === noSuchWorkstream
      ? gone()
      : { type: 'over', connection: { status: 'ENDED', reason: next.reason } };
  }

  function gone(): AttemptEnd {
    change({ missing: true, failure: null });
    return {
      type: 'over',
      connection: { status: 'ENDED', reason: 'There is no workstream with this address.' },
    };
  }

  async function loadOlder(): Promise<void> {
    const before = followed.known?.olderCursor ?? null;
    if (before === null || followed.loadingOlder) return;
    change({ loadingOlder: true });
    const answer = await transport.request(olderQuery, { id: workstreamId, last: PAGE, before });
    if (!answer.ok) {
      change({ loadingOlder: false, failure: answer.failure });
      return;
    }
    const history = answer.data.workstream?.history;
    // A snapshot taken meanwhile has its own oldest page.
    const known =
      history && followed.known?.olderCursor === before
        ? withOlder(
            followed.known,
            history.edges.map((edge) => entryOf(edge.node)),
            olderCursorOf(history.pageInfo),
          )
        : null;
    change({ loadingOlder: false, failure: null, ...(known && { known }) });
  }
}
