/**
 * Owns: the port between the GraphQL surface and the server. Resolvers are one line over it; the server implements it.
 *
 * Every command takes who asks, an idempotency key minted once per intent, and answers a value: the acceptance once
 * its batch is durable (or PENDING after 5 s), or a refusal that changed nothing (D-11, D-60, D-61).
 */
import type {
  ConditionTrialModel,
  FeedEvent,
  HistoryPage,
  HistoryRange,
  ModelCallModel,
  ModelModel,
  Page,
  PageRange,
  SearchHitModel,
  SearchPlace,
  ServerModel,
  TokenChunkModel,
  TokenModel,
  ToolModel,
  UsageGroupModel,
  UsageKey,
  UsageTotalModel,
  Viewer,
  WatchFiguresModel,
  WatchModel,
  WatchPollModel,
  WorkstreamModel,
  WorkstreamStateItem,
  WorkstreamSummaryModel,
} from './model/index.ts';
import type {
  AlreadyDecided,
  ApprovalGone,
  ArgumentsChanged,
  Busy,
  CommandRefusal,
  Durability,
  InvalidInput,
  JournalUnsettled,
  KeyReused,
  LifecycleRefusal,
  MessageNotFound,
  MessageNotQueued,
  NothingToCompact,
  NothingToDiscard,
  NotYours,
  QueueFull,
  ShuttingDown,
  StaleTurn,
  StaleWatch,
  StorageUnavailable,
  TokenNotFound,
  WatchLimit,
  WatchNameTaken,
  WatchNotFound,
  WorkstreamNotFound,
} from './outcome.ts';
import type {
  ApprovalCycle,
  ApprovalDecision,
  ApprovalMode,
  Configuration,
  Effort,
  ModelChoice,
  Queue,
  Watch,
} from './projection/index.ts';

interface Accepted {
  readonly type: 'Accepted';
  readonly durability: Durability;
}

/** What every command on a workstream says. */
interface OnWorkstream {
  readonly key: string;
  readonly workstreamId: string;
}

export interface CreateWorkstream {
  readonly key: string;
  /** Null: the server names it "New workstream". At most 200 characters. */
  readonly title: string | null;
  /** Alias; null: the default model. */
  readonly model: string | null;
  /** From 0 to 2; null: as the model is set up. */
  readonly temperature: number | null;
  readonly effort: Effort | null;
  /** A folder under one of the allowed roots; null: a folder of its own is made. */
  readonly workspace: string | null;
  /** Null: ASK. */
  readonly approvalMode: ApprovalMode | null;
  /** At most 20,000 characters; null or empty: none. */
  readonly instructions: string | null;
  /** Tokens, 1,000 or more; null or 0: any number. */
  readonly tokenBudget: number | null;
}
export type CreateWorkstreamOutcome =
  | (Accepted & { readonly workstreamId: string })
  | InvalidInput
  | KeyReused
  | ShuttingDown
  | StorageUnavailable;

export interface SendMessage extends OnWorkstream {
  /** 1 character to 1 MB of UTF-8. */
  readonly text: string;
  /** What to do while a turn runs: wait for its end, be said to it as soon as it can hear, or be refused (D-63). */
  readonly delivery: 'QUEUE' | 'STEER' | 'REJECT';
  /** STEER: the turn the caller saw. Else null. */
  readonly turnId: string | null;
}
interface Said {
  /** STARTED: a turn runs on it. QUEUED: it waits for the live turn to end. STEERING: for the calls under way. */
  readonly disposition: 'STARTED' | 'QUEUED' | 'STEERING';
  /** Id of the USER entry when STARTED, else of the queued message. */
  readonly messageId: string;
  readonly turnId: string | null;
  readonly revision: number;
}
export type SendMessageOutcome = (Accepted & Said) | QueueFull | StaleTurn | Busy | NotYours | CommandRefusal;

export interface EditQueuedMessage extends OnWorkstream {
  readonly messageId: string;
  /** As in SendMessage. */
  readonly text: string;
}
export type EditQueuedMessageOutcome =
  (Accepted & { readonly queue: Queue }) | MessageNotQueued | NotYours | QueueFull | CommandRefusal;

export interface WithdrawQueuedMessage extends OnWorkstream {
  readonly messageId: string;
}
export type WithdrawQueuedMessageOutcome =
  (Accepted & { readonly queue: Queue }) | MessageNotQueued | CommandRefusal;

