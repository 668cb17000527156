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
  readonly model: string;
  readonly revision: number;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface Catalog {
  get(id: string): Promise<WorkstreamRow | null>;
  /** Newest `createdAt` first; `after` is the id of the last one seen. */
  list(range: { readonly first: number; readonly after: string | null }): Promise<{
    readonly items: readonly SummaryRow[];
    readonly hasNext: boolean;
    readonly totalCount: number;
  }>;
  /** Open approval cycles, newest first; `after` is the id of the last one seen. */
  openCycles(range: { readonly first: number; readonly after: string | null }): Promise<{
    readonly items: readonly { readonly workstreamId: string; readonly cycle: ApprovalCycle }[];
    readonly hasNext: boolean;
    readonly totalCount: number;
  }>;
  /** The decision recorded for an item of any cycle, open or not; null when there is none. */
  decisionOf(workstreamId: string, cycleId: string, callId: string): Promise<ApprovalDecision | null>;
}
