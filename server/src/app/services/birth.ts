/**
 * Owns: bringing a workstream into being (D-20): reserve → prepare → publish → announce. Does not own: what it begins
 * with (`create.ts`, `fork.ts`).
 *
 * Invariants: whatever goes wrong before publish, a caller that is gone included, takes exactly this reservation back,
 * and nobody has seen it; whether it was published is read, never guessed (D-9), and what was is announced, before
 * anything else of it (D-26); the folder it is to work in is nobody's to take back from the moment it is chosen, and is
 * taken back only from what is not there any more.
 */
import type { Viewer } from 'schema/model';
import type { InvalidInput, KeyReused, ShuttingDown, StorageUnavailable } from 'schema/outcome';
import { applyEntries, emptyProjection, stateOf, type Entry, type EntryBody } from 'schema/projection';
import type { CommandKey } from '../../core/inputs.ts';
import { storable } from '../../core/kit/storable.ts';
import { tokensOf } from '../../core/context/tokens.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Batch, Journal } from '../../ports/journal.ts';
import type { Log } from '../../ports/log.ts';
import type { Reservations } from '../../ports/reservations.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { StorageUnavailableError, whenAway } from '../../ports/storage-unavailable.ts';
import type { FirstWordHub } from '../feed/first-word.ts';
import { giveUpFolder, type FoldersDeps } from '../folders.ts';
import { lookAgain } from '../look-again.ts';
import { refusalView, storageUnavailable } from '../views/refusals.ts';
import { summaryOf } from '../views/workstream.ts';
import { keyOf } from './command.ts';
import { inLine, type InLineDeps } from './in-line.ts';

export interface BirthDeps extends FoldersDeps, InLineDeps {
  readonly reservations: Reservations;
  readonly journal: Journal;
  readonly hub: FirstWordHub;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly secrets: Secrets;
  readonly log: Log;
  readonly sessionId: string;
  /** Ids of the reservations that this process is about to publish or to roll back: not for the reaper. */
  readonly reserving: Set<string>;
  /** True once the server is stopping. */
  readonly isStopping: () => boolean;
}

/** The first entries of a workstream; one that is a copy keeps the time and the weight it has. */
export type Prepared = {
  readonly type: 'prepared';
  readonly bodies: readonly (EntryBody & { readonly at?: string; readonly tokens?: number })[];
};

export type Born =
  | { readonly type: 'Accepted'; readonly durability: 'DURABLE'; readonly workstreamId: string }
  | InvalidInput
  | KeyReused
  | ShuttingDown
  | StorageUnavailable;

/** Who wants it, by which command. */
export interface Wanted {
  readonly by: Viewer;
  readonly name: 'create' | 'fork';
  readonly input: { readonly key: string };
  /** Aborts when the caller is gone: what is not published by then never is, and the command rejects. */
  readonly caller: AbortSignal;
}

/** What who prepares a workstream has of it. */
export interface Reservation {
  readonly id: string;
  /**
   * It is to work in this folder, and not in one of its own. Nobody takes that back from now on; somebody may have done so
   * before: look, once this resolves.
   */
  settleIn(folder: string): Promise<void>;
}

/**
 * A new workstream under a key of the principal, with what `prepare` gives it; or why not. `prepare` is asked only when the
 * key is new.
 */
export type BringIntoBeing = <Refusal extends { readonly type: 'Rejected' }>(
  wanted: Wanted,
  prepare: (reservation: Reservation) => Promise<Prepared | InvalidInput | Refusal>,
) => Promise<Born | Refusal>;

interface Reserved {
  readonly id: string;
  readonly incarnation: string;
  readonly key: CommandKey;
}

