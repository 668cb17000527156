/**
 * Owns: all an actor knows. The shared projection says what is true; the rest says what this process has under way
 * and is lost with it (and rebuilt by recovery).
 *
 * Invariants: `projection` is the fold of the journal up to `projection.revision`; `durable` is the fold of
 * the committed prefix and `pending` the entries above it, in order, without gaps; a held deed
 * belongs to the live turn and its generation, or to no turn.
 */
import {
  emptyOverlay,
  isConversation,
  isSuperseded,
  liveTurn,
  type Context,
  type Entry,
  type Fire,
  type Overlay,
  type Projection,
  type Turn,
} from 'schema/projection';
import type { Deed } from '../effects.ts';
import type { Receipt } from '../journal/receipt.ts';
import { withRoom, type Room } from '../context/meter.ts';
import type { Cut } from '../context/watermark.ts';
import type { ModelFault } from '../models/fault.ts';
import type { Ladder } from '../models/ladder.ts';

/** The attempt at an answer that is under way: being asked, or waiting to be asked again. */
export interface Attempt {
  readonly messageId: string;
  /** The model that was chosen when it began. */
  readonly alias: string;
  readonly ladder: Ladder;
  readonly phase: 'calling' | 'backoff';
  /** It is called and waits for a slot: no endpoint was asked yet. */
  readonly waits: boolean;
  /** It is being ended because another model was chosen while it waited. */
  readonly recalled: boolean;
}

/** Why the conversation is summarised where it did not fit, and of whom that was asked (D-39). */
export interface Overflow {
  readonly fault: ModelFault;
  /** The model that was chosen then: of another one it says nothing. */
  readonly chosen: string;
  /** How far the ladder was climbed: what failed first is what is reported. */
  readonly ladder: Ladder;
}

/** A summary that is being made (D-40). */
export interface Summary {
  /** Id of the compaction. */
  readonly id: string;
  /** Null: the conversation is being read for it. */
  readonly cut: Cut | null;
}

/** How far a declared call has come in this process. Settled calls are in the projection only. */
export type Progress =
  | { readonly type: 'preparing' }
  | { readonly type: 'asking' }
  /** May run as soon as one of the slots is free. */
  | { readonly type: 'allowed'; readonly basis: string | null }
  | { readonly type: 'running' };

/** Work of a turn that was forced to settle: not seen to end, and not waited for (D-66). */
export interface Orphan {
  readonly type: 'answer' | 'call';
  /** Id of the message or of the call. */
  readonly id: string;
  /** The claim under which it was begun: only under that does it tell of its end. */
  readonly generation: number;
}

export interface Held {
  /** The batch that must be durable first. */
  readonly after: number;
  readonly deed: Deed;
}

export interface RecordedReceipt extends Receipt {
  readonly batch: number;
}

export interface State {
  readonly workstreamId: string;
  readonly incarnation: string;
  readonly epoch: number;
  readonly projection: Projection;
  /**
   * What the model is told above `conversationFrom`: the latest summary first, then the conversation entries above its
   * watermark that are not superseded.
   */
  readonly conversation: readonly Entry[];
  /** What lies at or below this revision is in the database only; 0 when nothing does. */
  readonly conversationFrom: number;
  /** It is being closed or deleted: nothing new is taken (D-23, D-25). */
  readonly closing: boolean;
  /** In this process a name was asked for: it is not asked for twice. */
  readonly titleAsked: boolean;
  /** The fold of the durable entries, and the accepted ones above it. */
  readonly durable: Projection;
  readonly pending: readonly Entry[];
  /** Batches made in this epoch, and how many of them are durable. */
  readonly batches: number;
  readonly durableBatches: number;
  readonly attempt: Attempt | null;
  readonly summary: Summary | null;
  /** Set from when it did not fit until the next answer; reported when a summary does not help (D-39). */
  readonly overflow: Overflow | null;
  /** Summaries of this turn that stand for results which the model has not read. */
  readonly unread: number;
  /** What was found of the model that was asked last; null: none was asked since it was chosen. */
  readonly room: Room | null;
  /** Tokens spent for this workstream, by every caller, in every epoch. */
  readonly spent: number;
  readonly progress: Readonly<Record<string, Progress>>;
  readonly held: readonly Held[];
  readonly orphans: readonly Orphan[];
  /** What watches have said and is not written down yet; the database has it, too, until it is. */
  readonly fires: readonly Fire[];
  readonly overlay: Overlay;
  /** Receipts of this epoch, oldest first; a second copy of a command joins the first here (D-60). */
  readonly receipts: ReadonlyMap<string, RecordedReceipt>;
}

export function loadedState(loaded: {
  readonly id: string;
  readonly incarnation: string;
  readonly epoch: number;
  readonly projection: Projection;
  /** Null: it is read when it is needed, so that loading does not grow with history. */
  readonly conversation: readonly Entry[] | null;
  /** Absent: nothing. */
  readonly spent?: number;
}): State {
  return {
    workstreamId: loaded.id,
    incarnation: loaded.incarnation,
    epoch: loaded.epoch,
    projection: loaded.projection,
    conversation: told(loaded.projection, loaded.conversation ?? []),
    conversationFrom: loaded.conversation === null ? loaded.projection.revision : 0,
    closing: false,
    titleAsked: false,
    durable: loaded.projection,
    pending: [],
    batches: 0,
    durableBatches: 0,
    attempt: null,
    summary: null,
    overflow: null,
    unread: 0,
    room: null,
    spent: loaded.spent ?? 0,
    progress: {},
    held: [],
    orphans: [],
    fires: [],
    overlay: emptyOverlay,
    receipts: new Map(),
  };
}

/** Of these entries, those the model is told, in the order in which it is: the latest summary stands before all else. */
export function told(projection: Projection, entries: readonly Entry[]): readonly Entry[] {
  const { checkpoint } = projection;
  const said = entries.filter(
    (e) =>
      isConversation(e.kind) &&
      e.kind !== 'CHECKPOINT' &&
      e.revision > (checkpoint?.watermark ?? 0) &&
      !isSuperseded(projection, e.revision),
  );
  const summary = checkpoint && entries.find((e) => e.revision === checkpoint.revision);
  return summary ? [summary, ...said] : said;
}

/** The stop latch is set: nothing new begins in this turn (D-65). */
export const isLatched = (turn: Turn | null): boolean => turn?.phase === 'INTERRUPTING';

/** How full the context is, with what is known of the model beside the journal. */
export const contextOf = ({ projection, room }: State): Context =>
  room ? withRoom(projection.context, room) : projection.context;

export const liveTurnOf = (state: State): Turn | null => liveTurn(state.projection);
