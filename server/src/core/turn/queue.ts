/**
 * Owns: what waits to be said (D-63). Neighbours of one author become one USER entry; a message of another author
 * waits for a turn of its own, so that nothing typed by A runs on B's credentials (D-12).
 */
import type { Author, Queue, QueuedMessage } from 'schema/projection';

/** Most messages that may wait (D-63). */
export const queueCapacity = 20;
/** Most text that may wait, UTF-16 code units: every entry of the queue carries the whole of it. */
const queueTextCapacity = 2_000_000;

/** True when another message may wait beside those that do. */
export const hasRoom = (queue: Queue, text: string): boolean =>
  queue.items.length < queueCapacity &&
  queue.items.reduce((sum, item) => sum + item.text.length, text.length) <= queueTextCapacity;

export interface Drained {
  /** Id of the first message, which becomes the id of the USER entry. */
  readonly id: string;
  readonly ids: readonly string[];
  readonly author: Author;
  readonly text: string;
  readonly rest: Queue;
}

/** The first run of neighbours by one author; null when nothing waits. */
export function drain(queue: Queue): Drained | null {
  const first = queue.items[0];
  if (!first) return null;
  const end = queue.items.findIndex((item) => item.author.id !== first.author.id);
  const taken = end === -1 ? queue.items : queue.items.slice(0, end);
  return {
    id: first.id,
    ids: taken.map((item) => item.id),
    author: first.author,
    text: taken.map((item) => item.text).join('\n\n'),
    // A flag set under an earlier turn says nothing about the next one.
    rest: { items: queue.items.slice(taken.length).map((i) => ({ ...i, afterStop: false })), held: false },
  };
}

export const enqueue = (queue: Queue, message: QueuedMessage): Queue => ({
  ...queue,
  items: [...queue.items, message],
});
