/**
 * Owns: the need to bring a workstream into being without anyone seeing half of one (D-20).
 */
import type { Batch } from './journal.ts';

export interface Reservations {
  /**
   * One transaction: a CREATING row with this incarnation, invisible to every reader. `folder`: the one that is made for
   * it if it chooses none; it is left (`Removal`) when the reservation goes.
   */
  reserve(reservation: {
    readonly id: string;
    readonly incarnation: string;
    readonly sessionId: string;
    readonly folder?: string;
  }): Promise<void>;
  /**
   * It is to work in this folder instead: from then on nobody takes that back. Who took it back before has done so when
   * this resolves: look whether it is there.
   */
  settleIn(id: string, incarnation: string, folder: string): Promise<void>;
  /**
   * Compare-and-swap on incarnation and CREATING: writes the first entries, the receipt, and OPEN.
   * `duplicate`: the receipt's key is taken (read it back). `gone`: the reservation is no longer there. Rejects, and has
   * written nothing, when `signal` aborts before it is done; any other rejection leaves open whether it happened.
   */
  publish(
    batch: Batch,
    signal?: AbortSignal,
  ): Promise<{ readonly type: 'published' } | { readonly type: 'duplicate' } | { readonly type: 'gone' }>;
  /**
   * Deletes exactly this reservation, if it is still CREATING. What was on its way to publish it has then landed before,
   * or never will.
   */
  rollback(id: string, incarnation: string): Promise<void>;
}
