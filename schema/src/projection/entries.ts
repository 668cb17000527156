/**
 * Owns: the vocabulary of the journal, as a client sees it and as the server stores it.
 * Does not own: what follows from entries (`fold.ts`), or who may write them (the server's core).
 *
 * Every entry carries whole values: a reader that knows the latest entry of a kind knows that part of the
 * workstream, and needs no earlier one of that kind.
 */

/** Kept in the database. CREATING rows are invisible to every reader. */
export type Lifecycle = 'CREATING' | 'OPEN' | 'CLOSED';

/** RUNNING ⇄ COMPACTING, either → INTERRUPTING, then one of the last three, which never change again (D-30). */
export type TurnPhase = 'RUNNING' | 'COMPACTING' | 'INTERRUPTING' | 'COMPLETED' | 'FAILED' | 'CANCELED';

/** What a tool call did to the world. UNKNOWN: not observed; NONE: provably nothing (D-9). */
export type ToolEffect = 'NONE' | 'COMMITTED' | 'PARTIAL' | 'ROLLED_BACK' | 'UNKNOWN';

/** Who wrote or decided: a token until there are users (D-12). */
export interface Author {
  readonly id: string;
  readonly name: string;
}

/** Tokens, as the provider counted them. What it does not count apart is absent. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Of the input: read from the provider's cache. */
  readonly cachedInputTokens?: number;
  /** Of the output: spent on thinking. */
  readonly reasoningTokens?: number;
}

/** How hard a model is asked to think; what of it a model knows is its own matter. */
export type Effort = 'NONE' | 'MINIMAL' | 'LOW' | 'MEDIUM' | 'HIGH' | 'XHIGH';

/** A model and how it is to answer; chosen as a whole. */
export interface ModelChoice {
  readonly alias: string;
  /** From 0 to 2; null: as the model is set up. */
  readonly temperature: number | null;
  readonly effort: Effort | null;
}

/**
 * What a provider sent beside the answer that means something to it alone (encrypted reasoning, signatures), as it
 * came. It is told again only to the model that wrote it, and never shown to a client.
 */
export interface Native {
  readonly alias: string;
  /** The name of the model at its endpoint. */
  readonly model: string;
  readonly dialect: 'CHAT' | 'RESPONSES';
  /** JSON values. */
  readonly parts: readonly unknown[];
}

export type Finish = 'STOP' | 'TOOL_CALLS' | 'LENGTH' | 'CONTENT_FILTER' | 'OTHER';

/** One call the model declared. `callId` is ours, unique; `providerId` is what the provider called it (D-35). */
export interface Call {
  readonly callId: string;
  readonly providerId: string;
  readonly name: string;
  /** The arguments as the model wrote them: JSON text, not necessarily valid. */
  readonly arguments: string;
}

export interface TurnOutcome {
  readonly type: 'COMPLETED' | 'FAILED' | 'CANCELED';
  /** A machine-readable word: DONE, STOPPED, RECOVERY_EXHAUSTED, MODEL_AUTHENTICATION, … */
  readonly reason: string;
  /** One sentence for a person: what happened and what to try. Empty for DONE. */
  readonly message: string;
  /** Ids of the calls whose end was not observed when the turn was forced to settle. */
  readonly unconfirmed: readonly string[];
}

/**
 * Why the conversation is being summarised. TOOLS: results have come for which there is too little room. END_OF_TURN:
 * it is nearly full. OVERFLOW: it does not fit. MANUAL: a person wants it.
 */
export type CompactionTrigger = 'TOOLS' | 'END_OF_TURN' | 'OVERFLOW' | 'MANUAL';

/** A compaction under way (D-40). */
export interface Compaction {
  readonly id: string;
  readonly trigger: CompactionTrigger;
  /** The model had been advised to wind down, and did: it is told to go on afterwards. */
  readonly resume: boolean;
}

