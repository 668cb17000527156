/**
 * Owns: why a command is refused, and how it is accepted, as facts. The sentences for people are made in
 * `app/views`. A refusal changes nothing (D-11).
 */
import type { ApprovalCycle, ApprovalDecision, Author, Configuration, Queue, Watch } from 'schema/projection';

export type CoreRefusal =
  | {
      readonly type: 'Rejected';
      readonly code: 'INVALID_INPUT';
      readonly field: string;
      readonly problem: string;
    }
  | { readonly type: 'Rejected'; readonly code: 'KEY_REUSED' }
  | { readonly type: 'Rejected'; readonly code: 'WORKSTREAM_NOT_FOUND' }
  | { readonly type: 'Rejected'; readonly code: 'WORKSTREAM_CLOSED' }
  /** It is being closed or deleted. */
  | { readonly type: 'Rejected'; readonly code: 'CLOSING' }
  | { readonly type: 'Rejected'; readonly code: 'QUEUE_FULL'; readonly capacity: number }
  | { readonly type: 'Rejected'; readonly code: 'STALE_TURN'; readonly currentTurnId: string | null }
  /** It cannot be done now: a turn runs, or (null) messages of another author wait for theirs. */
  | { readonly type: 'Rejected'; readonly code: 'BUSY'; readonly currentTurnId: string | null }
  /** It would run on the credentials of `author`, who is not the one who asks (D-12). */
  | { readonly type: 'Rejected'; readonly code: 'NOT_YOURS'; readonly author: Author }
  | {
      readonly type: 'Rejected';
      readonly code: 'MESSAGE_NOT_QUEUED';
      readonly queuedMessageIds: readonly string[];
    }
  /**
   * No message of a person with this id is in the conversation. `watermark`: what lies up to that revision is
   * summarised, and nobody goes back below it (D-59); null: nothing is.
   */
  | { readonly type: 'Rejected'; readonly code: 'MESSAGE_NOT_FOUND'; readonly watermark: number | null }
  | { readonly type: 'Rejected'; readonly code: 'WATCH_NOT_FOUND'; readonly watchIds: readonly string[] }
  | { readonly type: 'Rejected'; readonly code: 'WATCH_LIMIT'; readonly capacity: number }
  | { readonly type: 'Rejected'; readonly code: 'WATCH_NAME_TAKEN'; readonly name: string }
  /** It was edited since the caller saw it; `version` is the one it has now. */
  | { readonly type: 'Rejected'; readonly code: 'STALE_WATCH'; readonly version: number }
  /** The conversation is too short, or nothing came since it was summarised. */
  | { readonly type: 'Rejected'; readonly code: 'NOTHING_TO_COMPACT' }
  | { readonly type: 'Rejected'; readonly code: 'APPROVAL_GONE'; readonly currentCycleIds: readonly string[] }
  | { readonly type: 'Rejected'; readonly code: 'ALREADY_DECIDED'; readonly decision: ApprovalDecision }
  | { readonly type: 'Rejected'; readonly code: 'ARGUMENTS_CHANGED'; readonly currentHash: string };

export type Acceptance =
  | {
      readonly type: 'Accepted';
      readonly disposition: 'STARTED' | 'QUEUED' | 'STEERING';
      readonly messageId: string;
      readonly turnId: string | null;
      readonly revision: number;
    }
  | { readonly type: 'Accepted'; readonly stopped: readonly string[]; readonly nothingToStop: boolean }
  | { readonly type: 'Accepted'; readonly cycle: ApprovalCycle }
  | { readonly type: 'Accepted'; readonly turnId: string | null }
  | { readonly type: 'Accepted'; readonly watch: Watch }
  | { readonly type: 'Accepted'; readonly queue: Queue }
  | { readonly type: 'Accepted'; readonly configuration: Configuration }
  /** `text` is that of the message rewound to; `superseded` counts what the model does not see any more. */
  | {
      readonly type: 'Accepted';
      readonly revision: number;
      readonly text: string;
      readonly superseded: number;
    }
  | { readonly type: 'Accepted'; readonly discarded: number }
  | { readonly type: 'Accepted'; readonly lifecycle: 'OPEN' | 'CLOSED' };

/** The facts of a refusal, by code. */
type Facts<R> = R extends CoreRefusal ? Omit<R, 'type'> : never;

/** True: nothing is recorded, and the same key may be tried again. False: this stays the answer for that key (D-60). */
export const isRetryable: Readonly<Record<CoreRefusal['code'], boolean>> = {
  INVALID_INPUT: false,
  KEY_REUSED: false,
  WORKSTREAM_NOT_FOUND: false,
  WORKSTREAM_CLOSED: true,
  CLOSING: true,
  QUEUE_FULL: true,
  BUSY: true,
  STALE_TURN: false,
  NOT_YOURS: false,
  MESSAGE_NOT_QUEUED: false,
  MESSAGE_NOT_FOUND: false,
  NOTHING_TO_COMPACT: true,
  WATCH_NOT_FOUND: false,
  WATCH_LIMIT: true,
  WATCH_NAME_TAKEN: true,
  STALE_WATCH: false,
  APPROVAL_GONE: false,
  ALREADY_DECIDED: false,
  ARGUMENTS_CHANGED: false,
};

/** True when the answer is kept under the command's key: it can be, and it stays that answer (D-60). */
export const isRecorded = ({ code }: CoreRefusal): boolean =>
  !isRetryable[code] && code !== 'KEY_REUSED' && code !== 'WORKSTREAM_NOT_FOUND';

export const refuse = (facts: Facts<CoreRefusal>): CoreRefusal => ({ type: 'Rejected', ...facts });
