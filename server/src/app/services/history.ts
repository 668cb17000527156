/**
 * Owns: a page of history: durable prefix and pending suffix, each entry once, in place (D-53).
 *
 * Invariant: a page is bounded by bytes as well as by entries, and begins at the end that was asked for: what does not
 * fit is on the next one. It has at least one entry when there is any.
 */
import type { HistoryPage, HistoryRange } from 'schema/model';
import { encodeCursor, type Entry } from 'schema/projection';
import { mergeHistory } from '../../core/journal/history.ts';
import type { Catalog } from '../../ports/catalog.ts';
import { pageBytes, type Journal } from '../../ports/journal.ts';
import type { Registry } from '../actor/registry.ts';
import { entrySize } from '../feed/subscription.ts';
import { marksOf } from '../views/workstream.ts';

export async function historyPage(
  deps: { readonly registry: Registry; readonly catalog: Catalog; readonly journal: Journal },
  workstreamId: string,
  range: HistoryRange,
): Promise<HistoryPage | null> {
  // The suffix is taken first: what lands while the prefix is read is then in both, and shown once.
  const state = deps.registry.peek(workstreamId)?.state();
  const row = state ? null : await deps.catalog.get(workstreamId);
  if (!state && !row) return null;
  const head = state ? marksOf(state) : { ...row!, durableThrough: row!.revision };
  const { low, high } = window(range, head.revision);
  const through = Math.min(high, head.durableThrough);
  const from = range.direction === 'forward' ? 'OLDEST' : 'NEWEST';
  const prefix =
    through > low
      ? await deps.journal.read(workstreamId, {
          after: low,
          through,
          limit: through - low,
          maxBytes: pageBytes,
          from,
        })
      : [];
  const suffix = (state?.pending ?? []).filter((e) => e.revision > low && e.revision <= high);
  const entries = fitting(mergeHistory(prefix, suffix), from);
  return {
    entries,
    hasOlder: (entries[0]?.revision ?? low + 1) > 1,
    hasNewer: (entries.at(-1)?.revision ?? high) < head.revision,
    revision: head.revision,
    durableThrough: head.durableThrough,
    epoch: head.epoch,
    cursor: encodeCursor(head),
  };
}

/** As many from that end as fit and follow one another: behind a prefix that was cut there is a gap. */
function fitting(entries: readonly Entry[], from: 'OLDEST' | 'NEWEST'): readonly Entry[] {
  const ordered = from === 'OLDEST' ? entries : entries.toReversed();
  let size = 0;
  const end = ordered.findIndex((entry, i) => {
    size += entrySize(entry);
    const before = ordered[i - 1];
    return before && (size > pageBytes || Math.abs(entry.revision - before.revision) > 1);
  });
  const page = end === -1 ? ordered : ordered.slice(0, end);
  return from === 'OLDEST' ? page : page.toReversed();
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
