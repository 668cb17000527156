/** Owns: QueueEntry. */
import { Queue } from '../queue.ts';
import { entryInterfaces, entryRef } from './entry.ts';

export const QueueEntry = entryRef('QUEUE').implement({
  description:
    'A message was queued, edited, withdrawn or taken from the queue, or the queue was held or resumed.',
  interfaces: entryInterfaces,
  fields: (t) => ({
    queue: t.field({ type: Queue, description: 'The queue from here on.', resolve: (e) => e.entry.queue }),
  }),
});
