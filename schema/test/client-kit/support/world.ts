/**
 * Owns: a workstream in memory behind the schema's `Services`: a journal with epochs and a durable prefix, the feed's
 * promises (D-54, D-55) and the troubles a follower meets. Speaks the real schema, so the wire is the real one.
 */
import {
  applyEntries,
  decodeCursor,
  emptyOverlay,
  emptyProjection,
  encodeCursor,
  overlayAfter,
  stateOf,
  type Entry,
  type EntryBody,
  type FeedItem,
  type Overlay,
} from '../../../src/projection/index.ts';
import { asSeen } from '../../as-seen.ts';
import type { FeedEvent, HistoryPage, HistoryRange, WorkstreamModel } from '../../../src/model/index.ts';

export interface Subscriber {
  send(event: FeedEvent): void;
  end(): void;
}

const incarnation = 'incarnation-1';

export type World = ReturnType<typeof createWorld>;

export function createWorld(bodies: () => EntryBody) {
  let entries: readonly Entry[] = [];
  let durableThrough = 0;
  let epoch = 1;
  let overlay: Overlay = emptyOverlay;
  let ids = 0;
  const subscribers = new Set<Subscriber>();

  const head = () => entries.length;
  const cursorAt = (revision: number) => encodeCursor({ incarnation, epoch, revision });
  const tell = (item: FeedItem, revision = head()) => {
    for (const subscriber of subscribers) subscriber.send({ item, cursor: cursorAt(revision) });
  };
  const admitted = (entry: Entry): FeedItem => ({
    type: 'EntryAdmitted',
    entry,
    durable: entry.revision <= durableThrough,
  });
  const marks = () => ({ epoch, revision: head(), durableThrough });

  const admit = (lost: boolean, body: EntryBody = bodies(), over: Partial<Entry> = {}) => {
    const entry = {
      id: `e${++ids}`,
      revision: head() + 1,
      epoch,
      generation: 1,
      lane: null,
      turnId: null,
      at: '2026-11-30T09:52:03.120Z',
      ...body,
      ...over,
    } as Entry;
    entries = [...entries, entry];
    overlay = overlayAfter(overlay, entry);
    if (!lost) tell(admitted(entry));
  };

  return {
    /** As a client gets to see them. */
    get entries() {
      return entries.map(asSeen);
    },
    get durableThrough() {
      return durableThrough;
    },
    get overlay() {
      return overlay;
    },
    get epoch() {
      return epoch;
    },
    admit: () => {
      admit(false);
    },
    /** This entry, with what is told of its place. */
    put: (body: EntryBody, over: Partial<Entry> = {}) => {
      admit(false, body, over);
    },
    /** Two entries, the later one delivered first. */
    admitSwapped() {
      admit(true);
      admit(false);
      const earlier = entries.at(-2);
      if (earlier) tell(admitted(earlier), earlier.revision);
    },
    /** An entry that the feed fails to carry: what follows it shows the gap. */
    admitUnsent: () => {
      admit(true);
    },
    acknowledge(through: number) {
      if (through <= durableThrough || through > head()) return;
      durableThrough = through;
      tell({ type: 'EntriesDurable', durableThrough });
    },
    /** Another process takes over: what was not durable is gone. */
    takeOver() {
      epoch += 1;
      entries = entries.slice(0, durableThrough);
      overlay = emptyOverlay;
      tell({ type: 'EpochStarted', epoch, from: durableThrough });
    },
    stream(text: string) {
      const open = overlay.message ?? { id: `m${++ids}`, turnId: 't1', text: '', reasoning: '' };
      overlay = { ...overlay, message: { ...open, text: open.text + text } };
      tell({
        type: 'StreamChunk',
        messageId: open.id,
        turnId: 't1',
        channel: 'TEXT',
        offset: open.text.length,
        text,
      });
    },
    repeat(revision: number) {
      const entry = entries[revision - 1];
      if (entry) tell(admitted(entry), revision);
    },
    heartbeat: () => {
      tell({ type: 'Heartbeat', ...marks() });
    },
    demandSnapshot() {
      tell({ type: 'SnapshotRequired', reason: 'Too far behind.' });
      for (const subscriber of [...subscribers]) subscriber.end();
    },
    end(resumable: boolean) {
      tell({ type: 'Ended', reason: 'The server stops.', resumable });
      for (const subscriber of [...subscribers]) subscriber.end();
    },

    subscribe(after: string | null, subscriber: Subscriber): () => void {
      const cursor = after === null ? null : decodeCursor(after);
      const send = (item: FeedItem, revision = head()) => {
        subscriber.send({ item, cursor: cursorAt(revision) });
      };
      let from = cursor?.revision ?? head();
      const entryThere = entries[from - 1];
      if (cursor && from > 0 && cursor.epoch !== epoch) {
        const good = from <= durableThrough && entryThere !== undefined && entryThere.epoch <= cursor.epoch;
        if (!good) {
          from = entries.filter(
            (e) => e.revision <= Math.min(from, durableThrough) && e.epoch <= cursor.epoch,
          ).length;
          send({ type: 'EpochStarted', epoch, from }, from);
        }
      }
      if (from > head()) {
        send({ type: 'SnapshotRequired', reason: 'Ahead of the owner.' });
        subscriber.end();
        return () => undefined;
      }
      for (const entry of entries.slice(from)) send(admitted(entry), entry.revision);
      send({ type: 'Synchronized', ...marks() });
      const { message } = overlay;
      if (message)
        send({
          type: 'StreamChunk',
          messageId: message.id,
          turnId: message.turnId,
          channel: 'TEXT',
          offset: 0,
          text: message.text,
        });
      subscribers.add(subscriber);
      return () => subscribers.delete(subscriber);
    },

    model(id: string): WorkstreamModel {
      const durable = applyEntries(emptyProjection, entries.slice(0, durableThrough));
      const pending = entries.slice(durableThrough);
      const projection = applyEntries(durable, pending);
      return {
        id,
        projection,
        durable,
        pending,
        epoch,
        durableThrough,
        state: stateOf(projection),
        context: projection.context,
        overlay,
        persistence: { status: 'HEALTHY' },
        cursor: cursorAt(head()),
        owner: null,
        quarantine: null,
        createdAt: '2026-11-30T09:52:03.120Z',
        updatedAt: '2026-11-30T09:52:03.120Z',
      };
    },

    page(range: HistoryRange): HistoryPage {
      const end = range.direction === 'backward' ? (range.before ?? head() + 1) - 1 : head();
      const begin = range.direction === 'backward' ? Math.max(0, end - range.count) : range.after;
      const page = entries.slice(begin, range.direction === 'backward' ? end : begin + range.count);
      return {
        entries: page,
        hasOlder: begin > 0,
        hasNewer: begin + page.length < head(),
        ...marks(),
        cursor: cursorAt(head()),
      };
    },
  };
}
