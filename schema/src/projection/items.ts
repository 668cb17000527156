/**
 * Owns: what a feed carries. Does not own: in which order (the server's feed) or what it means (`view.ts`).
 *
 * Revisions move only by EntryAdmitted; everything else is a mark or an overlay.
 */
import type { Entry } from './entries.ts';

export type Persistence =
  | { readonly status: 'HEALTHY' }
  /** Accepted entries wait for the database, which has not refused yet. */
  | { readonly status: 'PENDING' }
  | { readonly status: 'RETRYING'; readonly nextAttemptAt: string; readonly message: string }
  | { readonly status: 'CONFLICT'; readonly message: string };

export type StreamChannel = 'TEXT' | 'REASONING';

/** `offset` counts UTF-16 code units; 0 replaces what is there (re-base); no text splits a surrogate pair. */
export type FeedItem =
  | { readonly type: 'EntryAdmitted'; readonly entry: Entry; readonly durable: boolean }
  | { readonly type: 'EntriesDurable'; readonly durableThrough: number }
  | { readonly type: 'EpochStarted'; readonly epoch: number; readonly from: number }
  | {
      readonly type: 'StreamChunk';
      readonly messageId: string;
      readonly turnId: string;
      readonly channel: StreamChannel;
      readonly offset: number;
      readonly text: string;
    }
  /** The open message is void; the next attempt comes under another id. */
  | { readonly type: 'StreamReset'; readonly messageId: string; readonly reason: string }
  | {
      readonly type: 'ToolOutputChunk';
      readonly callId: string;
      readonly offset: number;
      readonly text: string;
    }
  | {
      readonly type: 'Notice';
      readonly level: 'INFO' | 'WARNING';
      readonly code: string;
      readonly message: string;
    }
  | { readonly type: 'PersistenceChanged'; readonly persistence: Persistence }
  | {
      readonly type: 'Synchronized';
      readonly epoch: number;
      readonly revision: number;
      readonly durableThrough: number;
    }
  | { readonly type: 'SnapshotRequired'; readonly reason: string }
  | {
      readonly type: 'Heartbeat';
      readonly epoch: number;
      readonly revision: number;
      readonly durableThrough: number;
    }
  | { readonly type: 'Ended'; readonly reason: string; readonly resumable: boolean };

/** What is visible and never an entry: the open answer, and the output of running tools. */
export interface Overlay {
  readonly message: {
    readonly id: string;
    readonly turnId: string;
    readonly text: string;
    readonly reasoning: string;
  } | null;
  /** By call id. `offset` is where `text` begins in the whole output: only a tail is kept. */
  readonly tools: Readonly<Record<string, { readonly offset: number; readonly text: string }>>;
}

export const emptyOverlay: Overlay = { message: null, tools: {} };
