/**
 * Owns: the need to read workstreams without loading them. CREATING rows do not exist here.
 */
import type { ApprovalCycle, ApprovalDecision, Projection, WorkstreamState } from 'schema/projection';

export interface WorkstreamRow {
  readonly id: string;
  readonly incarnation: string;
  readonly epoch: number;
  readonly revision: number;
  readonly projection: Projection;
  /** Session that runs it, if that session is live. */
  readonly owner: string | null;
  readonly quarantine: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface SummaryRow {
  readonly id: string;
  readonly title: string;
  readonly state: WorkstreamState;
  readonly stopping: boolean;
  readonly lifecycle: 'OPEN' | 'CLOSED';
  readonly model: string;
  readonly revision: number;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Where a row stands in its list: by time, and by id where times are equal. */
export interface Position {
  /** When the workstream was made or the cycle opened: a time as `Date.toISOString` writes it. */
  readonly at: string;
  readonly id: string;
}

/** The newest first; `after` is the last row seen, which need not be there any more. */
export interface PageRange {
  readonly first: number;
  readonly after: Position | null;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly hasNext: boolean;
  /** Of the whole list. */
  readonly totalCount: number;
}

/** What a list that is kept live begins with. */
export interface Overview {
  /** The newest first. */
  readonly newest: readonly SummaryRow[];
  /** Older ones that have a live turn: those that wait for a person first, and then the newest. */
  readonly living: readonly SummaryRow[];
  /** What there is after the last of the newest, of either lifecycle; null when that was all. */
  readonly older: { readonly after: Position; readonly open: boolean; readonly closed: boolean } | null;
}

export interface Catalog {
  get(id: string): Promise<WorkstreamRow | null>;
  /** Newest `createdAt` first; of one lifecycle, or (none given) of both. */
  list(range: PageRange, lifecycle?: 'OPEN' | 'CLOSED' | null): Promise<Page<SummaryRow>>;
  /** At most so many of each; what it reads does not grow with what there is. */
  overview(most: { readonly newest: number; readonly living: number }): Promise<Overview>;
  /** Open approval cycles, the last opened first. */
  openCycles(
    range: PageRange,
  ): Promise<Page<{ readonly workstreamId: string; readonly cycle: ApprovalCycle }>>;
  /** The decision recorded for an item of any cycle, open or not; null when there is none. */
  decisionOf(workstreamId: string, cycleId: string, callId: string): Promise<ApprovalDecision | null>;
}
