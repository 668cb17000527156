/**
 * Owns: why the server refuses a command for how things stand with it: who runs the workstream, what is stored, what
 * there is room for. Does not own: refusals for what the workstream itself says (core).
 */
import type { CoreRefusal } from '../core/refusals.ts';

export type ServerRefusal =
  | { readonly type: 'Rejected'; readonly code: 'OWNER_ELSEWHERE' }
  | { readonly type: 'Rejected'; readonly code: 'OWNER_LOST' }
  | { readonly type: 'Rejected'; readonly code: 'QUARANTINED'; readonly reason: string }
  | { readonly type: 'Rejected'; readonly code: 'SHUTTING_DOWN' }
  | {
      readonly type: 'Rejected';
      readonly code: 'STORAGE_UNAVAILABLE';
      /** How far a deletion came all the same. STOPPED: its turn was. UNKNOWN: perhaps to its end. Without it: nowhere. */
      readonly deletion?: 'STOPPED' | 'UNKNOWN';
      /** Whether a workstream was made is not known. Without it: none was. */
      readonly creation?: 'UNKNOWN';
    }
  /** The database refused what was accepted; nothing more is, until that is discarded (D-51). */
  | { readonly type: 'Rejected'; readonly code: 'UNSAVED_CONFLICT' }
  /** Accepted, not stored, and discarded before it was. */
  | { readonly type: 'Rejected'; readonly code: 'DISCARDED' }
  | { readonly type: 'Rejected'; readonly code: 'NOTHING_TO_DISCARD' }
  /** None of the loaded workstreams can rest (D-24). */
  | { readonly type: 'Rejected'; readonly code: 'AT_CAPACITY'; readonly capacity: number }
  /** What it accepted could not be stored in time (D-23). */
  | { readonly type: 'Rejected'; readonly code: 'JOURNAL_UNSETTLED'; readonly turnStopped: boolean };

export type Refusal = CoreRefusal | ServerRefusal;
