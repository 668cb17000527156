/** Owns: what the list shows, and in which order. Pure. What needs a person is first; the rest does not move while it works. */
import type { WorkstreamSummary } from 'schema/client-kit';

/** Which of them the list shows. */
export type Filter = 'OPEN' | 'CLOSED' | 'ALL';

const inFilter = ({ lifecycle }: WorkstreamSummary, filter: Filter): boolean =>
  filter === 'ALL' || (lifecycle === 'CLOSED') === (filter === 'CLOSED');

export interface Listed {
  readonly needsYou: readonly WorkstreamSummary[];
  /** Of those that the filter shows; the last made first. */
  readonly others: readonly WorkstreamSummary[];
}

/** Times of one form stand in their order as text; `localeCompare` would be slow where each frame sorts all rows. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** What needs a person stands there whatever the filter is. */
export function listed(rows: Iterable<WorkstreamSummary>, filter: Filter): Listed {
  const sorted = [...rows].sort((a, b) => compare(b.createdAt, a.createdAt) || compare(a.id, b.id));
  return {
    needsYou: sorted.filter((row) => row.state === 'ATTENTION'),
    others: sorted.filter((row) => row.state !== 'ATTENTION' && inFilter(row, filter)),
  };
}

/** What to say aloud when the list changes: those that need a person now and did not before; until none does, `said`. */
export function announcement(
  before: readonly WorkstreamSummary[],
  now: readonly WorkstreamSummary[],
  said: string,
): string {
  if (now.length === 0) return '';
  const known = new Set(before.map((row) => row.id));
  const fresh = now.filter((row) => !known.has(row.id)).map((row) => row.title);
  return fresh.length === 0 ? said : `Needs you: ${fresh.join(', ')}`;
}
