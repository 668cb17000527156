/**
 * Owns: a page of history: durable prefix and pending suffix, each entry once, in place (D-53).
 */
import type { HistoryPage, HistoryRange } from 'schema/model';
import { encodeCursor } from 'schema/projection';
import { mergeHistory } from '../../core/journal/history.ts';
import type { Catalog } from '../../ports/catalog.ts';
import type { Journal } from '../../ports/journal.ts';
import type { Registry } from '../actor/registry.ts';

export async function historyPage(
  deps: { readonly registry: Registry; readonly catalog: Catalog; readonly journal: Journal },
  workstreamId: string,
  range: HistoryRange,
): Promise<HistoryPage | null> {
  // The suffix is taken first: what lands while the prefix is read is then in both, and shown once.
  const state = deps.registry.peek(workstreamId)?.state();
  const row = state ? null : await deps.catalog.get(workstreamId);
  if (!state && !row) return null;
  const head = state
    ? {
        incarnation: state.incarnation,
        epoch: state.epoch,
        revision: state.projection.revision,
        durableThrough: state.durable.revision,
      }
    : { ...row!, durableThrough: row!.revision };
  const { low, high } = window(range, head.revision);
  const through = Math.min(high, head.durableThrough);
  const prefix =
    through > low ? await deps.journal.read(workstreamId, { after: low, through, limit: through - low }) : [];
  const suffix = (state?.pending ?? []).filter((e) => e.revision > low && e.revision <= high);
  return {
    entries: mergeHistory(prefix, suffix),
    hasOlder: low > 0,
    hasNewer: high < head.revision,
    revision: head.revision,
    durableThrough: head.durableThrough,
    epoch: head.epoch,
    cursor: encodeCursor(head),
  };
}

/** The page as (low, high]. */
function window(range: HistoryRange, head: number): { readonly low: number; readonly high: number } {
  if (range.direction === 'forward') {
    const low = Math.min(range.after, head);
    return { low, high: Math.min(low + range.count, head) };
  }
  const high = Math.min(range.before === null ? head : range.before - 1, head);
  return { low: Math.max(0, high - range.count), high: Math.max(0, high) };
}