export interface RewindWorkstream extends OnWorkstream {
  /** The message that is taken back, with all that came after it. */
  readonly messageId: string;
  /** The last turn the caller saw; null when none was shown. */
  readonly turnId: string | null;
}
export type RewindWorkstreamOutcome =
  | (Accepted & {
      /** Of the entry that records it. */
      readonly revision: number;
      /** Of the message taken back. */
      readonly text: string;
      /** Entries the model does not see any more. */
      readonly superseded: number;
    })
  | MessageNotFound
  | StaleTurn
  | Busy
  | CommandRefusal;

export interface ResendMessage extends RewindWorkstream {
  /** Said in its place; as in SendMessage. */
  readonly text: string;
}
export type ResendMessageOutcome = (Accepted & Said) | MessageNotFound | StaleTurn | Busy | CommandRefusal;

export interface RetryTurn extends OnWorkstream {
  /** The last turn the caller saw; null when none was shown. */
  readonly turnId: string | null;
  /** MESSAGE: as if the last message had not been answered. LAST_RESULT: keeps what the turn did. */
  readonly from: 'MESSAGE' | 'LAST_RESULT';
}
export type RetryTurnOutcome =
  (Accepted & Said) | MessageNotFound | NotYours | StaleTurn | Busy | CommandRefusal;

export interface ConfigureWorkstream extends OnWorkstream {
  /** 1 to 200 characters; null leaves it. */
  readonly title: string | null;
  /** Null leaves it. */
  readonly approvalMode: ApprovalMode | null;
  /** As a whole; null leaves it. */
  readonly model: ModelChoice | null;
  /** At most 20,000 characters; empty removes them, null leaves them. */
  readonly instructions: string | null;
  /** Tokens, 1,000 or more; 0 removes it, null leaves it. */
  readonly tokenBudget: number | null;
}
export type ConfigureWorkstreamOutcome =
  (Accepted & { readonly configuration: Configuration }) | CommandRefusal;

export type CompactWorkstream = OnWorkstream;
export type CompactWorkstreamOutcome =
  | (Accepted & {
      /** Of the turn that summarises. */
      readonly turnId: string;
    })
  | Busy
  | NothingToCompact
  | CommandRefusal;

export type CloseWorkstream = OnWorkstream;
/** Waits for Stop, at most 10 s, and for the database, 2 s before and 2 s after (D-23). */
export type CloseWorkstreamOutcome =
  (Accepted & { readonly lifecycle: 'OPEN' | 'CLOSED' }) | JournalUnsettled | LifecycleRefusal;

export type OpenWorkstream = OnWorkstream;
export type OpenWorkstreamOutcome = (Accepted & { readonly lifecycle: 'OPEN' | 'CLOSED' }) | LifecycleRefusal;

export type DeleteWorkstream = OnWorkstream;
export type DeleteWorkstreamOutcome =
  | (Accepted & {
      readonly workstreamId: string;
      /**
       * The folder that was made for it, or for what it is a fork of, and is left, because files are in it or (its own)
       * another works there; null when none is left.
       */
      readonly workspaceKept: string | null;
    })
  | LifecycleRefusal;

export interface ForkWorkstream extends OnWorkstream {
  /** The last entry to take into account; null: the last durable one. */
  readonly revision: number | null;
  /** Null: the server names it after the source. */
  readonly title: string | null;
  /** A folder under one of the allowed roots; null: the folder of the source. */
  readonly workspace: string | null;
}
export type ForkWorkstreamOutcome =
  | (Accepted & { readonly workstreamId: string })
  | InvalidInput
  | KeyReused
  | ShuttingDown
  | StorageUnavailable
  | WorkstreamNotFound;

export interface WorkstreamFilter {
  /** Null: both. */
  readonly lifecycle: 'OPEN' | 'CLOSED' | null;
}

export type DiscardUnsaved = OnWorkstream;
export type DiscardUnsavedOutcome =
  | (Accepted & {
      /** Entries that were shown and are gone. */
      readonly discarded: number;
    })
  | NothingToDiscard
  | CommandRefusal;

