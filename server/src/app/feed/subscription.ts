/**
 * Owns: one subscriber's buffer between the actor, which never waits, and a connection that may be slow (D-56).
 *
 * Invariants: entries and marks are kept in order and never dropped; when there is too much, overlay items go first
 * and are re-based at offset 0 once the subscriber has caught up; if entries alone overflow, this subscription ends
 * with a resumable error. No other subscriber, and not the actor, feels it (I15).
 */
import type { Entry, FeedItem } from 'schema/projection';
import type { StoredHead } from '../../ports/elsewhere.ts';

/** Most items and most text (UTF-16 code units) buffered for one subscriber (D-56). */
const maxItems = 1_000;
const maxText = 8 * 1024 * 1024;

/** For the feed alone: the database holds more than this process wrote. The latest says it all. */
export type HeadMoved = { readonly type: 'HeadMoved' } & StoredHead;

export type Pushed = FeedItem | HeadMoved;

export interface Subscription {
  push(item: Pushed): void;
  /** The next item; null once closed. `overlay` gives the open texts as chunks at offset 0, for the re-base. */
  next(): Promise<Pushed | null>;
  /** From now on overlay items are kept, beginning with a re-base. Before, only entries and marks are. */
  goLive(): void;
  /** True when something waits. */
  hasBuffered(): boolean;
  close(): void;
}

/** A reset is no overlay item: a subscriber that missed it would go on showing what is void. */
const isOverlay = (item: Pushed): boolean => item.type === 'StreamChunk' || item.type === 'ToolOutputChunk';

const sizeOf = (item: Pushed): number => {
  if (item.type === 'StreamChunk' || item.type === 'ToolOutputChunk') return item.text.length;
  return item.type === 'EntryAdmitted' ? entrySize(item.entry) : 50;
};

const sizes = new WeakMap<Entry, number>();

/**
 * Length as JSON, UTF-16 code units. Any part of an entry may be long: a tool's result, a preview, a queue. Measured
 * once for all subscribers.
 */
export function entrySize(entry: Entry): number {
  const known = sizes.get(entry) ?? JSON.stringify(entry).length;
  sizes.set(entry, known);
  return known;
}

export function createSubscription(overlay: () => readonly FeedItem[]): Subscription {
  let buffer: Pushed[] = [];
  let text = 0;
  let closed = false;
  /** Too slow: nothing more is taken. */
  let over = false;
  let live = false;
  let rebase = false;
  let waiting: (() => void) | null = null;

  function wake(): void {
    waiting?.();
    waiting = null;
  }

  function append(item: Pushed): void {
    buffer.push(item);
    text += sizeOf(item);
    wake();
  }

  function drop(which: (item: Pushed) => boolean): void {
    buffer = buffer.filter((item) => !which(item));
    text = buffer.reduce((sum, item) => sum + sizeOf(item), 0);
  }

  function dropOverlay(): void {
    drop(isOverlay);
    rebase = true;
  }

  const isFull = (): boolean => buffer.length >= maxItems || text >= maxText;

  return {
    push(item) {
      if (closed || over) return;
      if (isOverlay(item)) {
        if (!live || rebase) return;
        if (isFull()) return dropOverlay();
        return append(item);
      }
      if (item.type === 'HeadMoved') drop((other) => other.type === 'HeadMoved');
      if (isFull()) dropOverlay();
      if (isFull()) {
        over = true;
        live = false;
        buffer = [];
        return append({
          type: 'Ended',
          reason: 'This subscriber was too slow; resume from its cursor.',
          resumable: true,
        });
      }
      append(item);
    },
    async next() {
      while (buffer.length === 0 && !closed) {
        if (live && rebase) {
          rebase = false;
          for (const item of overlay()) append(item);
          continue;
        }
        await new Promise<void>((resolve) => (waiting = resolve));
      }
      const item = closed ? undefined : buffer.shift();
      if (!item) return null;
      text -= sizeOf(item);
      return item;
    },
    goLive() {
      live = true;
      rebase = true;
      wake();
    },
    hasBuffered: () => buffer.length > 0,
    close() {
      closed = true;
      buffer = [];
      wake();
    },
  };
}
