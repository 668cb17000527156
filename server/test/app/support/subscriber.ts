/**
 * Owns: a client at the feed, as the contract wants one: it folds what it gets, holds its place, resumes from it, and
 * checks every single item against what it may rely on.
 */
import { applyItem, decodeCursor, type Entry, type View } from 'schema/projection';
import { expect } from 'vitest';
import { follow } from '../../../src/app/feed/follow.ts';
import { freely } from '../../../src/app/feed/reading.ts';
import { StorageUnavailableError } from '../../../src/ports/storage-unavailable.ts';
import { snapshot, type World } from './world.ts';

/** A place to follow from: what is known, the entries since the snapshot, and the cursor that says so. */
export interface Place {
  readonly view: View;
  readonly transcript: readonly Entry[];
  readonly cursor: string;
}

export interface Subscriber {
  readonly place: Place;
  /** Every place it was at. */
  readonly places: readonly Place[];
  readonly synchronizations: number;
  /** Rejects when an item broke what a client may rely on; resolves when the feed is over. */
  readonly failed: Promise<void>;
  readonly status: 'following' | 'cut' | 'ended' | 'snapshot';
  cut(): void;
  pause(): void;
  resume(): void;
}

export async function placeOf(world: World, id: string): Promise<Place> {
  const { view, cursor } = await snapshot(world, id);
  return { view, cursor, transcript: [] };
}

export function subscribe(world: World, id: string, from: Place): Subscriber {
  const { registry, hub, clock } = world;
  const { catalog, journal } = world.storage;
  const controller = new AbortController();
  const places: Place[] = [from];
  let place = from;
  let synchronizations = 0;
  let status: Subscriber['status'] = 'following';
  let gate: Promise<void> | null = null;
  let open = (): void => undefined;

  async function run(): Promise<void> {
    const feed = follow(
      { registry, hub, clock, catalog, journal, reading: freely },
      id,
      from.cursor,
      controller.signal,
    );
    for await (const { item, cursor } of feed) {
      if (status === 'cut') continue;
      expect(status, `nothing comes after the end, but ${item.type} did`).toBe('following');
      const [view, change] = applyItem(place.view, item);
      let { transcript } = place;
      switch (item.type) {
        case 'EntryAdmitted':
          expect(change.type, `entry ${item.entry.revision} is the next one`).toBe('entry');
          transcript = [...transcript, item.entry];
          break;
        case 'EpochStarted':
          expect(item.epoch).toBeGreaterThan(place.view.epoch);
          expect(item.from).toBeLessThanOrEqual(place.view.projection.revision);
          transcript = transcript.filter((entry) => entry.revision <= item.from);
          break;
        case 'Synchronized':
          synchronizations += 1;
          expect(item.revision).toBe(view.projection.revision);
          break;
        case 'StreamChunk':
        case 'ToolOutputChunk':
          expect(synchronizations, 'overlay comes after Synchronized').toBe(1);
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
      expect(change.type).not.toBe('resubscribe');
      expect(synchronizations).toBeLessThanOrEqual(1);
      if (status !== 'snapshot') {
        expect(decodeCursor(cursor)).toMatchObject({ revision: view.projection.revision });
        place = { view, transcript, cursor };
        places.push(place);
      }
      if (gate) await gate;
    }
    if (status === 'following') status = 'cut';
  }

  return {
    // A database that is away is told as an error of the operation; a client comes again.
    failed: run().catch((error: unknown) => {
      if (!(error instanceof StorageUnavailableError)) throw error;
      status = 'cut';
    }),
    get place() {
      return place;
    },
    places,
    get synchronizations() {
      return synchronizations;
    },
    get status() {
      return status;
    },
    cut() {
      if (status === 'following') status = 'cut';
      controller.abort();
      open();
    },
    pause() {
      gate ??= new Promise((resolve) => (open = resolve));
    },
    resume() {
      gate = null;
      open();
    },
  };
}
