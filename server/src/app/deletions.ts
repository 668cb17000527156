/**
 * Owns: what is said of workstreams that were deleted here, by a person or by a sweep.
 *
 * Invariants: whether a deletion happened whose answer was lost is read, never guessed (D-25); each is announced once
 * (D-26). Should this process end before it knows, nobody is left who listens here; other servers read of it themselves.
 */
import type { Clock } from '../ports/clock.ts';
import type { Journal } from '../ports/journal.ts';
import type { Log } from '../ports/log.ts';
import type { Removed } from '../ports/removal.ts';
import type { Actor } from './actor/actor.ts';
import type { Registry } from './actor/registry.ts';
import { lookAgain } from './look-again.ts';

export interface Deletions {
  /** It is gone: whoever listens is told. `actor`: as which it was loaded here. */
  happened(id: string, actor?: Actor | null): void;
  /** Whether these are gone is not known. It is read until it is; one that is not gone is opened again. */
  leaveOpen(deletions: readonly Open[]): void;
  isOpen(id: string): boolean;
  /** Reads it now, if it is not known. Rejects when the database is away. */
  resolve(id: string): Promise<void>;
}

interface Open extends Removed {
  /** Shut meanwhile. */
  readonly actor: Actor | null;
}

export function createDeletions(deps: {
  readonly registry: Registry;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  readonly isStopping: () => boolean;
}): Deletions {
  const { registry, journal, clock, log } = deps;
  const open = new Map<string, Open>();

  function happened(id: string, actor: Actor | null = open.get(id)?.actor ?? null): void {
    open.delete(id);
    registry.deleted(id, actor);
  }

  async function resolve(id: string): Promise<void> {
    const one = open.get(id);
    if (!one) return;
    const head = await journal.head(id);
    // Of two that looked, one says it; and what was read before a later attempt says nothing of that.
    if (open.get(id) !== one) return;
    if (head?.incarnation !== one.incarnation) return happened(id);
    open.delete(id);
    one.actor?.shut(false);
  }

  return {
    happened,
    leaveOpen(deletions) {
      for (const one of deletions) open.set(one.id, one);
      const isKnown = (): boolean => deletions.every((one) => open.get(one.id) !== one);
      lookAgain(
        clock,
        async () => {
          for (const { id } of deletions) await resolve(id);
        },
        () => isKnown() || deps.isStopping(),
        (error) =>
          log.warn(
            { workstreams: deletions.map(({ id }) => id), error: String(error) },
            'whether these were deleted could not be read',
          ),
      );
    },
    isOpen: (id) => open.has(id),
    resolve,
  };
}