export interface Turn {
  readonly id: string;
  /** COMPACT: a person asked for a summary; it has no message of its own. */
  readonly kind: 'CHAT' | 'COMPACT';
  readonly phase: TurnPhase;
  /** Absent, but while it is COMPACTING. */
  readonly compaction?: Compaction;
  /** The claim to write under which the turn runs now; grows with each recovery. */
  readonly generation: number;
  /** On whose credentials it runs. */
  readonly principal: Author;
  readonly outcome: TurnOutcome | null;
  /** Recoveries in a row without a new ASSISTANT or tool entry between them (D-71). */
  readonly recoveries: number;
  /** How many watches stand between it and a person (D-85); absent: none. */
  readonly depth?: number;
  readonly startedAt: string;
  readonly settledAt: string | null;
}

/** What a person is shown before deciding: the full command, a unified diff, or the plain arguments. */
export interface Preview {
  readonly kind: 'COMMAND' | 'DIFF' | 'TEXT';
  /** One line, for example the command's first line or the path that changes. */
  readonly title: string;
  readonly body: string;
}

/**
 * What a person is asked about (D-64). ASK: every call that changes something. TRUST_WORKSPACE: edits inside the
 * workspace run unasked, commands do not. TRUST_ALL: nothing is asked.
 */
export type ApprovalMode = 'ASK' | 'TRUST_WORKSPACE' | 'TRUST_ALL';

export interface ApprovalDecision {
  readonly verdict: 'APPROVED' | 'DENIED';
  /** A person, or the workstream's mode at the time the call was prepared. */
  readonly source: 'PERSON' | Exclude<ApprovalMode, 'ASK'>;
  /** Who decided, or who had set the mode. */
  readonly by: Author;
  readonly feedback: string | null;
  readonly at: string;
}

export interface ApprovalItem {
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
  /** SHA-256 (hex) over name and arguments: what is approved is what runs (D-64, I40). */
  readonly argumentsHash: string;
  readonly preview: Preview;
  /** What the preview was computed from (a hash of the file before the edit); handed back to the tool when it runs. */
  readonly basis: string | null;
  readonly decision: ApprovalDecision | null;
}

/** What a person is told who is asked for more budget, in tokens (D-33). */
export interface BudgetQuestion {
  /** Spent for this workstream so far, by every caller. */
  readonly spent: number;
  /** Where the model is not asked any more. */
  readonly limit: number;
  /** How much more may be spent from here on when it is granted. */
  readonly grant: number;
}

export interface ApprovalCycle {
  readonly id: string;
  /** BUDGET: one item without arguments, which no mode answers; its `budget` says what it is about. */
  readonly kind: 'TOOLS' | 'BUDGET';
  readonly budget?: BudgetQuestion;
  readonly turnId: string;
  /** SETTLED: each item has a decision. SUPERSEDED: the turn was stopped or settled first. */
  readonly status: 'OPEN' | 'SETTLED' | 'SUPERSEDED';
  readonly items: readonly ApprovalItem[];
  readonly openedAt: string;
  readonly closedAt: string | null;
}

export interface QueuedMessage {
  readonly id: string;
  readonly text: string;
  readonly author: Author;
  /** STEER: said to the model after the calls under way, if the turn it is meant for gets that far (D-63). */
  readonly delivery: 'QUEUE' | 'STEER';
  /** The turn a STEER is meant for; null for QUEUE. */
  readonly turnId: string | null;
  /** Sent after the live turn was told to stop: not held, it starts the next turn (D-63). */
  readonly afterStop: boolean;
  readonly at: string;
}

export interface Queue {
  readonly items: readonly QueuedMessage[];
  /** A held queue waits for `resumeQueue` or the next message; set when a turn fails or is canceled (D-63). */
  readonly held: boolean;
}

export interface ToolResult {
  /** OK and ERROR are the tool's own word; DENIED and CANCELED are ours, for calls that did not run to an end. */
  readonly outcome: 'OK' | 'ERROR' | 'DENIED' | 'CANCELED';
  readonly effect: ToolEffect;
  /** What the model is told; text, possibly shortened, saying so where it is. */
  readonly content: string;
}

