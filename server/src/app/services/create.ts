/** Owns: what a workstream that somebody asks for begins with (D-20). */
import type { Viewer } from 'schema/model';
import type { CreateWorkstream, CreateWorkstreamOutcome } from 'schema/services';
import { withChoice } from '../../core/conversation/choice.ts';
import type { Model } from '../../ports/model.ts';
import type { Workspaces } from '../../ports/workspaces.ts';
import { invalid } from '../views/refusals.ts';
import type { BringIntoBeing, Reservation } from './birth.ts';
import { chooseBounds, withoutNone } from './bounds.ts';
import { authorOf } from './command.ts';
import { givenTitle, titleProblem } from './commands.ts';
import { chooseModel } from './model-choice.ts';

export interface CreateDeps {
  readonly bringIntoBeing: BringIntoBeing;
  readonly workspaces: Workspaces;
  readonly model: Model;
}

/** The folder it works in, or why not: the one that was asked for, or (null) one of its own. */
export async function chooseFolder(
  workspaces: Workspaces,
  { id, settleIn }: Reservation,
  asked: string | null,
): ReturnType<Workspaces['choose']> {
  const chosen = await workspaces.choose(id, asked);
  if (asked === null || chosen.type === 'refused') return chosen;
  await settleIn(chosen.path);
  // Until then it may have been taken back from another workstream.
  return workspaces.choose(id, asked);
}

export async function createWorkstream(
  deps: CreateDeps,
  by: Viewer,
  input: CreateWorkstream,
  caller: AbortSignal,
): Promise<CreateWorkstreamOutcome> {
  const title = givenTitle(input.title);
  const { temperature, effort } = input;
  const model = chooseModel(deps.model, { alias: input.model, temperature, effort });
  const problem = title === null ? null : titleProblem(title);
  const bounds = chooseBounds(input);
  return deps.bringIntoBeing<never>({ by, name: 'create', input, caller }, async (reservation) => {
    if (problem !== null) return invalid('title', problem);
    if (model.type !== 'chosen') return model;
    if (bounds.type !== 'chosen') return bounds;
    const workspace = await chooseFolder(deps.workspaces, reservation, input.workspace);
    if (workspace.type === 'refused') return invalid('workspace', workspace.problem);
    return {
      type: 'prepared',
      bodies: [
        { kind: 'LIFECYCLE', lifecycle: 'OPEN', by: authorOf(by) },
        {
          kind: 'CONFIGURATION',
          configuration: withChoice(
            {
              title: title ?? 'New workstream',
              titleSource: title === null ? 'DEFAULT' : 'PERSON',
              model: '',
              workspace: workspace.path,
              approvalMode: input.approvalMode ?? 'ASK',
              approvalModeBy: authorOf(by),
              ...withoutNone(bounds.bounds),
            },
            model.choice,
          ),
        },
      ],
    };
  });
}
