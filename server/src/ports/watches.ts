/**
 * Owns: the need to keep how the polls of watches go: what is due, who polls it, what came of it, and what is to be told
 * (D-81, D-84). What a watch is, and whether it is active, is written by its workstream, with its entries.
 *
 * Invariants: a due poll is claimed by one server for a while; of a poll one outcome lands; what it has to say is kept
 * until the workstream has written it down, and is there at most once for each watch and poll. Of what a watch has waiting
 * the first and the latest are kept, and each end: it is bounded however long nobody writes it down. Times are the database's.
 */
import type { Author, Fire, Watch, WatchDefinition } from 'schema/projection';

/** A due poll that is this server's to run until its lease is over. */
export interface ClaimedPoll {
  /** Of this poll alone: processes are known by it, and ended with it (D-70). */
  readonly claim: string;
  readonly workstreamId: string;
  readonly watchId: string;
  readonly version: number;
  readonly definition: WatchDefinition;
  readonly author: Author;
  readonly depth: number;
  readonly workspace: string;
  /** Its number, 1 for the first. */
  readonly poll: number;
  /** ISO 8601. */
  readonly scheduledAt: string;
  readonly createdAt: string;
  /** Milliseconds it is late, by the database's clock. */
  readonly lateMs: number;
  readonly prevOutput: string | null;
  /** Conditions in a row that failed. */
  readonly errors: number;
  /** How often it has fired. */
  readonly fires: number;
  /** It is past its deadline: nothing is run any more, and what is recorded of it is no poll. */
  readonly overdue: boolean;
}

/** What came of a poll. */
export interface PollOutcome {
  readonly claim: ClaimedPoll;
  readonly durationMs: number;
  /** Null: the command did not end by itself, or was not run. */
  readonly exitCode: number | null;
  /** Null: the command did not run, so that the next output is compared with the one before. */
  readonly output: string | null;
  /** Why it could not run, was cut short, or its condition could not be judged; null: nothing was wrong. */
  readonly error: string | null;
  /** Conditions in a row that failed, with this one. */
  readonly errors: number;
  /** What is to be told; null: nothing. */
  readonly fire: Fire | null;
}

/** RECORDED: it is kept, and what it says is to be delivered. STALE: the watch was changed meanwhile; nothing is told. LOST: another server polls it. */
export type Landing = 'RECORDED' | 'STALE' | 'LOST';

/** A poll as it is kept. */
export interface PollRecord {
  readonly poll: number;
  /** ISO 8601. */
  readonly at: string;
  readonly durationMs: number;
  readonly exitCode: number | null;
  /** It told that what the watch waits for has happened. */
  readonly fired: boolean;
  readonly error: string | null;
  /** The end of it, at most 2,000 characters. */
  readonly outputTail: string;
}

/** A watch with how its polls go. */
export interface WatchRow {
  readonly workstreamId: string;
  readonly watch: Watch;
  readonly polls: number;
  readonly fires: number;
  /** ISO 8601; null: none is due. */
  readonly nextPollAt: string | null;
  readonly lastPollAt: string | null;
  readonly lastExitCode: number | null;
  /** Of the last poll that ran its command; null: none has. */
  readonly lastOutput: string | null;
  readonly lastError: string | null;
}

export interface WatchCounts {
  /** Of this server, and nobody polls them. */
  readonly due: number;
  /** By this session. */
  readonly running: number;
  /** Of those due, for more than a second (D-81). */
  readonly late: number;
  /** Fires that this server can tell, and their workstreams have not written down yet. */
  readonly waiting: number;
}

/** Polls kept of each watch (D-86). */
export const pollsKept = 200;
/** Bytes kept of the last output, and UTF-16 units of each. */
export const outputBytesKept = 65_536;
export const tailKept = 2_000;

export interface WatchStore {
  /**
   * Claims what is due, the longest due first, of watches whose workstream this session owns or nobody does and whose host
   * is this one: at most `limit`, at most `perWorkstream` of one workstream with those under way. One statement. A claim is
   * over when what came of it is recorded, or with its lease or its session: until then its watch is not polled again.
   */
  claim(request: {
    readonly sessionId: string;
    readonly host: string;
    readonly limit: number;
    readonly perWorkstream: number;
    readonly leaseMs: number;
  }): Promise<readonly ClaimedPoll[]>;
  /**
   * Gives back what this session has claimed, but for these claims: those of which the answer was lost, that nobody knows of.
   * Not while a claim is asked for.
   */
  giveBack(sessionId: string, except: readonly ClaimedPoll[]): Promise<void>;
  /**
   * Milliseconds until the next poll of this server is due or its lease is over, 0 or less when one is, if only because
   * it waits for others of its workstream; null: none will be. A clock that went back is noticed here: nothing is then
   * due later than its interval, and no lease of anybody's longer than `leaseMs`.
   */
  untilDue(request: {
    readonly sessionId: string;
    readonly host: string;
    readonly leaseMs: number;
  }): Promise<number | null>;
  /**
   * Of claims of this server those that are still for something: not of a watch that was edited, paused or ended since, or is
   * gone, and not taken over. The others are to be cut short and recorded.
   */
  held(claims: readonly ClaimedPoll[]): Promise<readonly ClaimedPoll[]>;
  /**
   * One transaction: outcome, counters, next time, delivery. The next time is beyond now: scheduled + as many intervals as
   * it takes, at most one from now, the deadline at the latest, and none after an end; what was made due meanwhile stays.
   * What it has to say takes the place of what `fireCapacity` leaves none for.
   */
  record(outcome: PollOutcome): Promise<Landing>;
  /** Workstreams that something waits to be told to, and that this server can load: in the order of their ids, after one. */
  waiting(request: {
    readonly sessionId: string;
    readonly host: string;
    readonly limit: number;
    readonly after: string | null;
  }): Promise<readonly string[]>;
  /** What waits to be told to a workstream, if that is open: earlier polls first, so that none is left out before a later one. */
  deliveries(request: { readonly workstreamId: string; readonly limit: number }): Promise<readonly Fire[]>;
  get(watchId: string): Promise<WatchRow | null>;
  /** Of one workstream or of all; `ended`: also those that have ended; the newest first. */
  list(request: {
    readonly workstreamId: string | null;
    readonly ended: boolean;
    readonly limit: number;
    readonly after: string | null;
  }): Promise<readonly WatchRow[]>;
  /** The newest first, before a poll. */
  polls(
    watchId: string,
    page: { readonly limit: number; readonly before: number | null },
  ): Promise<readonly PollRecord[]>;
  counts(request: { readonly sessionId: string; readonly host: string }): Promise<WatchCounts>;
}
