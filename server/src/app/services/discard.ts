/**
 * Owns: giving up what the database refused to store (D-51): the workstream is loaded again from what is durable, with
 * a new epoch. Who follows sees the rest vanish by `EpochStarted`; the journal says how much it was and who did it.
 */
import type { Viewer } from 'schema/model';
import type { DiscardUnsaved, DiscardUnsavedOutcome } from 'schema/services';
import { refusalView } from '../views/refusals.ts';
import { commandActor, doneBefore, type CommandDeps, type CommandOutcome } from './command.ts';

export async function discardUnsaved(
  deps: CommandDeps,
  by: Viewer,
  input: DiscardUnsaved,
): Promise<DiscardUnsavedOutcome> {
  const { registry } = deps;
  const { workstreamId } = input;
  const loading = await registry.load(workstreamId);
  if (loading.type === 'Rejected') return refusalView(loading);
  const { actor } = loading;
  const done = await doneBefore(deps, actor, by, input, 'noteDiscarded');
  if (done) return view(done);
  // Of two that discard at once, one does; the other finds a workstream that is well.
  if (actor.persistence().status !== 'CONFLICT' || registry.peek(workstreamId) !== actor)
    return refusalView({ type: 'Rejected', code: 'NOTHING_TO_DISCARD' });
  const entries = actor.state().pending.length;
  const again = await registry.discard(workstreamId);
  if (again.type === 'Rejected') return refusalView(again);
  return view(await commandActor(deps, again.actor, by, input, { type: 'noteDiscarded', entries }));
}

const view = (outcome: CommandOutcome): DiscardUnsavedOutcome =>
  (outcome.type === 'accepted'
    ? { ...outcome.acceptance, durability: outcome.durability }
    : refusalView(outcome.refusal)) as DiscardUnsavedOutcome;
