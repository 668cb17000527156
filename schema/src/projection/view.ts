/**
 * Owns: what a subscriber knows after each feed item: durable base, pending entries above it, overlay, marks.
 * Does not own: the transcript below the base (paged from history), or reconnecting (client kit).
 *
 * Invariants: an entry is applied iff its revision is the next one (I7); a chunk never moves the revision and
 * never lands at a wrong offset (I13); on EpochStarted what is above `from` is dropped, the rest is durable (D-55).
 */
import type { Entry } from './entries.ts';
import { applyEntries, applyEntry, type Projection } from './fold.ts';
import { emptyOverlay, type FeedItem, type Overlay, type Persistence } from './items.ts';

export interface View {
  /** Fold of the durable entries. */
  readonly base: Projection;
  /** Entries above the base, accepted and visible, not known to be durable. */
  readonly pending: readonly Entry[];
  /** Fold of base and pending: what to show. */
  readonly projection: Projection;
  /** Ownership last announced; goes into the cursor. */
  readonly epoch: number;
  readonly overlay: Overlay;
  readonly persistence: Persistence;
  /** True once everything accepted at the time of attaching has arrived. */
  readonly synchronized: boolean;
}

export type ViewChange =
  | { readonly type: 'nothing' }
  | { readonly type: 'entry'; readonly entry: Entry }
  | { readonly type: 'marks' }
  /** Drop transcript entries above `from`. */
  | { readonly type: 'dropped'; readonly from: number }
  | { readonly type: 'overlay' }
  | {
      readonly type: 'notice';
      readonly level: 'INFO' | 'WARNING';
      readonly code: string;
      readonly message: string;
    }
  /** A gap or a lost chunk: subscribe again from the last applied revision. */
  | { readonly type: 'resubscribe' }
  /** The server cannot continue from here: fetch the snapshot again. */
  | { readonly type: 'snapshot' }
  | { readonly type: 'ended'; readonly resumable: boolean; readonly reason: string };

export const durableThrough = (view: View): number => view.base.revision;

/** A view of a snapshot whose entries above `durable.revision` are `pending`. */
export function viewOf(
  durable: Projection,
  pending: readonly Entry[],
  epoch: number,
  overlay: Overlay = emptyOverlay,
): View {
  return {
    base: durable,
    pending,
    projection: applyEntries(durable, pending),
    epoch,
    overlay,
    persistence: { status: 'HEALTHY' },
    synchronized: false,
  };
}