export interface Configuration {
  readonly title: string;
  /** DEFAULT: nobody has named it yet. GENERATED: the server did, after the first exchange or for a fork. */
  readonly titleSource: 'DEFAULT' | 'GENERATED' | 'PERSON';
  /** Alias of the model that serves the next call. */
  readonly model: string;
  /** From 0 to 2; absent: as the model is set up. */
  readonly temperature?: number;
  /** Absent: as the model is set up. */
  readonly effort?: Effort;
  /** What the model is told about this workstream beside what all are told; absent: nothing. */
  readonly instructions?: string;
  /** Tokens that may be spent before a person is asked (D-33); absent: any number. */
  readonly tokenBudget?: number;
  /** Absolute path of the folder the tools work in. */
  readonly workspace: string;
  readonly approvalMode: ApprovalMode;
  /** Who set the mode: whose word it is when it answers in a person's place. */
  readonly approvalModeBy: Author;
}

/** What a provider counted, for what the model was told up to and with its answer. */
export interface Counted {
  /** Read and written. */
  readonly tokens: number;
  /** Of `ContextMark.told`, what it covers. */
  readonly told: number;
}

/**
 * How full the context of the model is, in tokens, as whole values at one entry (D-39). What it is told: what is
 * estimated of the entries that it is told, the system prompt and the tools beside them.
 */
export interface ContextMark {
  /** Estimated, of all entries it is told now. */
  readonly told: number;
  /** Null: no provider has counted what it is told now. */
  readonly counted: Counted | null;
  /**
   * Tokens that the provider of the chosen model counts for each one of our estimate: what nobody has counted is
   * estimated so. 1: not known yet. It outlives a summary.
   */
  readonly scale: number;
  /** Estimated, of the system prompt and the tools; 0: not known yet. */
  readonly overhead: number;
  /** What the chosen model can read, or a larger one that answered last in its place; null: not known. */
  readonly window: number | null;
  /**
   * The last count, where it was not believed: the next one confirms it if it grew from it as what is told did. Absent:
   * it was believed, or there is none.
   */
  readonly doubted?: Counted;
  /** The model is told its own thoughts again, as its provider's counts have shown. Absent: that is not known. */
  readonly replayed?: true;
  /** The last count before a summary, until the first one after it shows whether that was less. */
  readonly before?: { readonly tokens: number; readonly estimated: number };
  /** A summary took much away, and the count did not fall: what is decided goes by the estimate. Absent: it fell, or there was none. */
  readonly unmoved?: true;
}

/** A request that is still being worked on, word for word, where the message itself is summarised. */
export interface CarriedRequest {
  /** Of the latest message of it. */
  readonly messageId: string;
  readonly text: string;
  readonly author: Author;
}

/** Who has written so far: the id of the first, and whether there was another. */
export interface Senders {
  readonly first: string | null;
  readonly several: boolean;
}

/** What a watch runs, how often, and what it waits for. */
export interface WatchDefinition {
  /** 1 to 60 characters, unique among the watches of a workstream that have not ended. */
  readonly name: string;
  /** Run by `/bin/sh -c` in the workspace. */
  readonly command: string;
  /** CEL; null: fires when the output changes, the first poll being the baseline (D-83). */
  readonly condition: string | null;
  /** 10 to 86,400. */
  readonly everySeconds: number;
  /** 1 to 10,000. */
  readonly maxPolls: number;
  /** ISO 8601: it ends then; null: by `maxPolls` alone. */
  readonly deadline: string | null;
  /** It goes on after a fire; false: a fire is its end. */
  readonly repeat: boolean;
  /** What the model is told to do with a fire, in the words of the author; null: nothing. */
  readonly instruction: string | null;
}

/** CONDITION_ERRORS: three in a row. DENIED: the command is not one that may run (D-82). */
export type WatchEnd = 'FIRED' | 'MAX_POLLS' | 'DEADLINE' | 'CANCELED' | 'CONDITION_ERRORS' | 'DENIED';

