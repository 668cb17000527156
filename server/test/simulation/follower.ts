/**
 * Owns: a client at the feed: it folds what it gets, holds its place, and checks every item against what it may rely
 * on. It is served by one process and ends with it; its place does not.
 */
import { isDeepStrictEqual } from 'node:util';
import { applyItem, decodeCursor, viewOf, type Entry, type FeedItem, type View } from 'schema/projection';
import { StorageUnavailableError } from '../../src/ports/storage-unavailable.ts';
import type { JournalLaws } from './journal-laws.ts';
import type { Violate } from './laws.ts';
import type { Node } from './node.ts';
import type { Scheduler } from './scheduler.ts';

/** What is known, the entries since the snapshot, and the cursor that says so. */
export interface Place {
  readonly incarnation: string;
  readonly view: View;
  readonly transcript: readonly Entry[];
  readonly cursor: string;
}

export interface Follower {
  readonly name: string;
  readonly node: Node;
  readonly place: Place;
  readonly status: 'following' | 'cut' | 'ended' | 'snapshot';
  readonly synchronized: boolean;
  readonly paused: boolean;
  pause(): void;
  resume(): void;
  cut(): void;
  /** Compares with what the server that serves it knows, if it keeps up. */
  compare(): void;
}

export interface FollowerDeps {
  readonly scheduler: Scheduler;
  readonly laws: JournalLaws;
  readonly violate: Violate;
  readonly workstreamId: string;
}

/** What the server says of the workstream, as a place to follow from; null when it cannot say. */
export async function look(deps: FollowerDeps, node: Node): Promise<Place | null> {
  try {
    const model = await node.up?.services.workstreams.get(deps.workstreamId);
    if (!model || !node.process.alive) return null;
    const view = viewOf(model.durable, model.pending, model.epoch, model.overlay);
    return {
      incarnation: decodeCursor(model.cursor)!.incarnation,
      view,
      transcript: [],
      cursor: model.cursor,
    };
  } catch (error) {
    if (error instanceof StorageUnavailableError) return null;
    throw error;
  }
}

export function follow(deps: FollowerDeps, node: Node, name: string, from: Place): Follower {
  const { violate, laws, workstreamId } = deps;
  const controller = new AbortController();
  const { signal } = controller;
  const up = node.up!;
  let place = from;
  let status: Follower['status'] = 'following';
  let synchronizations = 0;
  let gate: Promise<void> | null = null;
  let open = (): void => undefined;
  let compared: unknown = null;

  const wrong = (law: Parameters<Violate>[0], detail: string): void => violate(law, `${name}: ${detail}`);

  function take(item: FeedItem, cursor: string): void {
    if (status !== 'following') return wrong('I10', `${item.type} after the end`);
    const before = place;
    const [view, change] = applyItem(before.view, item);
    let { transcript } = before;
    switch (item.type) {
      case 'EntryAdmitted':
        if (change.type !== 'entry')
          wrong('I7', `entry ${item.entry.revision} after ${before.view.projection.revision}`);
        transcript = [...transcript, item.entry];
        break;
      case 'EpochStarted':
        if (item.epoch <= before.view.epoch) wrong('I7', `epoch ${item.epoch} after ${before.view.epoch}`);
        if (item.from > before.view.projection.revision)
          wrong('I7', `epoch ${item.epoch} from ${item.from}, after ${before.view.projection.revision}`);
        transcript = transcript.filter((entry) => entry.revision <= item.from);
        break;
      case 'Synchronized':
        synchronizations += 1;
        if (synchronizations > 1) wrong('I10', 'Synchronized twice');
        if (item.revision !== view.projection.revision)
          wrong('I10', `Synchronized at ${item.revision}, at ${view.projection.revision}`);
        break;
      case 'StreamChunk':
      case 'ToolOutputChunk':
        if (synchronizations === 0) wrong('I13', 'overlay before Synchronized');
        if (view.projection.revision !== before.view.projection.revision)
          wrong('I13', 'a chunk moved the revision');
        if (item.type === 'StreamChunk' && change.type === 'nothing')
          wrong('I13', `a chunk at ${item.offset}`);
        break;
      case 'SnapshotRequired':
        status = 'snapshot';
        break;
      case 'Ended':
        status = 'ended';
        break;
      default:
        break;
    }
    if (change.type === 'resubscribe') wrong('I7', `${item.type} shows a gap`);
    if (status === 'snapshot' || (status === 'ended' && cursor === '')) return;
    if (decodeCursor(cursor)?.revision !== view.projection.revision)
      wrong('I9', `after ${item.type} the cursor is ${cursor}, the view at ${view.projection.revision}`);
    place = { ...before, view, transcript, cursor };
    durable(before);
  }

  /** What is new below the durable mark is stored as it was shown. */
  function durable(before: Place): void {
    const book = laws.book(workstreamId);
    if (!book || book.incarnation !== place.incarnation) return;
    const through = place.view.base.revision;
    if (through > book.entries.length)
      return wrong('I11', `durable through ${through}, stored through ${book.entries.length}`);
    if (through === before.view.base.revision) return;
    for (const entry of place.transcript)
      if (entry.revision > before.view.base.revision && entry.revision <= through)
        if (!isDeepStrictEqual(entry, book.entries[entry.revision - 1]))
          wrong('I11', `${entry.kind} at ${entry.revision} is durable, and not what is stored`);
  }

  async function run(): Promise<void> {
    const events = up.services.feed.follow(workstreamId, from.cursor, signal);
    for await (const { item, cursor } of events) {
      if (!node.process.alive || status === 'cut') continue;
      take(item, cursor);
      while (gate) await gate;
    }
    if (status === 'following') status = 'cut';
  }

  run().catch((error: unknown) => {
    if (error instanceof StorageUnavailableError) status = 'cut';
    else wrong('D-71', `the feed broke: ${String(error)}`);
  });

  return {
    name,
    node,
    get place() {
      return place;
    },
    get status() {
      if (status === 'following' && !node.process.alive) status = 'cut';
      return status;
    },
    get synchronized() {
      return synchronizations > 0;
    },
    get paused() {
      return gate !== null;
    },
    pause() {
      gate ??= new Promise((resolve) => (open = resolve));
    },
    resume() {
      gate = null;
      open();
    },
    cut() {
      if (status === 'following') status = 'cut';
      gate = null;
      open();
      controller.abort();
    },
    compare() {
      const state = node.up?.registry.peek(workstreamId)?.state();
      if (!state || gate || status !== 'following' || synchronizations === 0) return;
      const { view } = place;
      if (place.incarnation !== state.incarnation || compared === state) return;
      // Somebody else owns it already, and only the follower knows.
      if (view.epoch > state.epoch) return;
      compared = state;
      if (view.epoch < state.epoch) wrong('I9', `knows epoch ${view.epoch}, it is ${state.epoch}`);
      else if (!isDeepStrictEqual(view.projection, state.projection))
        wrong('I9', `knows revision ${view.projection.revision}, it is ${state.projection.revision}`);
      else if (!isDeepStrictEqual(view.overlay, state.overlay)) wrong('I9', 'shows another overlay');
      // Another process may have told it of commits whose answer this one still waits for.
      else if (view.base.revision < state.durable.revision)
        wrong('I9', `holds ${view.base.revision} for durable, it is ${state.durable.revision}`);
    },
  };
}
