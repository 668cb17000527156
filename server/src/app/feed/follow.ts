/**
 * Owns: a subscriber's way into a workstream's feed, from where it left off (D-54, D-55): register for wakes → stored
 * entries after the cursor → pending ones → Synchronized, once → overlay at offset 0 → live.
 *
 * Invariants: entries after the cursor come exactly once, in order, under any interleaving of commits and attaching
 * (I9); a cursor that cannot be continued gets SnapshotRequired, never silence (I8); following never loads (D-22);
 * who has left costs no further query.
 */
import type { FeedEvent } from 'schema/model';
import {
  decodeCursor,
  encodeCursor,
  type Cursor,
  type Entry,
  type FeedItem,
  type Overlay,
} from 'schema/projection';
import type { Catalog } from '../../ports/catalog.ts';
import type { Clock } from '../../ports/clock.ts';
import { pageBytes, type Journal } from '../../ports/journal.ts';
import type { Registry } from '../actor/registry.ts';
import type { Hub } from './hub.ts';
import type { Ask, Line } from './line.ts';
import { createSubscription, entrySize } from './subscription.ts';

/** Entries, and bytes of them as JSON, a subscriber may be behind before a snapshot is cheaper (D-55). */
const maxBehind = 2_000;
const maxBytesBehind = 4 * 1024 * 1024;
const pageSize = 200;
/** Milliseconds between heartbeats (D-57). */
export const heartbeatMs = 15_000;

export interface FeedDeps {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly journal: Journal;
  readonly hub: Hub;
  readonly clock: Clock;
  readonly line: Line;
}

type FeedItemOf<T extends FeedItem['type']> = Extract<FeedItem, { readonly type: T }>;

/** A workstream as this process sees it now. */
interface Sight {
  readonly incarnation: string;
  readonly epoch: number;
  readonly revision: number;
  readonly durableThrough: number;
  readonly pending: readonly Entry[];
}

export async function* follow(
  deps: FeedDeps,
  workstreamId: string,
  after: string | null,
  signal: AbortSignal,
): AsyncGenerator<FeedEvent> {
  const { hub, registry, clock } = deps;
  const ask = deps.line(signal);
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
    const sight = await see(deps, ask, workstreamId);
    if (!sight) {
      yield ended('WORKSTREAM_NOT_FOUND');
      return;
    }
    const start = await startAt(deps, ask, workstreamId, sight, after);
    const at = { epoch: sight.epoch, revision: start.revision, durableThrough: sight.durableThrough };
    const cursor = (): string => encodeCursor({ incarnation: sight.incarnation, ...at });
    const event = (item: FeedItem): FeedEvent => ({ item, cursor: cursor() });
    for (const item of start.items) yield event(item);
    if (start.over) return;

    for await (const entry of backlog(deps, ask, workstreamId, sight, at.revision)) {
      at.revision = entry.revision;
      yield event({ type: 'EntryAdmitted', entry, durable: entry.revision <= sight.durableThrough });
      if (signal.aborted) return;
    }
    // What came while the backlog was read, then the mark, then the overlay.
    while (subscription.hasBuffered()) {
      const item = await subscription.next();
      if (!item || (yield* live(item))) return;
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
      if (yield* live(item)) return;

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
async function see(deps: FeedDeps, ask: Ask, id: string): Promise<Sight | null> {
  const state = deps.registry.peek(id)?.state();
  if (state)
    return {
      incarnation: state.incarnation,
      epoch: state.epoch,
      revision: state.projection.revision,
      durableThrough: state.durable.revision,
      pending: state.pending,
    };
  const row = await ask(() => deps.catalog.get(id));
  return row && { ...row, durableThrough: row.revision, pending: [] };
}

const headOf = (
  deps: FeedDeps,
  id: string,
  known: { readonly epoch: number; readonly revision: number; readonly durableThrough: number },
): { readonly epoch: number; readonly revision: number; readonly durableThrough: number } => {
  const state = deps.registry.peek(id)?.state();
  return state
    ? {
        epoch: state.epoch,
        revision: state.projection.revision,
        durableThrough: state.durable.revision,
      }
    : known;
};

interface Start {
  readonly revision: number;
  readonly items: readonly FeedItem[];
  readonly over: boolean;
}

/** Where this cursor goes on (D-55). */
async function startAt(
  deps: FeedDeps,
  ask: Ask,
  id: string,
  sight: Sight,
  after: string | null,
): Promise<Start> {
  if (after === null) return { revision: sight.revision, items: [], over: false };
  const refuse = (reason: string): Start => ({
    revision: 0,
    items: [{ type: 'SnapshotRequired', reason }],
    over: true,
  });
  const cursor = decodeCursor(after);
  if (!cursor) return refuse('This is not a cursor of this server.');
  if (cursor.incarnation !== sight.incarnation) return refuse('The workstream was made anew.');
  if (cursor.epoch > sight.epoch) return refuse('The cursor is of an ownership that never was.');
  if (cursor.epoch === sight.epoch && cursor.revision > sight.revision)
    return refuse('The cursor is ahead of the journal.');
  const from = (await isGood(deps, ask, id, sight, cursor))
    ? cursor.revision
    : await ask(() => deps.journal.lastRevisionOf(id, cursor.revision, cursor.epoch));
  if (sight.revision - from > maxBehind) return refuse(`More than ${maxBehind} entries behind.`);
  if ((await bytesBehind(deps, ask, id, sight, from)) > maxBytesBehind)
    return refuse('More than 4 MiB behind.');
  return {
    revision: from,
    items: from === cursor.revision ? [] : [{ type: 'EpochStarted', epoch: sight.epoch, from }],
    over: false,
  };
}

/** Measured, not read: who is too far behind costs no more than an answer. */
async function bytesBehind(
  deps: FeedDeps,
  ask: Ask,
  id: string,
  sight: Sight,
  from: number,
): Promise<number> {
  const pending = sight.pending
    .filter((entry) => entry.revision > from)
    .reduce((sum, entry) => sum + entrySize(entry), 0);
  if (from >= sight.durableThrough) return pending;
  const range = { after: from, through: sight.durableThrough, enough: maxBytesBehind };
  return pending + (await ask(() => deps.journal.storedBytes(id, range)));
}

/** Good iff r = 0, or e is the current epoch, or an entry is stored at r whose epoch is ≤ e. */
async function isGood(deps: FeedDeps, ask: Ask, id: string, sight: Sight, cursor: Cursor): Promise<boolean> {
  if (cursor.revision === 0 || cursor.epoch === sight.epoch) return true;
  const stored = await ask(() => deps.journal.epochAt(id, cursor.revision));
  return stored !== null && stored <= cursor.epoch;
}

/** Stored entries after `revision`, then the pending ones, each once. */
async function* backlog(
  deps: FeedDeps,
  ask: Ask,
  id: string,
  sight: Sight,
  revision: number,
): AsyncGenerator<Entry> {
  let last = revision;
  while (last < sight.durableThrough) {
    const range = { after: last, through: sight.durableThrough, limit: pageSize, maxBytes: pageBytes };
    const page = await ask(() => deps.journal.read(id, range));
    if (page.length === 0) break;
    yield* page;
    last = page.at(-1)!.revision;
  }
  yield* sight.pending.filter((entry) => entry.revision > last);
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
