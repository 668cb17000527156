/**
 * Owns: reading around a place of history, brought to the page once a frame.
 * Does not own: reading (`client-kit`), how it looks (`Around.svelte`).
 */
import type { WeirClient, Windowed, WindowReader } from 'schema/client-kit';
import type { Place } from '../../lib/routes.ts';
import { createFrame } from '../../lib/frame.ts';
import { blockIdOf, blocksOf, type Block } from './blocks.ts';

export class Around {
  windowed = $state.raw<Windowed>({ window: null, loading: 'AROUND', missing: false, failure: null });
  readonly entries = $derived(this.windowed.window?.entries ?? []);
  readonly blocks = $derived(blocksOf(this.entries, Infinity).map(asItWas));
  /** The block of the place itself; null when it is not there. */
  readonly found = $derived.by(() => {
    const entry = this.entries.find(({ revision }) => revision === this.place.revision);
    return entry ? blockIdOf(entry) : null;
  });
  readonly place: Place;
  #reader: WindowReader | null = null;

  constructor(place: Place) {
    this.place = place;
  }

  /** Reads until the returned function is called. */
  start(client: WeirClient, workstreamId: string): () => void {
    const frame = createFrame<Windowed>((windowed) => {
      this.windowed = windowed;
    });
    const reader = client.window(workstreamId, this.place.cursor, frame.bring);
    this.#reader = reader;
    return () => {
      reader.stop();
      frame.cancel();
    };
  }

  loadOlder(): void {
    void this.#reader?.loadOlder();
  }

  loadNewer(): void {
    void this.#reader?.loadNewer();
  }

  reload(): void {
    void this.#reader?.reload();
  }
}

/** What is asked is answered where the workstream is as it is now: it may have been, further down. */
export function asItWas(block: Block): Block {
  if (block.type === 'call' && block.state === 'ASKING') return { ...block, state: 'DECLARED' };
  return block.type === 'budget' && block.state === 'ASKING' ? { ...block, state: 'ASKED' } : block;
}
