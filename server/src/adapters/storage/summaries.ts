/** Owns: which columns a row of the list is made of, and making it; the fold of a workstream is none of them. */
import type { SummaryRow } from '../../ports/catalog.ts';
import type { WorkstreamRow } from './entities/workstream.ts';

/** To be read for `summaryRow`. */
export const summaryFields = [
  'id',
  'title',
  'state',
  'stopping',
  'lifecycle',
  'model',
  'revision',
  'quarantine',
  'createdAt',
  'updatedAt',
] as const satisfies readonly (keyof WorkstreamRow)[];

export const newestFirst = { createdAt: 'desc', id: 'desc' } as const;

export const summaryRow = (row: Pick<WorkstreamRow, (typeof summaryFields)[number]>): SummaryRow => ({
  id: row.id,
  title: row.title,
  // Nobody runs it, whatever its last entry said (D-71).
  state: row.quarantine === null ? row.state : 'ERROR',
  stopping: row.stopping,
  lifecycle: row.lifecycle === 'CLOSED' ? 'CLOSED' : 'OPEN',
  model: row.model,
  revision: row.revision,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
});
