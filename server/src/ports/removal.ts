/**
 * Owns: the need to take workstreams out of storage, each whole and with all that is its own, in one transaction
 * (D-21, D-25), and to know which folders they leave.
 *
 * Invariant: whoever deletes a workstream or a reservation, its folder is noted as left in the same transaction, until
 * it is let go.
 */
import type { Receipt } from '../core/journal/receipt.ts';

/** Exactly this workstream, whatever comes under its id later. */
export interface Removed {
  readonly id: string;
  readonly incarnation: string;
}

export type RemovalOutcome =
  | { readonly type: 'removed' }
  /** There is no workstream of this incarnation that anybody can see. */
  | { readonly type: 'notFound' }
  /** Another live session runs it. */
  | { readonly type: 'elsewhere' }
  /** Another ownership of this session has it by now: another epoch. Nothing was done. */
  | { readonly type: 'fenced' }
  /** The receipt's key is taken (read it back). Nothing was done. */
  | { readonly type: 'duplicate' };

/** Who sweeps, and what it must leave alone whatever the database says: ids it has loaded, or is making. */
export interface Sweeper {
  readonly sessionId: string;
  readonly except: readonly string[];
}

/** Hears which workstreams go, before they do: should the answer be lost, these are the ones to look for. */
export type Doomed = (batch: readonly Removed[]) => void;

/** The sweeps delete some in one transaction, and answer which; call again until none is left. */
export interface Removal {
  /**
   * Deletes exactly this incarnation with its entries, turns, approvals, queue and the receipts of commands on it, and
   * records `receipt`, which outlives it. `epoch`: of the ownership that deletes it; null: nobody here runs it. A
   * rejection leaves open whether it happened: read the incarnation and the receipt.
   */
  remove(which: {
    readonly workstreamId: string;
    readonly incarnation: string;
    readonly epoch: number | null;
    readonly sessionId: string;
    readonly receipt: Receipt;
  }): Promise<RemovalOutcome>;
  /**
   * Deletes reservations older than `olderThanMs` by the database's clock whose session is none, ended, expired or the
   * sweeper's own. Skips what somebody else is changing.
   */
  reap(by: Sweeper, olderThanMs: number): Promise<readonly Removed[]>;
  /**
   * Deletes open workstreams older than `olderThanMs` to which nothing was done since they were made, that nobody named or
   * wrote instructions or a budget for, and that no live session has.
   */
  sweepUnused(by: Sweeper, olderThanMs: number, doomed: Doomed): Promise<readonly Removed[]>;
  /** Deletes closed workstreams in which nothing happened for `olderThanMs`, and which no live session has. */
  sweepClosed(by: Sweeper, olderThanMs: number, doomed: Doomed): Promise<readonly Removed[]>;
  /** Some of the folders that were left and not let go yet, of which the path begins so; none: there is none. */
  leftFolders(beginning: string): Promise<readonly string[]>;
  /**
   * Lets go of a folder: runs `take` and answers what that gives, or answers `inUse` when somebody works in it, be it a
   * reservation, under whatever path: one that was made for a workstream is known by its name (`folderKey`). Meanwhile nobody settles in it. Afterwards it is not left any more, whatever came of it.
   */
  letGo<T>(folder: string, take: () => Promise<T>): Promise<T | 'inUse'>;
}

/**
 * What is the same of all paths of a folder. One that was made for a workstream has its id for a name, of which there are no
 * two, and may have been written down before and after all data was moved.
 */
export const folderKey = (path: string): string => /\/[0-9a-f]{32}$/.exec(path)?.[0] ?? path;
