/**
 * Owns: the need to know what model calls cost. Those of a batch are kept with it (`journal.ts`); what an actor that is
 * not the owner any more still has to tell is kept by itself: tokens were spent, whoever owns the workstream (D-5).
 *
 * Invariant: a call is counted once, by its id, however often it is told. What was spent outlives the workstream.
 */
import type { ModelCall } from '../core/models/spending.ts';

export type { ModelCall } from '../core/models/spending.ts';

/** Sums of calls. `cost`: United States dollars, of the calls that had a price; null: none had. */
export interface UsageTotal {
  readonly calls: number;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly cost: number | null;
  /** Of the calls, those the provider did not count. */
  readonly estimatedCalls: number;
}

export interface UsageGroup extends UsageTotal {
  /** ISO 8601 date, UTC; null: not asked for by day. */
  readonly day: string | null;
  readonly workstreamId: string | null;
  readonly alias: string | null;
}

export type UsageKey = 'DAY' | 'WORKSTREAM' | 'MODEL';

export interface UsageQuery {
  /** ISO 8601 dates, UTC, both included. */
  readonly from: string;
  readonly through: string;
  /** Null: of all. */
  readonly workstreamId: string | null;
  readonly by: readonly UsageKey[];
  /** Most groups, the newest day and the most tokens first. */
  readonly limit: number;
}

/** A call as it is kept. */
export interface RecordedCall extends ModelCall {
  readonly workstreamId: string;
  /** ISO 8601. */
  readonly at: string;
}

export interface UsageStore {
  /** Keeps calls beside any batch. Rejects when the database is away. */
  record(workstreamId: string, calls: readonly ModelCall[]): Promise<void>;
  /** Does not grow with the number of calls: sums are kept by day, workstream and model. */
  groups(query: UsageQuery): Promise<readonly UsageGroup[]>;
  /** Of a workstream, ever. */
  totalOf(workstreamId: string): Promise<UsageTotal>;
  totalOfTurn(workstreamId: string, turnId: string): Promise<UsageTotal>;
  /** Newest first, before a call of a page before. */
  calls(
    workstreamId: string,
    page: { readonly limit: number; readonly before: string | null },
  ): Promise<readonly RecordedCall[]>;
}
