/**
 * Owns: a subscriber's way into a workstream's feed, from where it left off (D-54): register for wakes → stored entries
 * after the cursor → pending ones → Synchronized, once → overlay at offset 0 → live.
 * Does not own: where a cursor goes on, and what came after it (`backlog.ts`).
 *
 * Invariants: entries after the cursor come exactly once, in order, under any interleaving of commits and attaching
 * (I9); a cursor that cannot be continued gets SnapshotRequired, never silence (I8); following never loads (D-22);
 * who has left costs no further query.
 */
import type { FeedEvent } from 'schema/model';
import { encodeCursor, type FeedItem, type Overlay } from 'schema/projection';
import type { Reading } from 'schema/services';
import type { Catalog } from '../../ports/catalog.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Journal } from '../../ports/journal.ts';
import type { Registry } from '../actor/registry.ts';
import { marksOf } from '../views/workstream.ts';
import { backlog, startAt, type Sight, type Source } from './backlog.ts';
import type { Hub } from './hub.ts';
import { whileHere } from './reading.ts';
import { createSubscription, type HeadMoved } from './subscription.ts';

/** Milliseconds between heartbeats (D-57). */
export const heartbeatMs = 15_000;

export interface FeedDeps {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly journal: Journal;
  readonly hub: Hub;
  readonly clock: Clock;
  readonly reading: Reading;
}

type FeedItemOf<T extends FeedItem['type']> = Extract<FeedItem, { readonly type: T }>;

