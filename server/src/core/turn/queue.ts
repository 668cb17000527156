/**
 * Owns: what waits to be said (D-63). Neighbours of one author become one USER entry; a message of another author
 * waits for a turn of its own, so that nothing typed by A runs on B's credentials (D-12). A steer waits here too, and
 * is said earlier: after the results of the batch under way.
 */
import { liveTurn, type Author, type Queue, type QueuedMessage } from 'schema/projection';
import { admit, type StepDraft } from '../step-draft.ts';

/** Most messages that may wait (D-63). */
export const queueCapacity = 20;
/**
 * Most text that may wait, UTF-16 code units, unless a message waits alone: every entry of the queue carries the whole
 * of it, so that is what the smallest edit costs.
 */
const queueTextCapacity = 200_000;

/** True when another message may wait beside those that do. */
export const hasRoom = (queue: Queue, text: string): boolean =>
  queue.items.length < queueCapacity && hasRoomForText(queue, text);

/** True when this text may wait beside what does: alone any message may. */
export const hasRoomForText = (queue: Queue, text: string): boolean =>
  queue.items.length === 0 ||
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
  return take(queue, end === -1 ? queue.items : queue.items.slice(0, end));
}

/** What waits once the turn it was sent to is over: no steer any more, and no word about that turn's Stop. */
export const afterTurn = (queue: Queue): Queue => ({
  ...queue,
  items: queue.items.map((item) => ({ ...item, delivery: 'QUEUE', turnId: null, afterStop: false })),
});

/** What was held waits no longer: the next message sent goes on with it (D-63), also while a retry runs. */
export const enqueue = (queue: Queue, message: QueuedMessage): Queue => ({
  items: [...queue.items, message],
  held: false,
});

/** Says what was sent to steer the live turn. */
export function landSteers(draft: StepDraft): StepDraft {
  const { projection } = draft.state;
  const turnId = liveTurn(projection)?.id;
  const steers = projection.queue.items.filter((item) => item.delivery === 'STEER' && item.turnId === turnId);
  const taken = take(projection.queue, steers);
  if (!taken) return draft;
  const { id, text, author, rest } = taken;
  return admit(
    admit(draft, { kind: 'QUEUE', queue: { ...rest, held: projection.queue.held } }),
    { kind: 'USER', text, author, source: 'STEER' },
    id,
  );
}

/** These messages, all of one author, as one. */
function take(queue: Queue, messages: readonly QueuedMessage[]): Drained | null {
  const first = messages[0];
  if (!first) return null;
  const ids = messages.map((item) => item.id);
  return {
    id: first.id,
    ids,
    author: first.author,
    text: messages.map((item) => item.text).join('\n\n'),
    rest: { items: queue.items.filter((item) => !ids.includes(item.id)), held: false },
  };
}
