/**
 * Owns: what became of a message that was sent: which turn said it to the model, and how that turn ended.
 * Does not own: sending (`intent.ts`), following (`follow.ts`).
 *
 * Invariants: only durable entries count, so that nothing told here is taken back (D-55); it is found out from the
 * journal alone, so it does not matter how much of it had happened before anybody looked.
 */
import {
  durableThrough,
  isMessage,
  isSuperseded,
  type Entry,
  type EntryOf,
  type TurnOutcome,
} from '../projection/index.ts';
import { follow } from './follow.ts';
import type { Followed, Known } from './followed.ts';
import { createIntent, type Outcome, type Refused } from './intent.ts';
import { headQuery } from './operations/follow.ts';
import { sendMessage } from './operations/turn.ts';
import type { Pace } from './persist.ts';
import type { Transport } from './transport.ts';

/** The turn that said the message to the model has ended. */
export interface Settled {
  readonly type: 'Settled';
  readonly outcome: TurnOutcome;
  /** The last answer to it in that turn, before anything else was asked; null when the model did not finish one. */
  readonly text: string | null;
  readonly turnId: string;
  /** The message as it was said. It is longer than what was sent when it was said together with others that waited. */
  readonly said: EntryOf<'USER'>;
  /** The journal of that turn, from the message to the end. */
  readonly entries: readonly Entry[];
  /** Somebody went back behind it meanwhile: the model does not see it any more (D-59). */
  readonly superseded: boolean;
}

export type Settlement =
  | Settled
  /** It waited, and somebody took it back before it was said. */
  | { readonly type: 'Withdrawn'; readonly messageId: string }
  /** It was accepted and stays so; why nobody looked any longer. */
  | { readonly type: 'Unfollowed'; readonly messageId: string; readonly message: string }
  | Refused
  | Extract<Outcome<never>, { readonly type: 'Failed' }>;

export interface SettleOptions {
  /** Aborting ends the looking, not the turn: that takes `stopTurn`. */
  readonly signal?: AbortSignal;
  /** Is told each state while it waits, for example to show the answer as it comes. */
  readonly onState?: (followed: Followed) => void;
  /** A key that was kept, to go on with after the process has ended. */
  readonly key?: string;
}

interface Deps {
  readonly transport: Transport;
  readonly pace: Pace;
}

/** Between two attempts to read what the feed does not bring. */
const PAUSE_MS = 1_000;

/** A queue that is held makes it wait until somebody resumes it or sends another message. */
export async function sendAndSettle(
  deps: Deps,
  workstreamId: string,
  text: string,
  { signal = new AbortController().signal, onState, key }: SettleOptions = {},
): Promise<Settlement> {
  const sent = await createIntent(deps, sendMessage, { workstreamId, text }, key).run(undefined, signal);
  if (sent.type !== 'Accepted') return sent;
  return settlementOf(deps, workstreamId, sent.payload.messageId, signal, onState);
}

