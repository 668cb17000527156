/**
 * Owns: that what a command asks the database for itself waits in line: bringing a workstream into being, loading,
 * opening or deleting one, tokens, and keys that were used before. Else a thousand messages of one token to workstreams
 * at rest take every connection of the pool, and everybody waits for them.
 *
 * Invariants: the line is one of commands, so they wait for no reads and no readers; what is stored with what others say
 * waits for nobody; nobody waits for a permit while having one.
 */
import type { Viewer } from 'schema/model';
import type { Line, Place } from '../../ports/line.ts';

export interface InLineDeps {
  readonly line: Line;
}

/** What one command needs to ask the database for something: it waits for it when it first does. */
export interface Permit {
  /** Does it once the permit is had; rejects with the reason of `caller` when that aborts before. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** It is another's; who runs something again waits again. To be called before waiting for anything else. */
  release(): void;
}

const stays = new AbortController().signal;

/** `urgent`: does not wait behind what else of its token waits. */
export function permitOf(
  { line }: InLineDeps,
  by: Viewer,
  { caller = stays, urgent = false }: { readonly caller?: AbortSignal; readonly urgent?: boolean } = {},
): Permit {
  let place: Promise<Place> | null = null;
  return {
    async run(work) {
      await (place ??= line(by.tokenId, caller, urgent));
      return work();
    },
    release() {
      place?.then(
        (one) => one.free(),
        () => undefined,
      );
      place = null;
    },
  };
}

/** Does it under a permit of its own. */
export async function inLine<T>(
  deps: InLineDeps,
  by: Viewer,
  work: () => Promise<T>,
  how: Parameters<typeof permitOf>[2] = {},
): Promise<T> {
  const permit = permitOf(deps, by, how);
  try {
    return await permit.run(work);
  } finally {
    permit.release();
  }
}
