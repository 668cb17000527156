/**
 * Owns: the port between the GraphQL surface and the server. Resolvers are one line over it; the server implements it.
 *
 * Every command takes who asks, an idempotency key minted once per intent, and answers a value: the acceptance once
 * its batch is durable (or PENDING after 5 s), or a refusal that changed nothing (D-11, D-60, D-61).
 */
import type {
  FeedEvent,
  HistoryPage,
  HistoryRange,
  ModelModel,
  Page,
  PageRange,
  ServerModel,
  TokenChunkModel,
  TokenModel,
  ToolModel,
  Viewer,
  WorkstreamModel,
  WorkstreamStateItem,
  WorkstreamSummaryModel,
} from './model/index.ts';
import type {
  AlreadyDecided,
  ApprovalGone,
  ArgumentsChanged,
  CommandRefusal,
  Durability,
  InvalidInput,
  KeyReused,
  QueueFull,
  ShuttingDown,
  StaleTurn,
  StorageUnavailable,
  TokenNotFound,
} from './outcome.ts';
import type { ApprovalCycle, ApprovalDecision } from './projection/index.ts';

interface Accepted {
  readonly type: 'Accepted';
  readonly durability: Durability;
}

export interface CreateWorkstream {
  readonly key: string;
  /** Null: the server names it "New workstream". At most 200 characters. */
  readonly title: string | null;
  /** Alias; null: the default model. */
  readonly model: string | null;
  /** A folder under one of the allowed roots; null: a folder of its own is made. */
  readonly workspace: string | null;
}
export type CreateWorkstreamOutcome =
  | (Accepted & { readonly workstreamId: string })
  | InvalidInput
  | KeyReused
  | ShuttingDown
  | StorageUnavailable;

export interface SendMessage {
  readonly key: string;
  readonly workstreamId: string;
  /** 1 character to 1 MB of UTF-8. */
  readonly text: string;
}
export type SendMessageOutcome =
  | (Accepted & {
      /** STARTED: a turn runs on it. QUEUED: it waits for the live turn to end. */
      readonly disposition: 'STARTED' | 'QUEUED';
      /** Id of the USER entry when STARTED, else of the queued message. */
      readonly messageId: string;
      readonly turnId: string | null;
      readonly revision: number;
    })
  | QueueFull
  | CommandRefusal;

export interface StopTurn {
  readonly key: string;
  readonly workstreamId: string;
  /** The turn the caller saw; null: whatever runs. */
  readonly turnId: string | null;
}
export type StopTurnOutcome =
  | (Accepted & {
      /** Ids of what is being ended: the turn and its running calls. */
      readonly stopped: readonly string[];
      /** True when `stopped` is empty: nothing ran, which is a calm answer. */
      readonly nothingToStop: boolean;
    })
  | StaleTurn
  | CommandRefusal;

export interface DecideApproval {
  readonly key: string;
  readonly workstreamId: string;
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
  | CommandRefusal;

export interface ResumeQueue {
  readonly key: string;
  readonly workstreamId: string;
}
export type ResumeQueueOutcome = (Accepted & { readonly turnId: string | null }) | CommandRefusal;

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

export interface Services {
  readonly workstreams: {
    get(id: string): Promise<WorkstreamModel | null>;
    list(range: PageRange): Promise<Page<WorkstreamSummaryModel>>;
    /** Snapshot, coalesced changes in order per workstream, a heartbeat every 15 s; ends when `signal` aborts. */
    states(signal: AbortSignal): AsyncIterable<WorkstreamStateItem>;
    create(by: Viewer, input: CreateWorkstream): Promise<CreateWorkstreamOutcome>;
  };
  readonly history: {
    /** Null when there is no such workstream. Fails when the durable prefix cannot be read (D-53). */
    page(workstreamId: string, range: HistoryRange): Promise<HistoryPage | null>;
  };
  readonly feed: {
    /** See D-54, D-55; `after` null starts at the head. Ends when `signal` aborts or after Ended. */
    follow(workstreamId: string, after: string | null, signal: AbortSignal): AsyncIterable<FeedEvent>;
    tokens(workstreamId: string, signal: AbortSignal): AsyncIterable<TokenChunkModel>;
  };
  readonly messages: {
    send(by: Viewer, input: SendMessage): Promise<SendMessageOutcome>;
    resumeQueue(by: Viewer, input: ResumeQueue): Promise<ResumeQueueOutcome>;
  };
  readonly turns: {
    stop(by: Viewer, input: StopTurn): Promise<StopTurnOutcome>;
  };
  readonly approvals: {
    decide(by: Viewer, input: DecideApproval): Promise<DecideApprovalOutcome>;
    /** Open cycles over all workstreams, newest first. */
    list(range: PageRange): Promise<Page<{ readonly workstreamId: string; readonly cycle: ApprovalCycle }>>;
  };
  readonly tokens: {
    list(): Promise<readonly TokenModel[]>;
    create(by: Viewer, input: CreateToken): Promise<CreateTokenOutcome>;
    revoke(by: Viewer, input: RevokeToken): Promise<RevokeTokenOutcome>;
  };
  readonly models: { list(): readonly ModelModel[] };
  readonly tools: { list(): readonly ToolModel[] };
  readonly server: { info(): Promise<ServerModel> };
}

/** What the transport asks before any operation; not part of the GraphQL surface. */
export interface Access {
  /** The viewer of a bearer token, or null. */
  authenticate(token: string): Promise<Viewer | null>;
  /** Exchanges a one-time code for a token; null when the code is unknown, used or expired. */
  exchange(code: string): Promise<{ readonly token: string } | null>;
  /** Calls back once when the token stops being valid, so that its open sockets can be closed. */
  onRevoked(tokenId: string, callback: () => void): () => void;
}