/** A watch as its workstream knows it; how its polls go is kept beside the journal (D-84). */
export interface Watch {
  readonly id: string;
  /** Of the definition: +1 with each edit. An outcome of an earlier one delivers nothing. */
  readonly version: number;
  readonly definition: WatchDefinition;
  readonly status: 'ACTIVE' | 'PAUSED' | 'ENDED';
  /** CLOSED: with its workstream, and resumed with it (D-23); null: it is not paused. */
  readonly pausedBy: 'PERSON' | 'CLOSED' | null;
  /** Null: it has not ended. */
  readonly end: WatchEnd | null;
  /** On whose credentials its turns run: who approved or made it, or edited it last. */
  readonly author: Author;
  /** Of the turns it starts (D-85). */
  readonly depth: number;
  readonly createdAt: string;
  /** Poll of the last fire that its workstream has written down; 0: none was. */
  readonly lastFire: number;
  /** How often it had fired then, what was left out counted. */
  readonly firesTold: number;
  /** When the next poll is due, by the database's clock: now, an interval from now, or (null) as it was. */
  readonly due: 'NOW' | 'LATER' | null;
}

/** What a watch has to say: that its condition held, or that it has ended (D-84). */
export interface Fire {
  readonly watchId: string;
  /** Number of the poll, 1 for the first; of a DEADLINE, which is no poll: of the one that would have been next. */
  readonly poll: number;
  readonly reason: 'CONDITION' | 'CHANGE' | Exclude<WatchEnd, 'FIRED' | 'CANCELED'>;
  /** The watch has ended with it. */
  readonly ended: boolean;
  readonly definition: WatchDefinition;
  /** Of the watch, whole seconds since it was made. */
  readonly elapsedSeconds: number;
  /** Null: the command did not end by itself. */
  readonly exitCode: number | null;
  /** Of the poll; the last one where it ended without. */
  readonly output: string;
  /** Of the condition; null: none. */
  readonly error: string | null;
  readonly author: Author;
  readonly depth: number;
  /** How often the watch had fired before. */
  readonly firesBefore: number;
  /** Fires of the watch right before this one that were left out, because too many waited (D-84). */
  readonly skipped: number;
}

/** Where a fork was taken from. The source may be gone since. */
export interface Origin {
  readonly workstreamId: string;
  /** Of the source, at that time. */
  readonly title: string;
  /** The last entry of the source that was taken into account. */
  readonly revision: number;
}

interface Placed {
  /** Random, never reused, not made of the revision. */
  readonly id: string;
  /** Place in the journal: 1, 2, 3 … without gaps. */
  readonly revision: number;
  /** Ownership that wrote it. */
  readonly epoch: number;
  readonly generation: number;
  /** Whose output: null for the workstream itself, else the id of a child workstream. */
  readonly lane: string | null;
  readonly turnId: string | null;
  /** ISO 8601, for people; never used for order (D-7). */
  readonly at: string;
  /** What the model is told of it, estimated in tokens; absent: nothing. */
  readonly tokens?: number;
}

