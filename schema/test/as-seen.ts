/** What a client gets to see of an entry or a fold: the same, but that ids of workstreams are global ones. */
import type { Entry, Origin, Projection } from '../src/projection/index.ts';
import { workstreamGlobalId } from '../src/types/global-id.ts';

const originAsSeen = (origin: Origin): Origin => ({
  ...origin,
  workstreamId: workstreamGlobalId(origin.workstreamId),
});

export const asSeen = (entry: Entry): Entry =>
  entry.kind === 'FORK' ? { ...entry, origin: originAsSeen(entry.origin) } : entry;

export const foldAsSeen = (projection: Projection): Projection => ({
  ...projection,
  origin: projection.origin && originAsSeen(projection.origin),
});
