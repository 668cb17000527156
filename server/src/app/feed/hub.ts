/**
 * Owns: who listens to which workstream. Attached to ids, not to actors, so that a feed outlives unloading (D-22).
 */
import type { FeedItem } from 'schema/projection';
import type { WorkstreamSummaryModel } from 'schema/model';
import type { Subscription } from './subscription.ts';

export interface Hub {
  publish(workstreamId: string, item: FeedItem): void;
  /** Registers for wakes; the returned function leaves. */
  attach(workstreamId: string, subscription: Subscription): () => void;
  /** A workstream's row in the list has changed. */
  announce(summary: WorkstreamSummaryModel): void;
  onAnnounce(listener: (summary: WorkstreamSummaryModel) => void): () => void;
  /** Calls back when a workstream says how it is stored, or ends: the server's word may be another one by now. */
  onPersistence(listener: () => void): () => void;
  /** For tests and metrics: how many subscriptions there are. */
  size(): number;
}

export function createHub(): Hub {
  const byId = new Map<string, Set<Subscription>>();
  const listeners = new Set<(summary: WorkstreamSummaryModel) => void>();
  const persistenceListeners = new Set<() => void>();
  return {
    publish(id, item) {
      for (const subscription of byId.get(id) ?? []) subscription.push(item);
      if (item.type === 'PersistenceChanged' || item.type === 'Ended')
        for (const listener of persistenceListeners) listener();
    },
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
      for (const listener of listeners) listener(summary);
    },
    onAnnounce(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onPersistence(listener) {
      persistenceListeners.add(listener);
      return () => persistenceListeners.delete(listener);
    },
    size: () =>
      [...byId.values()].reduce((sum, all) => sum + all.size, 0) + listeners.size + persistenceListeners.size,
  };
}
