/**
 * Owns: why a command is refused, and how it is accepted, as facts. The sentences for people are made in
 * `app/views`. A refusal changes nothing (D-11).
 */
import type { ApprovalCycle, ApprovalDecision } from 'schema/projection';

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
  | { readonly type: 'Rejected'; readonly code: 'QUEUE_FULL'; readonly capacity: number }
  | { readonly type: 'Rejected'; readonly code: 'STALE_TURN'; readonly currentTurnId: string | null }
  | { readonly type: 'Rejected'; readonly code: 'APPROVAL_GONE'; readonly currentCycleIds: readonly string[] }
  | { readonly type: 'Rejected'; readonly code: 'ALREADY_DECIDED'; readonly decision: ApprovalDecision }
  | { readonly type: 'Rejected'; readonly code: 'ARGUMENTS_CHANGED'; readonly currentHash: string };

export type Acceptance =
  | {
      readonly type: 'Accepted';
      readonly disposition: 'STARTED' | 'QUEUED';
      readonly messageId: string;
      readonly turnId: string | null;
      readonly revision: number;
    }
  | { readonly type: 'Accepted'; readonly stopped: readonly string[]; readonly nothingToStop: boolean }
  | { readonly type: 'Accepted'; readonly cycle: ApprovalCycle }
  | { readonly type: 'Accepted'; readonly turnId: string | null };

/** The facts of a refusal, by code. */
type Facts<R> = R extends CoreRefusal ? Omit<R, 'type'> : never;

export const refuse = (facts: Facts<CoreRefusal>): CoreRefusal => ({ type: 'Rejected', ...facts });
