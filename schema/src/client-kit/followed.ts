/**
 * Owns: what a follower knows of a workstream: the view of the fold, and the part of the transcript it holds. Pure.
 * Does not own: the fold (`applyItem`), or asking and asking again (`follow.ts`).
 *
 * Invariants: `entries` are contiguous and end at the revision of the view, each once (D-53); `cursor` is never beyond
 * what was applied, so that resubscribing from it loses nothing (D-54).
 */
import { applyItem, viewOf, type Entry, type FeedItem, type View } from '../projection/index.ts';
import type { Failure } from './failure.ts';
import type { Connection } from './persist.ts';
import type { ResultOf } from 'gql.tada';
import type { snapshotQuery } from './operations/follow.ts';
import { entryOf, overlayOf, persistenceOf, projectionOf } from './wire.ts';

export interface Notice {
  readonly level: 'INFO' | 'WARNING';
  /** A word for programs, such as MODEL_WAITING. */
  readonly code: string;
  /** One sentence for a person. */
  readonly message: string;
}

export interface Known {
  readonly view: View;
  /** The transcript as far as it is loaded, oldest first, up to the revision of the view. */
  readonly entries: readonly Entry[];
  /** Where to read older entries; null when the first one is loaded. */
  readonly olderCursor: string | null;
  /** Where to go on in the feed. */
  readonly cursor: string;
  /** Why no command is taken until an operator has looked (D-71); null when that is not so. */
  readonly quarantine: string | null;
  /**
   * What the server says to whoever looks about what is waited for, oldest first; empty once it has come. The newest
   * takes the place of the one before, but for what tells who is asked instead, which holds while that is waited for.
   */
  readonly notices: readonly Notice[];
}

export interface Followed {
  readonly connection: Connection;
  /** Null until the first snapshot has come. */
  readonly known: Known | null;
  /** True when there is no such workstream. */
  readonly missing: boolean;
  /** Why the last snapshot or page could not be read. */
  readonly failure: Failure | null;
  readonly loadingOlder: boolean;
}

export type Next =
  | { readonly type: 'continue' }
  /** From the cursor, again. */
  | { readonly type: 'resubscribe' }
  | { readonly type: 'snapshot' }
  | { readonly type: 'ended'; readonly resumable: boolean; readonly reason: string };

type WireWorkstream = NonNullable<ResultOf<typeof snapshotQuery>['workstream']>;

const goOn: Next = { type: 'continue' };

/** What a snapshot says. Its page of history may end above or below it when the server was replaced meanwhile. */
export function knownOf(wire: WireWorkstream): Known {
  const durable = projectionOf(wire.durable);
  const view: View = {
    ...viewOf(durable, wire.pending.map(entryOf), wire.epoch, overlayOf(wire.overlay)),
    persistence: persistenceOf(wire.persistence),
  };
  const { edges, pageInfo } = wire.history;
  const entries = edges
    .map((edge) => entryOf(edge.node))
    .filter((entry) => entry.revision <= view.projection.revision);
  return {
    view,
    entries,
    olderCursor: olderCursorOf(pageInfo),
    cursor: wire.feedCursor,
    quarantine: wire.lastError?.reason === 'QUARANTINED' ? wire.lastError.message : null,
    notices: [],
  };
}

export const olderCursorOf = (page: {
  readonly hasPreviousPage: boolean;
  readonly startCursor: string | null;
}): string | null => (page.hasPreviousPage ? page.startCursor : null);

/** One feed item later. `cursor` is where the item says to resume after it; null when it does not say. */
export function knownAfter(known: Known, item: FeedItem, cursor: string | null): readonly [Known, Next] {
  const [view, change] = applyItem(known.view, item);
  const next: Known = { ...known, view, cursor: cursor ?? known.cursor };
  switch (change.type) {
    case 'nothing':
      // A repeat says nothing about where we are.
      return [item.type === 'EntryAdmitted' ? known : next, goOn];
    case 'entry':
      return withEntry(next, change.entry);
    case 'dropped':
      return settled({
        ...next,
        entries: known.entries.filter((e) => e.revision <= change.from),
        notices: [],
      });
    case 'marks':
      return item.type === 'Synchronized' ? settled(next) : [next, goOn];
    case 'overlay':
      return [{ ...next, notices: [] }, goOn];
    case 'notice': {
      const { level, code, message } = change;
      return [{ ...next, notices: noticesAfter(known.notices, { level, code, message }) }, goOn];
    }
    case 'resubscribe':
      // The item's cursor lies beyond what was lost.
      return [{ ...next, cursor: known.cursor }, { type: 'resubscribe' }];
    case 'snapshot':
      return [next, { type: 'snapshot' }];
    case 'ended':
      return [next, { type: 'ended', resumable: change.resumable, reason: change.reason }];
  }
}

function withEntry(known: Known, entry: Entry): readonly [Known, Next] {
  const last = known.entries.at(-1);
  const follows = (last?.revision ?? entry.revision - 1) === entry.revision - 1;
  return follows
    ? [
        {
          ...known,
          entries: [...known.entries, entry],
          notices: isAside(entry) ? known.notices : [],
        },
        goOn,
      ]
    : [known, { type: 'snapshot' }];
}

/** What people do while something is waited for: it is still waited for. */
const isAside = ({ kind }: Entry): boolean => kind === 'QUEUE' || kind === 'CONFIGURATION';

const tellsWhoIsAsked = ({ code }: Notice): boolean => code === 'MODEL_FALLBACK' || code === 'MODEL_CHOSEN';

/** Who is asked by choice is asked from the beginning: nothing from before holds. */
const noticesAfter = (notices: readonly Notice[], newest: Notice): readonly Notice[] => [
  ...notices.filter(
    (notice) =>
      newest.code !== 'MODEL_CHOSEN' &&
      tellsWhoIsAsked(notice) &&
      !(tellsWhoIsAsked(newest) && notice.level === newest.level),
  ),
  newest,
];

/** The transcript must end where the view does; a snapshot that was torn apart by a restart is taken anew. */
function settled(known: Known): readonly [Known, Next] {
  const last = known.entries.at(-1)?.revision ?? known.view.projection.revision;
  return [known, last === known.view.projection.revision ? goOn : { type: 'snapshot' }];
}

/** An older page in front of the transcript; null when it does not meet it any more. */
export function withOlder(known: Known, page: readonly Entry[], olderCursor: string | null): Known | null {
  const first = known.entries[0];
  const last = page.at(-1);
  if (!last) return { ...known, olderCursor: null };
  if (first && last.revision !== first.revision - 1) return null;
  return { ...known, entries: [...page, ...known.entries], olderCursor };
}