/** The parts of each kind, without its place. */
export type EntryBody =
  | {
      readonly kind: 'USER';
      readonly text: string;
      readonly author: Author;
      /**
       * STEER: said while the turn ran. FEEDBACK: said with a decision about an approval. COMPACTION_RESUME: said by the
       * server in the place of the turn's principal, who wants it to go on after a summary (D-40).
       */
      readonly source: 'MESSAGE' | 'FEEDBACK' | 'STEER' | 'COMPACTION_RESUME';
    }
  | {
      readonly kind: 'ASSISTANT';
      readonly text: string;
      readonly reasoning: string;
      readonly calls: readonly Call[];
      readonly finish: Finish;
      /** The model that answered, as its provider named it. */
      readonly model: string;
      /** Alias of that model; absent in entries of earlier builds. */
      readonly alias?: string;
      readonly native?: Native;
      readonly usage: Usage | null;
      /** With this answer in it; absent in entries of earlier builds. */
      readonly context?: ContextMark;
      /** Names of calls not run: the answer was cut off or filtered (D-38), or had too many. */
      readonly discarded: readonly string[];
    }
  | {
      /**
       * From here on the model is told this in the place of every entry up to `watermark`; they stay where they are
       * (D-40). It may stand between an answer and the results of its calls, but its watermark never parts them.
       */
      readonly kind: 'CHECKPOINT';
      readonly summary: string;
      readonly watermark: number;
      /** Null: nothing was being worked on, or its message is not summarised. */
      readonly request: CarriedRequest | null;
      /** Who wrote up to `watermark`, for what the model is told; absent in entries of earlier builds. */
      readonly senders?: Senders;
      readonly trigger: CompactionTrigger;
      /** Tokens the model was told before it and after it. */
      readonly before: number;
      readonly after: number;
      /** The model that wrote the summary, as its provider named it, and its alias. */
      readonly model: string;
      readonly alias: string;
      readonly context: ContextMark;
    }
  | ({ readonly kind: 'TOOL'; readonly callId: string; readonly name: string } & ToolResult)
  /** `fire`: what a watch said, in parts; its source is WATCH. */
  | { readonly kind: 'SYSTEM'; readonly text: string; readonly source: string; readonly fire?: Fire }
  | { readonly kind: 'WATCH'; readonly watch: Watch }
  | {
      /** The partial text of an answer that was not finished; its id is the id of that message. */
      readonly kind: 'CANCELLATION';
      readonly text: string;
      readonly reasoning: string;
      readonly reason: 'STOPPED' | 'FAILED';
    }
  /** `by`: who opened or closed it; null: the server. */
  | { readonly kind: 'LIFECYCLE'; readonly lifecycle: Lifecycle; readonly by: Author | null }
  /** What follows until the first turn was copied: the conversation of another workstream. */
  | { readonly kind: 'FORK'; readonly origin: Origin }
  | { readonly kind: 'CONFIGURATION'; readonly configuration: Configuration }
  | { readonly kind: 'TURN'; readonly turn: Turn }
  | { readonly kind: 'TOOL_STARTED'; readonly callId: string; readonly name: string }
  | {
      readonly kind: 'TOOL_SETTLED';
      readonly callId: string;
      readonly name: string;
      readonly result: ToolResult;
    }
  | { readonly kind: 'APPROVAL'; readonly cycle: ApprovalCycle }
  | { readonly kind: 'QUEUE'; readonly queue: Queue }
  | {
      /**
       * Supersedes every entry between `after` (exclusive) and itself: the model does not see them any more; nothing is
       * deleted (D-59). RETRY and EDIT are followed by a turn in the same batch.
       */
      readonly kind: 'REWIND';
      readonly after: number;
      readonly reason: 'REWIND' | 'RETRY' | 'EDIT';
      readonly by: Author;
      /** Of what is left; absent in entries of earlier builds. */
      readonly context?: ContextMark;
    }
  | { readonly kind: 'RECOVERY'; readonly reason: string; readonly message: string };

export type EntryKind = EntryBody['kind'];
export type Entry = Placed & EntryBody;
export type EntryOf<K extends EntryKind> = Extract<Entry, { readonly kind: K }>;

/** True for a message that a person sent; what was said along with a decision belongs to that. */
export const isMessage = (entry: Entry): entry is EntryOf<'USER'> =>
  entry.kind === 'USER' && (entry.source === 'MESSAGE' || entry.source === 'STEER');

/** Source of the SYSTEM entry of a fire. */
export const watchSource = 'WATCH';

/** Source of the SYSTEM entry that advises the model to wind down (D-40). */
export const compactionAdvice = 'COMPACTION_ADVICE';

const conversationKinds: Readonly<Record<EntryKind, boolean>> = {
  USER: true,
  ASSISTANT: true,
  TOOL: true,
  SYSTEM: true,
  CHECKPOINT: true,
  CANCELLATION: true,
  LIFECYCLE: false,
  FORK: false,
  CONFIGURATION: false,
  TURN: false,
  TOOL_STARTED: false,
  TOOL_SETTLED: false,
  APPROVAL: false,
  QUEUE: false,
  WATCH: false,
  REWIND: false,
  RECOVERY: false,
};

/** True for the kinds a model may see; the others, and kinds of a newer server, are control entries. */
export const isConversation = (kind: EntryKind): boolean =>
  Object.hasOwn(conversationKinds, kind) && conversationKinds[kind];
