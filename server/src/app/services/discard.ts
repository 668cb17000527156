/**
 * Owns: giving up what the database refused to store (D-51): the workstream is loaded again from what is durable, with
 * a new epoch. Who follows sees the rest vanish by `EpochStarted`; the journal says how much it was and who did it.
 *
 * Invariants: a refusal has discarded nothing, or the next discard tells what this one did; what was discarded is told
 * in the journal once.
 */
import type { Viewer } from 'schema/model';
import type { DiscardUnsaved, DiscardUnsavedOutcome } from 'schema/services';
import type { Actor } from '../actor/actor.ts';
import {
  commandUnderNewKey,
  doneBefore,
  withPermit,
  outcomeView,
  withActor,
  type CommandDeps,
  type CommandOutcome,
} from './command.ts';
import type { Permit } from './in-line.ts';
import { createOneAtATime } from './one-at-a-time.ts';

/** One at a time per workstream: a copy that comes meanwhile finds what the first recorded, and answers that (D-60). */
export function createDiscard(
  deps: CommandDeps,
): (by: Viewer, input: DiscardUnsaved) => Promise<DiscardUnsavedOutcome> {
  const oneAtATime = createOneAtATime();
  const untold: Untold = new Map();
  return (by, input) =>
    oneAtATime(input.workstreamId, async () =>
      outcomeView(
        await withActor(deps, by, input.workstreamId, (actor, permit) =>
          discardOf(deps, untold, actor, permit, by, input),
        ),
      ),
    );
}

/**
 * How many entries of a workstream were discarded that its journal does not tell of for sure: nobody does, or `teller`
 * does, who has not stored it yet.
 */
type Untold = Map<string, { readonly entries: number; readonly teller: Actor | null }>;

/** True when what it accepted is or will be stored. */
const keepsWord = (actor: Actor): boolean =>
  actor.ended() === null ? actor.persistence().status !== 'CONFLICT' : actor.ended() === 'unloaded';

async function discardOf(
  deps: CommandDeps,
  untold: Untold,
  actor: Actor,
  permit: Permit,
  by: Viewer,
  input: DiscardUnsaved,
): Promise<CommandOutcome> {
  const { registry } = deps;
  const { workstreamId } = input;
  const done = await doneBefore(deps, actor, permit, by, input, 'noteDiscarded');
  if (done) return done;
  const before = untold.get(workstreamId);
  if (before?.teller && keepsWord(before.teller)) untold.delete(workstreamId);
  let teller = actor;
  if (actor.persistence().status === 'CONFLICT') {
    const again = await withPermit(registry, permit, workstreamId, () =>
      registry.discard(workstreamId, actor),
    );
    if (actor.ended() === 'discarded') {
      const entries = (untold.get(workstreamId)?.entries ?? 0) + actor.state().pending.length;
      untold.set(workstreamId, { entries, teller: null });
    }
    if (again.type === 'Rejected') return { type: 'refused', refusal: again };
    teller = again.actor;
  }
  const entries = untold.get(workstreamId)?.entries;
  // Of two that discard at once, one does; the other finds a workstream that is well.
  if (entries === undefined)
    return { type: 'refused', refusal: { type: 'Rejected', code: 'NOTHING_TO_DISCARD' } };
  permit.release();
  const told = await commandUnderNewKey(deps, teller, by, input, { type: 'noteDiscarded', entries });
  if (told.type === 'accepted')
    if (told.durability === 'DURABLE') untold.delete(workstreamId);
    else untold.set(workstreamId, { entries, teller });
  return told;
}
