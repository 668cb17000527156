/**
 * Owns: core values as the GraphQL surface shows them.
 */
import type { WorkstreamModel, WorkstreamSummaryModel } from 'schema/model';
import {
  emptyOverlay,
  encodeCursor,
  isStopping,
  stateOf,
  type ContextMark,
  type Persistence,
  type Projection,
} from 'schema/projection';
import { contextOf, type State } from '../../core/workstream/state.ts';
import type { WorkstreamRow } from '../../ports/catalog.ts';

/** A row of the list, from the projection. Times are ISO 8601. */
export const summaryOf = (w: {
  readonly id: string;
  readonly projection: Projection;
  readonly createdAt: string;
  /** Status of its actor's; HEALTHY when it runs nowhere here. */
  readonly persistence: Persistence['status'];
}): WorkstreamSummaryModel => ({
  id: w.id,
  title: w.projection.configuration.title,
  state: stateOf(w.projection),
  stopping: isStopping(w.projection),
  lifecycle: w.projection.lifecycle === 'CLOSED' ? 'CLOSED' : 'OPEN',
  model: w.projection.configuration.model,
  revision: w.projection.revision,
  persistence: w.persistence,
  createdAt: w.createdAt,
  updatedAt: w.projection.updatedAt ?? w.createdAt,
});

/** How far a workstream that runs here has come: which one it is, its last entry, and the last one stored. */
export const marksOf = ({ incarnation, epoch, projection, durable }: State) => ({
  incarnation,
  epoch,
  revision: projection.revision,
  durableThrough: durable.revision,
});

/** Tokens that the model with this alias can read, as it is set up; null: not known. */
export type WindowOf = (alias: string) => number | null;

/** How full the context is: where no answer has told the window, it is that of the model that was chosen. */
function contextView(
  { told, counted, scale, overhead, window }: ContextMark,
  projection: Projection,
  windowOf: WindowOf,
): ContextMark {
  return { told, counted, scale, overhead, window: window ?? windowOf(projection.configuration.model) };
}

/** A workstream that runs here: durable and pending, overlay included, at one revision. */
export const loadedModel = (
  state: State,
  row: { readonly createdAt: string; readonly owner: string | null },
  persistence: Persistence,
  windowOf: WindowOf,
): WorkstreamModel => ({
  id: state.workstreamId,
  projection: state.projection,
  durable: state.durable,
  pending: state.pending,
  epoch: state.epoch,
  durableThrough: state.durable.revision,
  state: stateOf(state.projection),
  context: contextView(contextOf(state), state.projection, windowOf),
  overlay: state.overlay,
  persistence,
  cursor: encodeCursor(marksOf(state)),
  owner: row.owner,
  quarantine: null,
  createdAt: row.createdAt,
  updatedAt: state.projection.updatedAt ?? row.createdAt,
});

/** A workstream that runs nowhere here: what the database holds. */
export const storedModel = (row: WorkstreamRow, windowOf: WindowOf): WorkstreamModel => ({
  id: row.id,
  projection: row.projection,
  durable: row.projection,
  pending: [],
  epoch: row.epoch,
  durableThrough: row.revision,
  state: row.quarantine === null ? stateOf(row.projection) : 'ERROR',
  context: contextView(row.projection.context, row.projection, windowOf),
  overlay: emptyOverlay,
  persistence: { status: 'HEALTHY' },
  cursor: encodeCursor({ incarnation: row.incarnation, epoch: row.epoch, revision: row.revision }),
  owner: row.owner,
  quarantine: row.quarantine,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
});
