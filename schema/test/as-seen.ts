/**
 * What a client gets to see of an entry or a fold: the same, but that ids of workstreams are global ones, and that what
 * is kept only for what a model is told stays here.
 */
import type { Entry, Origin, Projection } from '../src/projection/index.ts';
import { workstreamGlobalId } from '../src/types/global-id.ts';

const originAsSeen = (origin: Origin): Origin => ({
  ...origin,
  workstreamId: workstreamGlobalId(origin.workstreamId),
});

export function asSeen(entry: Entry): Entry {
  if (entry.kind === 'FORK') return { ...entry, origin: originAsSeen(entry.origin) };
  if (entry.kind === 'CHECKPOINT') {
    const { senders: _, ...seen } = entry;
    return seen;
  }
  if (entry.kind !== 'ASSISTANT') return entry;
  const { native: _, ...seen } = entry;
  return seen;
}

export const foldAsSeen = (projection: Projection): Projection => ({
  ...projection,
  origin: projection.origin && originAsSeen(projection.origin),
});
