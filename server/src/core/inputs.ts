/**
 * Owns: everything that can happen to a workstream, as values. Time and randomness come in here (`at`, `seed`): the
 * core has neither.
 *
 * Work that was begun under a claim comes back stamped with it; a stamp that is not current dies in `fence.ts` (D-5).
 */
import type {
  ApprovalMode,
  Author,
  Entry,
  Fire,
  ModelChoice,
  ToolResult,
  WatchDefinition,
} from 'schema/projection';
import type { PreparedCall } from './approvals/prepared.ts';
import type { Room } from './context/meter.ts';
import type { ModelOutcome } from './conversation/message.ts';
import type { ModelCall } from './models/spending.ts';

/** The claim under which work was begun: of a turn (`generation`), or only of the ownership (`generation: null`). */
export interface Stamp {
  readonly epoch: number;
  readonly generation: number | null;
}

export type Command =
  | {
      readonly type: 'send';
      readonly text: string;
      readonly delivery: 'QUEUE' | 'STEER' | 'REJECT';
      /** STEER: the turn it is meant for. */
      readonly turnId: string | null;
    }
  | { readonly type: 'editQueued'; readonly messageId: string; readonly text: string }
  | { readonly type: 'withdrawQueued'; readonly messageId: string }
  /** `turnId` null: whatever runs. `force`: does not wait until what it began is seen to end (D-66). */
  | { readonly type: 'stop'; readonly turnId: string | null; readonly force: boolean }
  /** `turnId` of these three: the last turn the caller saw, null when none was shown. */
  | { readonly type: 'rewind'; readonly messageId: string; readonly turnId: string | null }
  | {
      readonly type: 'resend';
      readonly messageId: string;
      readonly turnId: string | null;
      readonly text: string;
    }
  | { readonly type: 'retry'; readonly turnId: string | null; readonly from: 'MESSAGE' | 'LAST_RESULT' }
  /** Null leaves it. */
  | {
      readonly type: 'configure';
      readonly title: string | null;
      readonly approvalMode: ApprovalMode | null;
      /** Counts from the next model call on; one that still waits is asked of the chosen model instead. */
      readonly model: ModelChoice | null;
      /** Empty: none; absent: as it is. */
      readonly instructions?: string;
      /** 0: none; absent: as it is. */
      readonly tokenBudget?: number;
    }
  | { readonly type: 'createWatch'; readonly definition: WatchDefinition }
  | {
      readonly type: 'editWatch';
      readonly watchId: string;
      /** Of the definition the caller saw. */
      readonly version: number;
      readonly definition: WatchDefinition;
    }
  | {
      readonly type: 'changeWatch';
      readonly watchId: string;
      readonly change: 'PAUSE' | 'RESUME' | 'RUN_NOW' | 'CANCEL';
    }
  /** Older history is summarised now; whoever asks has read the conversation. */
  | { readonly type: 'compact' }
  /** The last word of closing: the turn was stopped, and all is durable (D-23). */
  | { readonly type: 'close' }
  | { readonly type: 'open' }
  | {
      readonly type: 'decide';
      readonly cycleId: string;
      readonly callId: string;
      readonly argumentsHash: string;
      readonly verdict: 'APPROVED' | 'DENIED';
      readonly feedback: string | null;
    }
  | { readonly type: 'resumeQueue' }
  /** What could not be stored was dropped, and this owner began from what was durable (D-51). */
  | { readonly type: 'noteDiscarded'; readonly entries: number };

/** Where the answer of a command is kept (D-60). */
export interface CommandKey {
  readonly scope: string;
  readonly key: string;
  readonly inputHash: string;
  /** Nobody could look whether it was used in an earlier epoch: a receipt that is there already stands. */
  readonly unchecked?: boolean;
}

/** What came of a request for a summary. */
export type SummaryOutcome =
  | { readonly type: 'summarised'; readonly summary: string; readonly alias: string; readonly model: string }
  /** `reason`: IRREDUCIBLE, EMPTY_SUMMARY, NOT_SHORTER, … `message`: one sentence for a person. */
  | { readonly type: 'failed'; readonly reason: string; readonly message: string }
  | { readonly type: 'aborted' };

export type World =
  | {
      readonly type: 'modelDelta';
      readonly messageId: string;
      readonly text: string;
      readonly reasoning: string;
    }
  /** Something on the way to an answer that a person should know: it waits for a slot, another model serves it. */
  | {
      readonly type: 'modelNotice';
      readonly messageId: string;
      readonly code: string;
      readonly message: string;
    }
  | {
      readonly type: 'modelEnded';
      readonly messageId: string;
      readonly outcome: ModelOutcome;
      /** Absent: no model was asked. */
      readonly room?: Room;
    }
  | { readonly type: 'summaryNotice'; readonly compactionId: string; readonly message: string }
  | { readonly type: 'summaryEnded'; readonly compactionId: string; readonly outcome: SummaryOutcome }
  | {
      readonly type: 'callsPrepared';
      readonly calls: readonly { readonly callId: string; readonly prepared: PreparedCall }[];
    }
  | { readonly type: 'toolOutput'; readonly callId: string; readonly text: string }
  | { readonly type: 'toolEnded'; readonly callId: string; readonly result: ToolResult }
  /** What lies at or below `conversationFrom`, which had not been read yet. */
  | { readonly type: 'conversationRead'; readonly entries: readonly Entry[] }
  /** Null: the model had no name to give. */
  | { readonly type: 'titleSuggested'; readonly title: string | null; readonly question: string }
  /** What watches of this workstream have to say, perhaps not for the first time. */
  | { readonly type: 'watchesFired'; readonly fires: readonly Fire[] }
  /** A timer that the turn set has run out. */
  | { readonly type: 'backoffOver'; readonly messageId: string }
  | { readonly type: 'stopOverdue'; readonly turnId: string };

export type Input =
  | { readonly type: 'command'; readonly by: Author; readonly key: CommandKey; readonly command: Command }
  | {
      readonly type: 'world';
      readonly stamp: Stamp;
      readonly event: World;
      /** Model calls that ended with it; they count whatever becomes of the event (D-5). */
      readonly calls?: readonly ModelCall[];
    }
  /** Batch number `batch` of this epoch is durable, and with it every entry up to `through`. */
  | {
      readonly type: 'acknowledged';
      readonly epoch: number;
      readonly batch: number;
      readonly through: number;
    }
  /** The door to new commands is shut, and the turn is stopped, or it is opened again (D-23, D-25). */
  | { readonly type: 'closing'; readonly on: boolean }
  /** First input of an actor: what was lost with the process that ran it before (D-70). */
  | { readonly type: 'recover' };

/** An input with the time it was taken (ISO 8601, for people) and 128 random bits (hex) to mint ids from. */
export interface Timed {
  readonly input: Input;
  readonly at: string;
  readonly seed: string;
}