export function applyItem(view: View, item: FeedItem): readonly [View, ViewChange] {
  switch (item.type) {
    case 'EntryAdmitted': {
      const { entry } = item;
      if (entry.revision <= view.projection.revision) return [view, { type: 'nothing' }];
      if (entry.revision > view.projection.revision + 1) return [view, { type: 'resubscribe' }];
      const admitted: View = {
        ...view,
        pending: [...view.pending, entry],
        projection: applyEntry(view.projection, entry),
        overlay: overlayAfter(view.overlay, entry),
      };
      return [item.durable ? acknowledge(admitted, entry.revision) : admitted, { type: 'entry', entry }];
    }
    case 'EntriesDurable':
      return [acknowledge(view, item.durableThrough), { type: 'marks' }];
    case 'EpochStarted': {
      // What went missing before it lies behind its cursor, from which nobody would send it again.
      if (item.from > view.projection.revision) return [view, { type: 'resubscribe' }];
      const kept = acknowledge(
        { ...view, pending: view.pending.filter((e) => e.revision <= item.from) },
        item.from,
      );
      return [
        { ...kept, projection: kept.base, epoch: item.epoch, overlay: emptyOverlay },
        { type: 'dropped', from: item.from },
      ];
    }
    case 'StreamChunk': {
      const open = view.overlay.message;
      const known = open?.id === item.messageId ? open : null;
      const message = known ?? { id: item.messageId, turnId: item.turnId, text: '', reasoning: '' };
      const field = item.channel === 'TEXT' ? 'text' : 'reasoning';
      const text = splice(message[field], item.offset, item.text);
      if (text === null) return [view, { type: 'nothing' }];
      return [
        { ...view, overlay: { ...view.overlay, message: { ...message, [field]: text } } },
        { type: 'overlay' },
      ];
    }
    case 'StreamReset':
      return view.overlay.message?.id === item.messageId
        ? [{ ...view, overlay: { ...view.overlay, message: null } }, { type: 'overlay' }]
        : [view, { type: 'nothing' }];
    case 'ToolOutputChunk': {
      const next = extendOutput(view.overlay.tools[item.callId], item);
      if (!next) return [view, { type: 'nothing' }];
      const tools = { ...view.overlay.tools, [item.callId]: outputTail(next) };
      return [{ ...view, overlay: { ...view.overlay, tools } }, { type: 'overlay' }];
    }
    case 'Notice':
      return [view, { type: 'notice', level: item.level, code: item.code, message: item.message }];
    case 'PersistenceChanged':
      return [{ ...view, persistence: item.persistence }, { type: 'marks' }];
    case 'Synchronized':
      return [
        // What is open now follows at offset 0; what was open before may be void.
        {
          ...acknowledge(view, item.durableThrough),
          epoch: item.epoch,
          overlay: emptyOverlay,
          synchronized: true,
        },
        item.revision > view.projection.revision ? { type: 'resubscribe' } : { type: 'marks' },
      ];
    case 'Heartbeat':
      return [
        acknowledge(view, item.durableThrough),
        item.revision > view.projection.revision ? { type: 'resubscribe' } : { type: 'nothing' },
      ];
    case 'SnapshotRequired':
      return [view, { type: 'snapshot' }];
    case 'Ended':
      return [view, { type: 'ended', resumable: item.resumable, reason: item.reason }];
    default:
      return [view, { type: 'nothing' }];
  }
}

/** Most of a tool's live output that is kept for showing, in UTF-16 code units. */
export const toolOutputTail = 65_536;

interface Output {
  /** Where `text` begins in the whole output. */
  readonly offset: number;
  readonly text: string;
}

/** The last `toolOutputTail` units of a tool's output, and where they begin; one less rather than half a pair. */
export function outputTail({ offset, text }: Output): Output {
  const over = text.length - toolOutputTail;
  if (over <= 0) return { offset, text };
  const cut = isLowSurrogate(text.charCodeAt(over)) ? over + 1 : over;
  return { offset: offset + cut, text: text.slice(cut) };
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

/** What ends within what is known is a repeat (null); what overlaps it goes on; what leaves a hole begins anew. */
function extendOutput(known: Output | undefined, more: Output): Output | null {
  if (!known) return more;
  const end = known.offset + known.text.length;
  if (more.offset + more.text.length <= end) return null;
  if (more.offset > end || more.offset <= known.offset) return more;
  return { offset: known.offset, text: known.text.slice(0, more.offset - known.offset) + more.text };
}

function acknowledge(view: View, through: number): View {
  const landed = view.pending.filter((e) => e.revision <= through);
  if (landed.length === 0) return view;
  return {
    ...view,
    base: applyEntries(view.base, landed),
    pending: view.pending.filter((e) => e.revision > through),
  };
}

/** Offset 0 replaces, the local length appends, lower is a repeat, higher waits for the re-base (null). */
function splice(text: string, offset: number, more: string): string | null {
  if (offset === 0) return more;
  return offset === text.length ? text + more : null;
}

/** The overlay once an entry is there: an entry with the overlay's id replaces it; a settled call's live output is no longer needed. */
export function overlayAfter(overlay: Overlay, entry: Entry): Overlay {
  if (overlay.message?.id === entry.id) return { ...overlay, message: null };
  if (entry.kind === 'TURN' && entry.turn.outcome !== null) return emptyOverlay;
  if (entry.kind !== 'TOOL_SETTLED' || !(entry.callId in overlay.tools)) return overlay;
  const { [entry.callId]: _, ...tools } = overlay.tools;
  return { ...overlay, tools };
}
