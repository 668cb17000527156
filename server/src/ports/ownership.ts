/**
 * Owns: the need to know who runs a workstream, by the database's clock (D-100).
 */
import type { Projection } from 'schema/projection';

/** Heartbeat and expiry of a session, milliseconds (D-100). */
export const sessionHeartbeatMs = 5_000;
export const sessionTermMs = 20_000;

/** The load or step that throws as the third in a row quarantines the workstream (D-71). */
export const failedLoadsBeforeQuarantine = 3;

export interface Session {
  readonly id: string;
  readonly nodeId: string;
  /** False when the term is over or the session was ended by another: act as deposed. Rejects when the database is away. */
  renew(): Promise<boolean>;
  /** Ends it and releases the node's lock. Never rejects. */
  end(): Promise<void>;
  /** Calls back once when the lock's connection is lost. */
  onLost(callback: () => void): void;
}

export interface Sessions {
  /**
   * Takes the node's lock and ends the predecessor's session at once. `busy` when a live process holds the lock.
   * `host` names this machine, for process clean-up.
   */
  begin(
    nodeId: string,
    host: string,
  ): Promise<{ readonly type: 'begun'; readonly session: Session } | { readonly type: 'busy' }>;
}

/** All an actor needs to go on. Its size does not grow with history: the conversation is read when it is needed. */
export interface LoadedWorkstream {
  readonly id: string;
  readonly incarnation: string;
  /** The new epoch, taken by this load. */
  readonly epoch: number;
  /** The fold at the head. */
  readonly projection: Projection;
  /** Tokens spent for it so far, by every caller (D-33). */
  readonly spent: number;
  /** ISO 8601. */
  readonly createdAt: string;
  /** Host of the session that ran it before; null when none. */
  readonly previousHost: string | null;
  /** Loads or steps in a row that threw (D-71). */
  readonly failedLoads: number;
}

export type ClaimOutcome =
  | { readonly type: 'claimed'; readonly workstream: LoadedWorkstream }
  | { readonly type: 'notFound' }
  /** Recovery failed three times in a row; nobody runs it (D-71). */
  | { readonly type: 'quarantined'; readonly reason: string }
  /** Another live session runs it. */
  | { readonly type: 'elsewhere' };

export interface Ownership {
  /** Takes epoch+1 in one conditional UPDATE, and reads the rest (D-22). CREATING rows are not found. */
  claim(workstreamId: string, sessionId: string): Promise<ClaimOutcome>;
  /** Gives the workstream up if this session still owns it at that epoch. */
  release(workstreamId: string, sessionId: string, epoch: number): Promise<void>;
  /** What this session owns, and at which epoch; reservations aside. */
  held(sessionId: string): Promise<readonly { readonly id: string; readonly epoch: number }[]>;
  /**
   * Open workstreams, not quarantined, with a live turn whose owner is none, ended or expired, or this session. One that
   * only waits for a person may rest: the decision loads it (D-24).
   */
  liveTurns(sessionId: string): Promise<readonly string[]>;
  /** Those of these sessions that this database knows and that are over, by its clock. */
  over(sessionIds: readonly string[]): Promise<readonly string[]>;
  /**
   * Counts a load or step that threw; answers how many in a row. The third sets the reason as `quarantine`. `null`
   * clears count and quarantine.
   */
  recordFailedLoad(workstreamId: string, reason: string | null): Promise<number>;
}
