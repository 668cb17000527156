/**
 * Owns: the need to keep what was accepted. One batch, one transaction (D-3), fenced in SQL (D-4).
 */
import type { Checkpoint, Entry, EntryOf, Projection, Span, WorkstreamState } from 'schema/projection';
import type { Receipt } from '../core/journal/receipt.ts';
import type { ModelCall } from '../core/models/spending.ts';

export type { Receipt } from '../core/journal/receipt.ts';

/** What one step accepted: consecutive entries and everything that must be true together with them. */
export interface Batch {
  readonly workstreamId: string;
  readonly incarnation: string;
  readonly epoch: number;
  /** Revision before the first entry; the fence. */
  readonly expectedHead: number;
  readonly entries: readonly Entry[];
  /** The fold at the last entry; kept in the head row and read back on load. */
  readonly projection: Projection;
  /** Derived from the projection, kept for listing (D-6). */
  readonly state: WorkstreamState;
  readonly receipts: readonly Receipt[];
  /** Model calls that ended with it; one that is recorded already is not counted again (D-5). */
  readonly calls: readonly ModelCall[];
}

export interface Head {
  readonly incarnation: string;
  readonly epoch: number;
  readonly revision: number;
  readonly lifecycle: 'CREATING' | 'OPEN' | 'CLOSED';
}

export type CommitOutcome =
  | { readonly type: 'committed' }
  /** Incarnation, epoch or expected head did not match; nothing was written. */
  | { readonly type: 'fenced' }
  /** The database did not answer, or went away during COMMIT: unknown whether it was written. Try again. */
  | { readonly type: 'unavailable'; readonly message: string }
  /** The database refuses the data; trying again cannot help. Nothing was written. */
  | { readonly type: 'conflict'; readonly message: string };

export interface ReadRange {
  readonly after: number;
  readonly through: number;
  readonly limit: number;
  /** Payloads of about so many bytes as JSON together, and always at least one entry; without it any number. */
  readonly maxBytes?: number;
  /** Which end a page begins at when not all fits; OLDEST without it. */
  readonly from?: 'OLDEST' | 'NEWEST';
}

/** Most bytes read at once where the answer is made of it: one entry is at most about as long. */
export const pageBytes = 2 * 1024 * 1024;

/**
 * Most keys of recorded commands an actor keeps in memory, so that a command need not ask the database whether it was
 * done before: half a megabyte of keys, and more commands than a week of heavy use.
 */
export const receiptKeysLoaded = 5_000;

export interface Journal {
  /** Never rejects. */
  commit(batch: Batch): Promise<CommitOutcome>;
  /** The head row as it is; null when there is none. Includes CREATING. Rejects when the database is away. */
  head(workstreamId: string): Promise<Head | null>;
  /** True when each of these entry ids is stored at its revision: an unknown commit had landed (D-52). */
  holds(
    workstreamId: string,
    entries: readonly { readonly id: string; readonly revision: number }[],
  ): Promise<boolean>;
  /** Entries with `after < revision <= through`, ascending, at most `limit`: a page from one end of the range. */
  read(workstreamId: string, range: ReadRange): Promise<readonly Entry[]>;
  /**
   * Bytes that the payloads with `after < revision <= through` take as JSON, not packed as they lie there; they are not
   * read. Counted from the oldest on and no further than one beyond `enough`: what is above it says only that.
   */
  storedBytes(
    workstreamId: string,
    range: { readonly after: number; readonly through: number; readonly enough: number },
  ): Promise<number>;
  /** Epoch of the entry stored at a revision; null when there is none. */
  epochAt(workstreamId: string, revision: number): Promise<number | null>;
  /** The greatest revision ≤ `revision` whose entry has an epoch ≤ `epoch`; 0 when there is none (D-55). */
  lastRevisionOf(workstreamId: string, revision: number, epoch: number): Promise<number>;
  /**
   * What the model is told of the entries at or below `through`, in that order (D-40, D-59): the summary of the
   * checkpoint, if there is one, then the other conversation entries above its watermark but for those in a span,
   * ascending. Null: there is no such incarnation any more, perhaps since it was read in part. Rejects when the database
   * is away, or `signal` aborts on the way: it never answers with a part.
   */
  conversation(
    workstreamId: string,
    range: {
      readonly incarnation: string;
      readonly through: number;
      readonly superseded: readonly Span[];
      readonly checkpoint: Checkpoint | null;
      readonly signal?: AbortSignal;
    },
  ): Promise<readonly Entry[] | null>;
  /** The latest CHECKPOINT entry at or below `through`; null when there is none. */
  checkpointAt(workstreamId: string, through: number): Promise<EntryOf<'CHECKPOINT'> | null>;
  /** REWIND entries at or below `through`, ascending. */
  rewinds(workstreamId: string, through: number): Promise<readonly EntryOf<'REWIND'>[]>;
  /**
   * Keys of the commands recorded for a workstream, `<scope>\n<key>`; null when there are more than
   * `receiptKeysLoaded`.
   */
  receiptKeys(workstreamId: string): Promise<ReadonlySet<string> | null>;
  /** The receipt recorded under this key; null when there is none. */
  findReceipt(scope: string, key: string): Promise<Receipt | null>;
}