export interface StopTurn extends OnWorkstream {
  /** The turn the caller saw; null: whatever runs. */
  readonly turnId: string | null;
  /** True: does not wait until what the turn began is seen to end (D-66). */
  readonly force: boolean;
}
export type StopTurnOutcome =
  | (Accepted & {
      /** Ids of what is being ended: the turn, its running calls, and what an earlier turn left running. */
      readonly stopped: readonly string[];
      /** True when `stopped` is empty: nothing ran, which is a calm answer. */
      readonly nothingToStop: boolean;
    })
  | StaleTurn
  | CommandRefusal;

export interface DecideApproval extends OnWorkstream {
  readonly cycleId: string;
  readonly callId: string;
  readonly argumentsHash: string;
  readonly verdict: ApprovalDecision['verdict'];
  /** At most 10,000 characters; reaches the model. */
  readonly feedback: string | null;
}
export type DecideApprovalOutcome =
  | (Accepted & { readonly cycle: ApprovalCycle })
  | ApprovalGone
  | AlreadyDecided
  | ArgumentsChanged
  | NotYours
  | CommandRefusal;

export type ResumeQueue = OnWorkstream;
export type ResumeQueueOutcome = (Accepted & { readonly turnId: string | null }) | CommandRefusal;

export interface CreateWatch extends OnWorkstream {
  /** At most 60 characters, one line; null or blank: the server numbers it. */
  readonly name: string | null;
  readonly command: string;
  /** CEL; null or blank: when the output changes. */
  readonly condition: string | null;
  /** A duration as text, 10 s to 24 h. */
  readonly every: string;
  /** 1 to 10,000; null: 100. */
  readonly maxPolls: number | null;
  /** A duration as text, from now on; null or blank: none. */
  readonly deadline: string | null;
  readonly repeat: boolean;
  readonly instruction: string | null;
}
interface OfWatch extends Accepted {
  readonly watch: Watch;
}
export type CreateWatchOutcome = OfWatch | WatchLimit | WatchNameTaken | CommandRefusal;

type AskedChanges = {
  readonly [K in Exclude<keyof CreateWatch, keyof OnWorkstream>]: CreateWatch[K] | null;
};
/** As CreateWatch; null leaves what there is, blank removes what may be absent. */
export interface UpdateWatch extends OnWorkstream, AskedChanges {
  readonly watchId: string;
  /** Of the definition the caller saw. */
  readonly version: number;
}
export type UpdateWatchOutcome = OfWatch | WatchNotFound | WatchNameTaken | StaleWatch | CommandRefusal;

/** To pause it, resume it, make it due, or cancel it. */
export interface ChangeWatch extends OnWorkstream {
  readonly watchId: string;
}
export type ChangeWatchOutcome = OfWatch | WatchNotFound | CommandRefusal;

export interface AskedWatches {
  /** Null: of all. Unknown: there are none. */
  readonly workstreamId: string | null;
  /** Also those that have ended; only with a workstream. */
  readonly ended: boolean;
  /** 1 to 200. */
  readonly first: number;
  /** Id of the last one seen; null: from the newest. */
  readonly after: string | null;
}

export interface AskedCondition {
  /** At most 4,000 characters; blank: none. */
  readonly expression: string;
  /** The watch whose last output is judged; null: none. */
  readonly watchId: string | null;
  /** What is judged instead; null: nothing. */
  readonly sample: {
    readonly output: string;
    readonly exitCode: number;
    readonly prevOutput: string | null;
  } | null;
}

export interface CreateToken {
  readonly key: string;
  /** 1 to 100 characters. */
  readonly name: string;
}
/** `secret` is shown this once; a repeat of the key answers the token without it. */
export type CreateTokenOutcome =
  | (Accepted & { readonly token: TokenModel; readonly secret: string | null })
  | InvalidInput
  | KeyReused
  | StorageUnavailable;

export interface RevokeToken {
  readonly key: string;
  readonly tokenId: string;
}
export type RevokeTokenOutcome =
  (Accepted & { readonly token: TokenModel }) | TokenNotFound | KeyReused | StorageUnavailable;

