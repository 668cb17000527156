/** Owns: what the list shows, and in which order. Pure. What needs a person is first; the rest does not move while it works. */
import type { WorkstreamSummary } from 'schema/client-kit';

export interface Listed {
  readonly needsYou: readonly WorkstreamSummary[];
  /** Of those that are to be shown; the last made first. */
  readonly others: readonly WorkstreamSummary[];
}

/** Times of one form stand in their order as text; `localeCompare` would be slow where each frame sorts all rows. */
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const inOrder = (rows: Iterable<WorkstreamSummary>): readonly WorkstreamSummary[] =>
  [...rows].sort((a, b) => compare(b.createdAt, a.createdAt) || compare(a.id, b.id));

/** `shown`: what the filter lets through. Of all that are known, what needs a person stands there whatever that is. */
export function listed(known: Iterable<WorkstreamSummary>, shown: Iterable<WorkstreamSummary>): Listed {
  const needs = (row: WorkstreamSummary) => row.state === 'ATTENTION';
  const waiting = new Map([...known, ...shown].filter(needs).map((row) => [row.id, row]));
  return {
    needsYou: inOrder(waiting.values()),
    others: inOrder(shown).filter((row) => !needs(row)),
  };
}

/** What can be selected to be closed, for a person; nothing to say when that is all there is. */
export const coverWords = (selectable: number, more: boolean): string =>
  more ? `Of the ${selectable} open ones that are shown. There are older ones.` : '';

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
