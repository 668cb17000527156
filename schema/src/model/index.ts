/**
 * Owns: the plain values behind the GraphQL types that are not already in the projection. No behaviour.
 */
import type {
  Author,
  ContextMark,
  Effort,
  Entry,
  FeedItem,
  Overlay,
  Persistence,
  Projection,
  Usage,
  Watch,
  WorkstreamState,
} from '../projection/index.ts';

/** Everything about a workstream, from one read at one revision. */
export interface WorkstreamModel {
  readonly id: string;
  /** What to show: the fold of all accepted entries, pending ones included. */
  readonly projection: Projection;
  /** The fold of the durable entries only, and the entries above it: what a follower starts from (`viewOf`). */
  readonly durable: Projection;
  readonly pending: readonly Entry[];
  /** Current ownership; may be above `projection.epoch` when the owner has written nothing yet. */
  readonly epoch: number;
  readonly durableThrough: number;
  readonly state: WorkstreamState;
  /** How full the context is; the window as the model is set up, where no answer has told it yet. */
  readonly context: ContextMark;
  readonly overlay: Overlay;
  readonly persistence: Persistence;
  /** Opaque: where to start the feed. */
  readonly cursor: string;
  /** Id of the session that runs it; null when it is not loaded anywhere. */
  readonly owner: string | null;
  /** Set while quarantined: why (D-71). */
  readonly quarantine: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** A row of the workstream list. */
export interface WorkstreamSummaryModel {
  readonly id: string;
  readonly title: string;
  readonly state: WorkstreamState;
  readonly stopping: boolean;
  readonly lifecycle: 'OPEN' | 'CLOSED';
  readonly model: string;
  readonly revision: number;
  readonly persistence: Persistence['status'];
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** What a snapshot of the list leaves out. */
export interface OlderWorkstreams {
  /** Place of the last one before them: the list goes on after it. */
  readonly after: Place;
  /** Whether any of them is open, and closed. */
  readonly open: boolean;
  readonly closed: boolean;
}

/** Items of the list's subscription: a snapshot, then changes, then heartbeats. */
export type WorkstreamStateItem =
  | {
      readonly type: 'StatesSnapshot';
      readonly workstreams: readonly WorkstreamSummaryModel[];
      readonly older: OlderWorkstreams | null;
    }
  | { readonly type: 'StateChanged'; readonly workstream: WorkstreamSummaryModel }
  /** It was deleted; nothing follows about it. */
  | { readonly type: 'WorkstreamDeleted'; readonly workstreamId: string }
  /** How storing goes for the whole server: after each snapshot, and whenever it changes. */
  | { readonly type: 'ServerPersistenceChanged'; readonly persistence: Persistence }
  | { readonly type: 'StatesHeartbeat'; readonly at: string };

/** A page of history, oldest first, contiguous in revision, each entry once (D-53). */
export interface HistoryPage {
  readonly entries: readonly Entry[];
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
  readonly revision: number;
  readonly durableThrough: number;
  readonly epoch: number;
  readonly cursor: string;
}

/** `first` with `after` (exclusive) reads forward; `last` with `before` (exclusive) backward. At most 200. */
export type HistoryRange =
  | { readonly direction: 'forward'; readonly count: number; readonly after: number }
  | { readonly direction: 'backward'; readonly count: number; readonly before: number | null };

export interface Page<T> {
  readonly items: readonly T[];
  readonly hasNext: boolean;
  readonly totalCount: number;
}

/** Newest first; `first` is 1 to 200. */
export interface PageRange {
  readonly first: number;
  /** The last item seen, which need not be there any more; null: from the newest. */
  readonly after: Place | null;
}

/** Where an item of a list stands: lists are ordered by time, and by id where times are equal. */
export interface Place {
  /** When a workstream was made or an approval cycle opened: a time as `Date.toISOString` writes it. */
  readonly at: string;
  readonly id: string;
}

/** Where a found entry stands among all that can be found: newest first by its time, then by the other two. */
export interface SearchPlace {
  /** ISO 8601, milliseconds. */
  readonly at: string;
  readonly workstreamId: string;
  readonly revision: number;
}

/** A piece of plain text; `hit` when it is what was searched for. */
export interface SnippetSegment {
  readonly text: string;
  readonly hit: boolean;
}

export interface SearchHitModel {
  readonly workstreamId: string;
  /** Of the workstream. */
  readonly title: string;
  readonly entry: Entry;
  readonly superseded: boolean;
  readonly snippet: readonly SnippetSegment[];
}

/** What is known of one alias now. */
export interface ModelModel {
  readonly alias: string;
  /** Model and host, for people; no credential. */
  readonly description: string;
  /** The built-in demo, which is no language model. */
  readonly demo: boolean;
  readonly isDefault: boolean;
  /**
   * FAILING: the last call to it or its endpoint failed. DEGRADED: it or its endpoint failed five times in a row, so it is asked last for a while.
   * UNKNOWN: not asked yet.
   */
  readonly health: 'UNKNOWN' | 'HEALTHY' | 'FAILING' | 'DEGRADED';
  /** Why the last call to it or its endpoint failed, or what a look at that found. Null: nothing is wrong. */
  readonly problem: string | null;
  /** Tokens it can read at once, as configured or as its endpoint says; null: not known. */
  readonly window: number | null;
  /** Most tokens of one answer; null: the endpoint's own. */
  readonly maxOutput: number | null;
  /** Calls at the same time; null: no bound. */
  readonly concurrency: number | null;
  readonly inUse: number;
  readonly waiting: number;
  /** Aliases that are asked in its place when it fails, in order. */
  readonly fallbacks: readonly string[];
  /** As configured; null: as the endpoint does it. */
  readonly temperature: number | null;
  readonly effort: Effort | null;
  /** The efforts it knows; others are rounded up to one of these. Empty: it is told none. */
  readonly efforts: readonly Effort[];
  readonly vision: boolean;
  readonly reasoning: boolean;
  /** United States dollars per million tokens; null: not configured. */
  readonly price: ModelPrice | null;
}

export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  /** Null: as `input`. */
  readonly cachedInput: number | null;
}

/** Sums over model calls. */
export interface UsageTotalModel {
  readonly calls: number;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  /** United States dollars, of the calls that had a price; null: none had. */
  readonly cost: number | null;
  /** Of the calls, those the provider did not count. */
  readonly estimatedCalls: number;
}

export type UsageKey = 'DAY' | 'WORKSTREAM' | 'MODEL';

export interface UsageGroupModel extends UsageTotalModel {
  /** ISO 8601 date, UTC; null: not asked for by day. */
  readonly day: string | null;
  readonly workstreamId: string | null;
  /** Of that workstream; null: not asked for by workstream, or it is gone. */
  readonly title: string | null;
  readonly alias: string | null;
}

/** A model call that has ended. */
export interface ModelCallModel {
  readonly id: string;
  readonly purpose: 'TURN' | 'SUMMARY' | 'TITLE';
  readonly turnId: string | null;
  readonly alias: string;
  readonly model: string;
  readonly usage: Usage;
  /** True: the provider did not count. */
  readonly estimated: boolean;
  readonly outcome: 'ANSWERED' | 'FAILED' | 'ABORTED';
  /** United States dollars; null: no price was set. */
  readonly cost: number | null;
  readonly at: string;
}

/** A watch with how its polls go. */
export interface WatchModel extends Watch {
  readonly workstreamId: string;
  readonly polls: number;
  readonly fires: number;
  /** Null: none is due. */
  readonly nextPollAt: string | null;
  /** Null: it was not polled yet, as with the next three. */
  readonly lastPollAt: string | null;
  readonly lastExitCode: number | null;
  readonly lastOutput: string | null;
  readonly lastError: string | null;
}

export interface WatchPollModel {
  readonly poll: number;
  readonly at: string;
  readonly durationMs: number;
  /** Null: the command did not end by itself, or was not run. */
  readonly exitCode: number | null;
  readonly fired: boolean;
  readonly error: string | null;
  readonly outputTail: string;
}

/** What came of trying a condition. */
export interface ConditionTrialModel {
  readonly soundness: 'SOUND' | 'UNSOUND';
  /** Where it is wrong, 1 for the first; null: it is sound, or (column) the whole is. */
  readonly line: number | null;
  readonly column: number | null;
  /** Null: it is unsound, or there was nothing to judge. */
  readonly verdict: 'HOLDS' | 'HOLDS_NOT' | 'FAILED' | null;
  /** Null: nothing is wrong. */
  readonly message: string | null;
}

/** How the watches of a server go; counters are since it started. */
export interface WatchFiguresModel {
  readonly due: number;
  readonly running: number;
  readonly late: number;
  readonly polls: number;
  readonly fires: number;
  readonly errors: number;
  /** Null: there was no poll. */
  readonly lateP99Ms: number | null;
  readonly waiting: number;
}

export interface ToolModel {
  readonly name: string;
  readonly description: string;
  /** True: it changes something, so a person is asked before each call as far as the mode wants it. */
  readonly asks: boolean;
}

export interface ServerModel {
  readonly version: string;
  readonly node: string;
  /** For example "PostgreSQL 18.4 (embedded)". */
  readonly database: string;
  readonly workspaceRoots: readonly string[];
  /** Things an operator should know, for example that tools run as root. */
  readonly warnings: readonly string[];
  readonly persistence: Persistence;
}

export interface TokenModel {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
}

/** A feed item together with where to resume after it. */
export interface FeedEvent {
  readonly item: FeedItem;
  readonly cursor: string;
}

/** The seed's token chunks alone, for simple clients; state changes ride with them. */
export type TokenChunkModel =
  | {
      readonly type: 'TextChunk';
      readonly messageId: string;
      readonly channel: 'TEXT' | 'REASONING';
      readonly offset: number;
      readonly text: string;
    }
  | { readonly type: 'StateChanged'; readonly workstream: WorkstreamSummaryModel };

/** Who is asking: a token. */
export interface Viewer extends Author {
  readonly tokenId: string;
}
