/**
 * Owns: who listens to which workstream. Attached to ids, not to actors, so that a feed outlives unloading (D-22).
 *
 * Invariant: the list is told of each change and of each end once, whether it was made here or read from the database
 * (D-26).
 */
import type { FeedItem } from 'schema/projection';
import type { WorkstreamSummaryModel } from 'schema/model';
import type { StoredHead } from '../../ports/elsewhere.ts';
import type { Subscription } from './subscription.ts';

export interface Hub {
  publish(workstreamId: string, item: FeedItem): void;
  /** Registers for wakes; the returned function leaves. */
  attach(workstreamId: string, subscription: Subscription): () => void;
  /** Another process has written to it: whoever follows reads from the database what they lack (D-101). */
  moved(workstreamId: string, head: StoredHead): void;
  /** Ids that somebody follows. */
  followed(): readonly string[];
  /** What the list shows of a workstream; told if it is news. */
  announce(summary: WorkstreamSummaryModel): void;
  /** Grows with everything the list is told. */
  moment(): number;
  /** True when the list was told of this workstream after that moment. */
  toldSince(workstreamId: string, moment: number): boolean;
  /** What the list was told until that moment is no measure of what is news: others may have changed it, unheard. */
  forgetTold(until: number): void;
  /** True while somebody follows the list. */
  isListed(): boolean;
  onAnnounce(listener: (summary: WorkstreamSummaryModel) => void): () => void;
  /** A workstream is gone; said once, and nothing of it follows. */
  announceDeleted(workstreamId: string): void;
  onDeleted(listener: (workstreamId: string) => void): () => void;
  /** Calls back when a workstream says how it is stored, or ends: the server's word may be another one by now. */
  onPersistence(listener: () => void): () => void;
  /** For tests and metrics: how many subscriptions there are. */
  size(): number;
}

/** Most workstreams of which the last word is kept. One beyond may be told again; its followers lose nothing by it. */
const maxTold = 100_000;

/** What the list shows of a workstream, for telling whether it is news. */
const shownOf = (w: WorkstreamSummaryModel): string =>
  [w.lifecycle, w.state, w.stopping, w.persistence, w.model, w.title].join('|');

export function createHub(): Hub {
  const byId = new Map<string, Set<Subscription>>();
  const listeners = new Set<(summary: WorkstreamSummaryModel) => void>();
  const deletedListeners = new Set<(workstreamId: string) => void>();
  const persistenceListeners = new Set<() => void>();
  /** The last word on each, the latest last; null: it is gone. */
  const told = new Map<string, { readonly shown: string | null; readonly moment: number }>();
  let moment = 0;

  function tell(id: string, shown: string | null): void {
    moment += 1;
    told.delete(id);
    told.set(id, { shown, moment });
    for (const oldest of told.keys()) {
      if (told.size <= maxTold) break;
      told.delete(oldest);
    }
  }

  return {
    publish(id, item) {
      for (const subscription of byId.get(id) ?? []) subscription.push(item);
      if (item.type === 'PersistenceChanged' || item.type === 'Ended')
        for (const listener of persistenceListeners) listener();
    },
    moved(id, head) {
      for (const subscription of byId.get(id) ?? []) subscription.push({ type: 'HeadMoved', ...head });
    },
    followed: () => [...byId.keys()],
    attach(id, subscription) {
      const all = byId.get(id) ?? new Set();
      all.add(subscription);
      byId.set(id, all);
      return () => {
        all.delete(subscription);
        if (all.size === 0 && byId.get(id) === all) byId.delete(id);
      };
    },
    announce(summary) {
      const shown = shownOf(summary);
      if (told.get(summary.id)?.shown === shown) return;
      tell(summary.id, shown);
      for (const listener of listeners) listener(summary);
    },
    onAnnounce(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    moment: () => moment,
    toldSince: (id, before) => (told.get(id)?.moment ?? 0) > before,
    forgetTold(until) {
      for (const [id, last] of told) if (last.shown !== null && last.moment <= until) told.delete(id);
    },
    isListed: () => listeners.size > 0,
    announceDeleted(id) {
      if (told.get(id)?.shown === null) return;
      tell(id, null);
      for (const listener of deletedListeners) listener(id);
    },
    onDeleted(listener) {
      deletedListeners.add(listener);
      return () => deletedListeners.delete(listener);
    },
    onPersistence(listener) {
      persistenceListeners.add(listener);
      return () => persistenceListeners.delete(listener);
    },
    size: () =>
      [...byId.values()].reduce((sum, all) => sum + all.size, 0) +
      listeners.size +
      deletedListeners.size +
      persistenceListeners.size,
  };
}
