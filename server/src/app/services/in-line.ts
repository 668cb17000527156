/**
 * Owns: that what a command asks the database for itself waits for its turn: bringing a workstream into being, loading,
 * opening or deleting one, tokens, and keys that were used before. Else a thousand messages of one token to workstreams
 * at rest take every connection of the pool, and everybody waits for them.
 *
 * Invariants: the line is one of commands, so they wait for no reads and no readers; what is stored with what others say
 * waits for nobody; nobody waits for a turn while having one.
 */
import type { Viewer } from 'schema/model';
import type { Line, Place } from '../../ports/line.ts';

export interface InLineDeps {
  readonly line: Line;
}

/** The turn of one command, which it takes when it needs the database first. */
export interface Turn {
  /** Does it when the turn has come, or in the one it has; rejects with the reason of `caller` when that aborts before. */
  ask<T>(work: () => Promise<T>): Promise<T>;
  /** It is another's; who asks again waits again. To be called before waiting for anything else. */
  over(): void;
}

const stays = new AbortController().signal;

/** `urgent`: does not wait behind what else of its token waits. */
export function turnOf(
  { line }: InLineDeps,
  by: Viewer,
  { caller = stays, urgent = false }: { readonly caller?: AbortSignal; readonly urgent?: boolean } = {},
): Turn {
  let place: Promise<Place> | null = null;
  return {
    async ask(work) {
      await (place ??= line(by.tokenId, caller, urgent));
      return work();
    },
    over() {
      place?.then(
        (one) => one.free(),
        () => undefined,
      );
      place = null;
    },
  };
}

/** Does it in a turn of its own. */
export async function inLine<T>(
  deps: InLineDeps,
  by: Viewer,
  work: () => Promise<T>,
  how: Parameters<typeof turnOf>[2] = {},
): Promise<T> {
  const turn = turnOf(deps, by, how);
  try {
    return await turn.ask(work);
  } finally {
    turn.over();
  }
}
