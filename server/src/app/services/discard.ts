/**
 * Owns: giving up what the database refused to store (D-51): the workstream is loaded again from what is durable, with
 * a new epoch. Who follows sees the rest vanish by `EpochStarted`; the journal says how much it was and who did it.
 */
import type { Viewer } from 'schema/model';
import type { DiscardUnsaved, DiscardUnsavedOutcome } from 'schema/services';
import type { Actor } from '../actor/actor.ts';
import {
  commandActor,
  doneBefore,
  outcomeView,
  withActor,
  type CommandDeps,
  type CommandOutcome,
} from './command.ts';
import { createOneAtATime } from './one-at-a-time.ts';

/** One at a time per workstream: a copy that comes meanwhile finds what the first recorded, and answers that (D-60). */
export function createDiscard(
  deps: CommandDeps,
): (by: Viewer, input: DiscardUnsaved) => Promise<DiscardUnsavedOutcome> {
  const oneAtATime = createOneAtATime();
  return (by, input) =>
    oneAtATime(input.workstreamId, async () =>
      outcomeView(
        await withActor(deps.registry, input.workstreamId, (actor) => discardOf(deps, actor, by, input)),
      ),
    );
}

async function discardOf(
  deps: CommandDeps,
  actor: Actor,
  by: Viewer,
  input: DiscardUnsaved,
): Promise<CommandOutcome> {
  const { registry } = deps;
  const { workstreamId } = input;
  const done = await doneBefore(deps, actor, by, input, 'noteDiscarded');
  if (done) return done;
  // Of two that discard at once, one does; the other finds a workstream that is well.
  if (actor.persistence().status !== 'CONFLICT' || registry.peek(workstreamId) !== actor)
    return { type: 'refused', refusal: { type: 'Rejected', code: 'NOTHING_TO_DISCARD' } };
  const entries = actor.state().pending.length;
  const again = await registry.discard(workstreamId);
  if (again.type === 'Rejected') return { type: 'refused', refusal: again };
  return commandActor(deps, again.actor, by, input, { type: 'noteDiscarded', entries });
}