export function createBirths(deps: BirthDeps): BringIntoBeing {
  /** Reservations of which nobody knows yet whether they were published. */
  const unresolved = new Set<Reserved>();

  /** The recorded answer, when this key was used before. */
  async function repeated(key: CommandKey): Promise<Born | null> {
    // It may have been published by a command whose answer was lost; then it is announced first.
    for (const open of unresolved) if (isSame(open.key, key)) await resolve(open);
    const receipt = await deps.journal.findReceipt(key.scope, key.key);
    if (!receipt) return null;
    if (receipt.inputHash !== key.inputHash)
      return refusalView<'KEY_REUSED'>({ type: 'Rejected', code: 'KEY_REUSED' });
    return accepted(String(receipt.outcome['workstreamId']));
  }

  async function publish({ id, key }: Reserved, batch: Batch, caller: AbortSignal): Promise<Born> {
    const createdAt = new Date(deps.clock.now()).toISOString();
    // From the moment it is published others can act on it, and be quicker than the answer.
    deps.hub.expect(summaryOf({ id, projection: batch.projection, createdAt, persistence: 'HEALTHY' }));
    const outcome = await deps.reservations.publish(batch, caller);
    if (outcome.type === 'published') return accepted(id);
    return (outcome.type === 'duplicate' ? await repeated(key) : null) ?? storageUnavailable;
  }

  /**
   * Takes it back, or finds that it was published. In this order: after the rollback nothing publishes it any more, but
   * a reservation that was called lost may arrive late; the reaper takes that. Rejects when the database is away.
   */
  async function settle({ id, incarnation }: Reserved): Promise<'PUBLISHED' | 'GONE'> {
    await deps.reservations.rollback(id, incarnation);
    const head = await deps.journal.head(id);
    return head?.incarnation === incarnation && head.lifecycle !== 'CREATING' ? 'PUBLISHED' : 'GONE';
  }

  /** Says and does what follows; of two that looked, the second finds nothing left to do. */
  async function settled({ id }: Reserved, how: 'PUBLISHED' | 'GONE'): Promise<void> {
    if (how === 'PUBLISHED') deps.hub.arrived(id);
    else {
      deps.hub.dismiss(id);
      await giveUpFolder(deps, { id, folder: await deps.workspaces.own(id) });
    }
    deps.reserving.delete(id);
  }

  /** Settles one that was left open. Rejects when the database is away. */
  async function resolve(open: Reserved): Promise<void> {
    const how = await settle(open);
    unresolved.delete(open);
    await settled(open, how);
  }

  function leaveOpen(open: Reserved, error: unknown): void {
    unresolved.add(open);
    const warn = (reason: unknown): void =>
      deps.log.warn({ workstream: open.id, error: String(reason) }, 'a reservation was left behind');
    warn(error);
    // Should this process end before that is known, the reaper takes what was not published.
    lookAgain(
      deps.clock,
      () => resolve(open),
      () => !unresolved.has(open) || deps.isStopping(),
      warn,
    );
  }

  async function make<Refusal extends { readonly type: 'Rejected' }>(
    key: CommandKey,
    prepare: (reservation: Reservation) => Promise<Prepared | InvalidInput | Refusal>,
    caller: AbortSignal,
  ): Promise<Born | Refusal> {
    const reserved = { id: deps.ids.random128(), incarnation: deps.ids.random128(), key };
    const { id, incarnation } = reserved;
    let publishing = false;
    const attempt = async (): Promise<Born | Refusal> => {
      const folder = await deps.workspaces.own(id);
      await deps.reservations.reserve({ id, incarnation, sessionId: deps.sessionId, folder });
      // Preparing may be long. (Publishing looks for itself.)
      caller.throwIfAborted();
      const prepared = await prepare({
        id,
        settleIn: (chosen) => deps.reservations.settleIn(id, incarnation, chosen),
      });
      if (prepared.type === 'Rejected') return prepared;
      publishing = true;
      return publish(reserved, firstBatch(deps, reserved, prepared.bodies), caller);
    };
    deps.reserving.add(id);
    const attempting = attempt();
    const answer = await attempting.catch(() => null);
    if (answer?.type === 'Accepted' && answer.workstreamId === id) {
      await settled(reserved, 'PUBLISHED');
      return answer;
    }
    try {
      const how = await settle(reserved);
      await settled(reserved, how);
      return how === 'PUBLISHED' ? accepted(id) : await attempting;
    } catch (error) {
      if (!(error instanceof StorageUnavailableError) || !deps.reserving.has(id)) throw error;
      leaveOpen(reserved, error);
      return answer ?? (publishing ? perhaps : attempting);
    }
  }

  return ({ by, name, input, caller }, prepare) =>
    inLine(
      deps,
      by,
      async () => {
        if (deps.isStopping())
          return refusalView<'SHUTTING_DOWN'>({ type: 'Rejected', code: 'SHUTTING_DOWN' });
        const key = keyOf(deps.secrets, by.id, name, input);
        const open = [...unresolved].some((one) => isSame(one.key, key));
        const before = await repeated(key).catch(whenAway(open ? perhaps : storageUnavailable));
        return before ?? make(key, prepare, caller).catch(whenAway(storageUnavailable));
      },
      { caller },
    );
}

const accepted = (workstreamId: string): Extract<Born, { type: 'Accepted' }> => ({
  type: 'Accepted',
  durability: 'DURABLE',
  workstreamId,
});

const isSame = (a: CommandKey, b: CommandKey): boolean => a.scope === b.scope && a.key === b.key;

/** It may have been made. */
const perhaps = refusalView<'STORAGE_UNAVAILABLE'>({
  type: 'Rejected',
  code: 'STORAGE_UNAVAILABLE',
  creation: 'UNKNOWN',
});

function firstBatch(
  deps: Pick<BirthDeps, 'clock' | 'ids'>,
  { id, incarnation, key }: Reserved,
  bodies: Prepared['bodies'],
): Batch {
  const now = new Date(deps.clock.now()).toISOString();
  const seed = deps.ids.random128();
  const entries = bodies.map(({ at, tokens: weight, ...body }, i): Entry => {
    const tokens = weight ?? tokensOf(body);
    return {
      ...storable(body),
      id: `${seed}-${i.toString(36)}`,
      revision: i + 1,
      epoch: 0,
      generation: 0,
      lane: null,
      turnId: null,
      at: at ?? now,
      ...(tokens > 0 && { tokens }),
    };
  });
  const projection = applyEntries(emptyProjection, entries);
  return {
    workstreamId: id,
    incarnation,
    epoch: 0,
    expectedHead: 0,
    entries,
    projection,
    state: stateOf(projection),
    receipts: [{ ...key, outcome: { workstreamId: id } }],
    calls: [],
  };
}