function settlementOf(
  deps: Deps,
  workstreamId: string,
  messageId: string,
  signal: AbortSignal,
  onState: SettleOptions['onState'],
): Promise<Settlement> {
  const over = new AbortController();
  return new Promise((resolve) => {
    let newest: Known | null = null;
    let fate: Fate = { type: 'unseen' };
    let busy = false;

    const finish = (settlement: Settlement) => {
      if (over.signal.aborted) return;
      over.abort();
      signal.removeEventListener('abort', abort);
      // The first state is told before `follow` has returned.
      queueMicrotask(() => {
        follower.stop();
      });
      resolve(settlement);
    };
    const giveUp = (message: string) => {
      finish({ type: 'Unfollowed', messageId, message });
    };
    const abort = () => {
      giveUp('It was not waited for any longer.');
    };

    const look = (known: Known) => {
      fate = fateOf(durableOf(known), messageId);
      if (fate.type === 'taken') {
        const settled = settledIn(known, fate.said);
        if (settled) finish(settled);
      } else if (fate.type === 'withdrawn') finish({ type: 'Withdrawn', messageId });
      else if (fate.type !== 'waiting') void inquire();
    };

    /** Reads what does not come by itself: what lies before the first page, and that nothing follows. */
    const inquire = async () => {
      if (busy) return;
      busy = true;
      while (!over.signal.aborted && newest) {
        if (fate.type === 'unseen' && newest.olderCursor !== null) {
          const before = newest.olderCursor;
          await follower.loadOlder();
          if (before === newest.olderCursor) await deps.pace.pause(PAUSE_MS, over.signal);
        } else if (fate.type === 'left' && newest.view.projection.revision === fate.revision) {
          const { revision } = fate;
          const answer = await deps.transport.request(headQuery, { id: workstreamId }, over.signal);
          // A step is one batch: had it been said, that would follow in the same read.
          if (answer.ok && answer.data.workstream?.revision === revision)
            finish({ type: 'Withdrawn', messageId });
          await deps.pace.pause(PAUSE_MS, over.signal);
        } else break;
      }
      busy = false;
    };

    signal.addEventListener('abort', abort);
    const follower = follow(deps, workstreamId, (followed) => {
      if (over.signal.aborted) return;
      onState?.(followed);
      const { known, connection } = followed;
      const before = newest;
      newest = known;
      const isNews =
        known?.entries !== before?.entries || known?.view.base.revision !== before?.view.base.revision;
      // The first state is told before `follower` is there, and knows nothing.
      if (known && isNews) look(known);
      if (connection.status === 'SIGNED_OUT' || connection.status === 'ENDED') giveUp(connection.reason);
    });
    if (signal.aborted) abort();
  });
}

const durableOf = (known: Known): readonly Entry[] => {
  const through = durableThrough(known.view);
  return known.entries.filter((entry) => entry.revision <= through);
};

export type Fate =
  /** No entry here tells of it. */
  | { readonly type: 'unseen' }
  | { readonly type: 'waiting' }
  /** It waits no more since this revision; what follows, which would say why, is not here. */
  | { readonly type: 'left'; readonly revision: number }
  | { readonly type: 'withdrawn' }
  | { readonly type: 'taken'; readonly said: EntryOf<'USER'> };

/**
 * What became of a message, as these entries tell it. Messages that waited are said as one, under the id of the first
 * of them, right behind the queue without them and, at most, the beginning of their turn (D-63).
 */
export function fateOf(entries: readonly Entry[], messageId: string): Fate {
  let waiting: readonly string[] = [];
  for (const [i, entry] of entries.entries()) {
    if (isMessage(entry) && entry.id === messageId) return { type: 'taken', said: entry };
    if (entry.kind !== 'QUEUE') continue;
    const left = entry.queue.items.map((item) => item.id);
    if (waiting.includes(messageId) && !left.includes(messageId)) {
      const gone = waiting.filter((id) => !left.includes(id));
      const begins = entries[i + 1];
      const next = begins?.kind === 'TURN' && begins.turn.outcome === null ? entries[i + 2] : begins;
      if (!next) return { type: 'left', revision: entries.at(-1)!.revision };
      return isMessage(next) && gone.includes(next.id)
        ? { type: 'taken', said: next }
        : { type: 'withdrawn' };
    }
    waiting = left;
  }
  return { type: waiting.includes(messageId) ? 'waiting' : 'unseen' };
}

function settledIn(known: Known, said: EntryOf<'USER'>): Settled | null {
  const { turnId } = said;
  const since = durableOf(known).filter(
    (entry) => entry.revision >= said.revision && entry.turnId === turnId,
  );
  const end = since.findIndex(
    (entry) => entry.kind === 'TURN' && entry.turn.id === turnId && entry.turn.outcome !== null,
  );
  const ending = since[end];
  if (turnId === null || ending?.kind !== 'TURN' || ending.turn.outcome === null) return null;
  const entries = since.slice(0, end + 1);
  const another = entries.findIndex(
    (entry) => entry !== said && entry.kind === 'USER' && entry.source === 'MESSAGE',
  );
  const replies = another === -1 ? entries : entries.slice(0, another);
  const answer = replies.findLast((entry) => entry.kind === 'ASSISTANT');
  return {
    type: 'Settled',
    outcome: ending.turn.outcome,
    text: answer?.text ?? null,
    turnId,
    said,
    entries,
    superseded: isSuperseded(known.view.projection, said.revision),
  };
}