export interface FindEntries {
  readonly text: string;
  /** Null: in all of them. Unknown: nothing is found. */
  readonly workstreamId: string | null;
  /** 1 to 200. */
  readonly first: number;
  /** The last one seen; null: from the newest. */
  readonly after: SearchPlace | null;
}
export type FindEntriesOutcome =
  | { readonly type: 'Found'; readonly items: readonly SearchHitModel[]; readonly hasNext: boolean }
  /** The text can find nothing: it has no word, or is too long. One sentence for a person. */
  | { readonly type: 'Invalid'; readonly message: string }
  /** It took longer than a search may. */
  | { readonly type: 'TooBroad'; readonly message: string };

export interface AskedUsage {
  /** ISO 8601 dates, UTC, both included; `through` null: up to now. */
  readonly from: string;
  readonly through: string | null;
  /** Null: of all of them, those that are gone included. */
  readonly workstreamId: string | null;
  /** None: one group, of all. */
  readonly by: readonly UsageKey[];
  /** Most groups, 1 to 200. */
  readonly first: number;
}

export interface AskedModelCalls {
  /** 1 to 200. */
  readonly first: number;
  /** Id of the last one seen; null: from the newest. */
  readonly after: string | null;
}

/** How one operation asks the database for what it reads itself: when its turn has come. */
export interface Reading {
  /**
   * Rejects when nobody waits for it any more. What is large is held in memory by a few at a time only, until
   * `letGo` or the end of the operation, whatever else is asked meanwhile. Said of the answer; by default none is.
   */
  ask<T>(query: () => Promise<T>, isLarge?: (answer: T) => boolean): Promise<T>;
  /** Of what is asked, a part that asks the database for nothing: meanwhile others have the turn. */
  aside<T>(work: () => Promise<T>): Promise<T>;
  letGo(): void;
}

