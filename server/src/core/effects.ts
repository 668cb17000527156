/**
 * Owns: what a step asks of the world, as values; never runs them. An effect that begins something names the batch
 * that must be durable first (`after`, D-2); those that end something are due at once.
 */
import type { Call, ContextMark, Entry, ModelChoice } from 'schema/projection';
import type { Stamp } from './inputs.ts';

/** Begins something: may be held back until its explanation is durable, and is dropped if the turn is stopped first. */
export type Deed =
  | {
      readonly type: 'callModel';
      readonly stamp: Stamp;
      readonly messageId: string;
      readonly model: ModelChoice;
      /** The model to ask in its place, and those not to ask again; null: the first that is fit (D-37). */
      readonly lane: string | null;
      readonly givenUp: readonly string[];
      readonly workspace: string;
      readonly conversation: readonly Entry[];
      /** What lies at or below is told first, but for what is superseded; the database has it. 0: nothing does. */
      readonly conversationFrom: number;
      readonly instructions: string | null;
      /** How full it is. */
      readonly context: ContextMark;
      /** It is not sent when it does not seem to fit: that is an overflow, found here (D-39). */
      readonly guarded: boolean;
    }
  | {
      /**
       * Asks for a summary of these entries, which may begin with an earlier one (D-40). It ends between two of its calls when
       * the budget is spent (D-33).
       */
      readonly type: 'summarise';
      readonly stamp: Stamp;
      readonly compactionId: string;
      readonly model: ModelChoice;
      readonly entries: readonly Entry[];
      /** Tokens the model can read, as far as known. */
      readonly window: number | null;
    }
  | {
      readonly type: 'runTool';
      readonly stamp: Stamp;
      readonly call: Call;
      readonly basis: string | null;
      readonly workspace: string;
    }
  | {
      /** Asks for a name, after the first exchange. */
      readonly type: 'suggestTitle';
      readonly stamp: Stamp;
      readonly model: ModelChoice;
      /** The model that has just answered, which is asked first. */
      readonly lane: string;
      readonly question: string;
      readonly answer: string;
    };

export type Effect =
  | Deed
  /** Looks only; changes nothing in the world, so it need not wait. */
  | {
      readonly type: 'prepareCalls';
      readonly stamp: Stamp;
      readonly calls: readonly Call[];
      readonly workspace: string;
    }
  /** The conversation that was left in the database is needed to summarise it. */
  | { readonly type: 'readConversation'; readonly stamp: Stamp; readonly compactionId: string }
  /** Of an answer, or of a summary by the id of its compaction. */
  | { readonly type: 'abortModel'; readonly messageId: string }
  | { readonly type: 'abortTool'; readonly callId: string }
  | { readonly type: 'backoff'; readonly stamp: Stamp; readonly messageId: string; readonly ms: number }
  | { readonly type: 'watchStop'; readonly stamp: Stamp; readonly turnId: string; readonly ms: number };