export async function* follow(
  deps: FeedDeps,
  workstreamId: string,
  after: string | null,
  signal: AbortSignal,
): AsyncGenerator<FeedEvent> {
  const { hub, registry, clock } = deps;
  const reading = whileHere(deps.reading, signal);
  const subscription = createSubscription(() =>
    overlayItems(registry.peek(workstreamId)?.state().overlay ?? null),
  );
  const leave = hub.attach(workstreamId, subscription);
  let cancelHeartbeat = (): void => undefined;
  /** Nothing is left behind from here on, also when nobody takes another item. */
  const stop = (): void => {
    cancelHeartbeat();
    leave();
    subscription.close();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    if (signal.aborted) return;
    const sight = await see(deps, reading, workstreamId);
    if (!sight) {
      yield ended('WORKSTREAM_NOT_FOUND');
      return;
    }
    const source: Source = { journal: deps.journal, reading, workstreamId, sight };
    const start = await startAt(source, after);
    const at = { epoch: sight.epoch, revision: start.revision, durableThrough: sight.durableThrough };
    const cursor = (): string => encodeCursor({ incarnation: sight.incarnation, ...at });
    const event = (item: FeedItem): FeedEvent => ({ item, cursor: cursor() });
    for (const item of start.items) yield event(item);
    if (start.over) return;

    yield* entriesOf(source);
    if (signal.aborted) return;
    // What came while the backlog was read, then the mark, then the overlay.
    while (subscription.hasBuffered()) {
      const item = await subscription.next();
      if (!item || (yield* pass(item))) return;
    }
    if (signal.aborted) return;
    yield event({ type: 'Synchronized', ...at });
    // Always: who resumes may still hold an older word.
    yield event({
      type: 'PersistenceChanged',
      persistence: registry.peek(workstreamId)?.persistence() ?? { status: 'HEALTHY' },
    });
    if (signal.aborted) return;
    subscription.goLive();
    cancelHeartbeat = beat();

    for (let item = await subscription.next(); item; item = await subscription.next())
      if (yield* pass(item)) return;

    async function* pass(item: FeedItem | HeadMoved): AsyncGenerator<FeedEvent, boolean> {
      return item.type === 'HeadMoved' ? yield* catchUp(item) : yield* live(item);
    }

    /** Reads what another process wrote since, all of it stored. True when the feed cannot go on. */
    async function* catchUp(head: HeadMoved): AsyncGenerator<FeedEvent, boolean> {
      // What runs here speaks for itself.
      if (registry.peek(workstreamId) || head.epoch < at.epoch) return false;
      if (head.incarnation !== source.sight.incarnation) {
        yield event({ type: 'Ended', reason: 'The workstream was made anew.', resumable: true });
        return true;
      }
      if (head.epoch > at.epoch) {
        const from = await reading.ask(() =>
          deps.journal.lastRevisionOf(workstreamId, at.revision, at.epoch),
        );
        if (yield* startEpoch({ type: 'EpochStarted', epoch: head.epoch, from })) return true;
      }
      const news: Source = {
        ...source,
        sight: { ...source.sight, ...head, durableThrough: head.revision, pending: [] },
      };
      yield* entriesOf(news);
      return signal.aborted;
    }

    /** In a generator of its own, which ends: one that waits holds in memory whatever it had last in a loop. */
    async function* entriesOf(from: Source): AsyncGenerator<FeedEvent> {
      for await (const entry of backlog(from, at.revision)) {
        at.revision = entry.revision;
        const durable = entry.revision <= from.sight.durableThrough;
        if (durable) at.durableThrough = Math.max(at.durableThrough, entry.revision);
        yield event({ type: 'EntryAdmitted', entry, durable });
        if (signal.aborted) return;
      }
    }

    /** Passes an item on, once, keeping count of where the subscriber is. True when it was the last one. */
    function* live(item: FeedItem): Generator<FeedEvent, boolean> {
      switch (item.type) {
        case 'EntryAdmitted':
          if (item.entry.revision <= at.revision) return false;
          // Of an owner that has not noticed yet that it is none: never stored, so never to be called so (I11).
          if (item.entry.epoch < at.epoch) {
            yield event({
              type: 'Ended',
              reason: 'Another process runs this workstream; resume from the cursor.',
              resumable: true,
            });
            return true;
          }
          if (item.entry.revision > at.revision + 1) {
            yield event({ type: 'Ended', reason: 'A gap; resume from the cursor.', resumable: true });
            return true;
          }
          at.revision = item.entry.revision;
          break;
        case 'EntriesDurable':
          if (item.durableThrough <= at.durableThrough) return false;
          at.durableThrough = item.durableThrough;
          break;
        case 'EpochStarted':
          if (item.epoch <= at.epoch) return false;
          return yield* startEpoch(item);
        default:
          break;
      }
      yield event(item);
      return item.type === 'Ended';
    }

    function* startEpoch({ epoch, from }: FeedItemOf<'EpochStarted'>): Generator<FeedEvent, boolean> {
      const missed = from > at.revision;
      at.epoch = epoch;
      at.revision = Math.min(at.revision, from);
      at.durableThrough = Math.max(at.durableThrough, at.revision);
      yield event({ type: 'EpochStarted', epoch, from: at.revision });
      // Another process wrote, unheard here, before this one took over: its entries are in the database only.
      if (missed) yield event({ type: 'Ended', reason: 'Behind; resume from the cursor.', resumable: true });
      return missed;
    }

    function beat(): () => void {
      return clock.after(heartbeatMs, () => {
        subscription.push({ type: 'Heartbeat', ...headOf(deps, workstreamId, at) });
        cancelHeartbeat = beat();
      });
    }
  } catch (error) {
    // Nobody is there to hear of it.
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

const ended = (reason: string): FeedEvent => ({
  item: { type: 'Ended', reason, resumable: false },
  cursor: '',
});

/** The actor's own word if it is loaded here, else the stored row. */
async function see(deps: FeedDeps, reading: Reading, id: string): Promise<Sight | null> {
  const state = deps.registry.peek(id)?.state();
  if (state) return { ...marksOf(state), pending: state.pending };
  const row = await reading.ask(() => deps.catalog.get(id));
  if (!row) return null;
  // Not the whole row: it is kept for as long as somebody follows.
  const { incarnation, epoch, revision } = row;
  return { incarnation, epoch, revision, durableThrough: revision, pending: [] };
}

type Marks = Pick<Sight, 'epoch' | 'revision' | 'durableThrough'>;

function headOf(deps: FeedDeps, id: string, known: Marks): Marks {
  const state = deps.registry.peek(id)?.state();
  if (!state) return known;
  const { epoch, revision, durableThrough } = marksOf(state);
  return { epoch, revision, durableThrough };
}

/** The open texts as chunks at offset 0. */
function overlayItems(overlay: Overlay | null): readonly FeedItem[] {
  if (!overlay) return [];
  const { message, tools } = overlay;
  const texts: readonly FeedItem[] = message
    ? (['REASONING', 'TEXT'] as const).flatMap((channel) => {
        const text = channel === 'TEXT' ? message.text : message.reasoning;
        return text === ''
          ? []
          : [
              {
                type: 'StreamChunk',
                messageId: message.id,
                turnId: message.turnId,
                channel,
                offset: 0,
                text,
              },
            ];
      })
    : [];
  return [
    ...texts,
    ...Object.entries(tools).map(([callId, { offset, text }]): FeedItem => ({
      type: 'ToolOutputChunk',
      callId,
      offset,
      text,
    })),
  ];
}