export interface Services {
  readonly workstreams: {
    get(id: string): Promise<WorkstreamModel | null>;
    list(range: PageRange, filter: WorkstreamFilter): Promise<Page<WorkstreamSummaryModel>>;
    /** Snapshot, coalesced changes in order per workstream, a heartbeat every 15 s; ends when `signal` aborts. */
    states(signal: AbortSignal, reading?: Reading): AsyncIterable<WorkstreamStateItem>;
    /**
     * `caller` aborts when the caller is gone: what is not made by then is not made, and the promise rejects with its
     * reason. What is made stays (D-20).
     */
    create(by: Viewer, input: CreateWorkstream, caller: AbortSignal): Promise<CreateWorkstreamOutcome>;
    configure(by: Viewer, input: ConfigureWorkstream): Promise<ConfigureWorkstreamOutcome>;
    compact(by: Viewer, input: CompactWorkstream): Promise<CompactWorkstreamOutcome>;
    /** What a model would be told first, now, by a workstream that is set so. */
    systemPrompt(set: Pick<Configuration, 'workspace' | 'instructions'>): Promise<string>;
    discardUnsaved(by: Viewer, input: DiscardUnsaved): Promise<DiscardUnsavedOutcome>;
    close(by: Viewer, input: CloseWorkstream): Promise<CloseWorkstreamOutcome>;
    open(by: Viewer, input: OpenWorkstream): Promise<OpenWorkstreamOutcome>;
    delete(by: Viewer, input: DeleteWorkstream): Promise<DeleteWorkstreamOutcome>;
    /** `caller`: as for `create`. */
    fork(by: Viewer, input: ForkWorkstream, caller: AbortSignal): Promise<ForkWorkstreamOutcome>;
  };
  readonly history: {
    /** Null when there is no such workstream. Fails when the durable prefix cannot be read (D-53). */
    page(workstreamId: string, range: HistoryRange): Promise<HistoryPage | null>;
  };
  readonly search: {
    /** Durable entries only, newest first. Rejects when the database is away. */
    find(asked: FindEntries): Promise<FindEntriesOutcome>;
  };
  readonly feed: {
    /** See D-54, D-55; `after` null starts at the head. Ends when `signal` aborts or after Ended. */
    follow(
      workstreamId: string,
      after: string | null,
      signal: AbortSignal,
      reading?: Reading,
    ): AsyncIterable<FeedEvent>;
    tokens(workstreamId: string, signal: AbortSignal, reading?: Reading): AsyncIterable<TokenChunkModel>;
  };
  readonly messages: {
    send(by: Viewer, input: SendMessage): Promise<SendMessageOutcome>;
    editQueued(by: Viewer, input: EditQueuedMessage): Promise<EditQueuedMessageOutcome>;
    withdrawQueued(by: Viewer, input: WithdrawQueuedMessage): Promise<WithdrawQueuedMessageOutcome>;
    rewind(by: Viewer, input: RewindWorkstream): Promise<RewindWorkstreamOutcome>;
    resend(by: Viewer, input: ResendMessage): Promise<ResendMessageOutcome>;
    resumeQueue(by: Viewer, input: ResumeQueue): Promise<ResumeQueueOutcome>;
  };
  readonly turns: {
    stop(by: Viewer, input: StopTurn): Promise<StopTurnOutcome>;
    retry(by: Viewer, input: RetryTurn): Promise<RetryTurnOutcome>;
  };
  readonly approvals: {
    decide(by: Viewer, input: DecideApproval): Promise<DecideApprovalOutcome>;
    /** Open cycles over all workstreams, newest first. */
    list(range: PageRange): Promise<Page<{ readonly workstreamId: string; readonly cycle: ApprovalCycle }>>;
  };
  readonly watches: {
    /** Null: none is stored with this id. Rejects when the database is away, as all that read here. */
    get(watchId: string): Promise<WatchModel | null>;
    /** Newest first. */
    list(asked: AskedWatches): Promise<{ readonly items: readonly WatchModel[]; readonly hasNext: boolean }>;
    /** Those a workstream has, as given, with how their polls go; with `ended` then the last 50 that have ended. */
    ofWorkstream(
      workstreamId: string,
      watches: readonly Watch[],
      ended: boolean,
    ): Promise<readonly WatchModel[]>;
    /** Newest first; `first` is 1 to 200. */
    polls(
      watchId: string,
      page: { readonly first: number; readonly before: number | null },
    ): Promise<readonly WatchPollModel[]>;
    /** `reading`: whose turn is another's while it is judged. */
    tryCondition(asked: AskedCondition, reading?: Reading): Promise<ConditionTrialModel>;
    /** Of this server. */
    figures(): Promise<WatchFiguresModel>;
    create(by: Viewer, input: CreateWatch): Promise<CreateWatchOutcome>;
    update(by: Viewer, input: UpdateWatch): Promise<UpdateWatchOutcome>;
    pause(by: Viewer, input: ChangeWatch): Promise<ChangeWatchOutcome>;
    resume(by: Viewer, input: ChangeWatch): Promise<ChangeWatchOutcome>;
    runNow(by: Viewer, input: ChangeWatch): Promise<ChangeWatchOutcome>;
    cancel(by: Viewer, input: ChangeWatch): Promise<ChangeWatchOutcome>;
  };
  readonly tokens: {
    list(): Promise<readonly TokenModel[]>;
    create(by: Viewer, input: CreateToken): Promise<CreateTokenOutcome>;
    revoke(by: Viewer, input: RevokeToken): Promise<RevokeTokenOutcome>;
  };
  readonly usage: {
    /** Of a workstream, ever; zeroes of one that never was. Rejects when the database is away, as all of these. */
    ofWorkstream(workstreamId: string): Promise<UsageTotalModel>;
    ofTurn(workstreamId: string, turnId: string): Promise<UsageTotalModel>;
    /** The newest day and the most tokens first. */
    groups(asked: AskedUsage): Promise<readonly UsageGroupModel[]>;
    /** Newest first. */
    calls(
      workstreamId: string,
      asked: AskedModelCalls,
    ): Promise<{ readonly items: readonly ModelCallModel[]; readonly hasNext: boolean }>;
  };
  readonly models: { list(): readonly ModelModel[] };
  readonly tools: { list(): readonly ToolModel[] };
  readonly server: { info(): Promise<ServerModel> };
}

/** What the transport asks before any operation; not part of the GraphQL surface. */
export interface Access {
  /** The viewer of a bearer token, or null. */
  authenticate(token: string): Promise<Viewer | null>;
  /**
   * Exchanges a one-time code for a token; null when the code is unknown, used or expired. `name`: what the browser calls
   * itself, which is cut to what a name may be; null, or nothing that can be seen: the token is named after the time.
   */
  exchange(code: string, name: string | null): Promise<{ readonly token: string } | null>;
  /** Calls back once when the token stops being valid, so that its open sockets can be closed. */
  onRevoked(tokenId: string, callback: () => void): () => void;
}
