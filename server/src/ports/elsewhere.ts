/**
 * Owns: the need to see what other processes did to the workstreams of the same database (D-101). It is looked at, not
 * told: telling is for a bus, which has a port of its own when there is one.
 */
import type { SummaryRow } from './catalog.ts';

/** How far a stored workstream has come. */
export interface StoredHead {
  readonly incarnation: string;
  readonly epoch: number;
  readonly revision: number;
}

export interface Look {
  /** The moment of this look, for the next one to begin at. Opaque. */
  readonly mark: string;
  /** Those of the ids asked for that are there. */
  readonly asked: readonly (SummaryRow & StoredHead)[];
  /**
   * Of what the list shows, and what is deleted, all that became visible after `since` and until now, each once: a
   * transaction that took long is seen when it has ended, however early it began. Empty without `since`.
   */
  readonly changed: readonly SummaryRow[];
  readonly deleted: readonly string[];
}

export interface Elsewhere {
  /** One query. CREATING rows do not exist here. Rejects when the database is away. */
  look(ids: readonly string[], since: string | null): Promise<Look>;
}
