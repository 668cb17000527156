/** Owns: what a workstream that somebody asks for begins with (D-20). */
import type { Viewer } from 'schema/model';
import type { CreateWorkstream, CreateWorkstreamOutcome } from 'schema/services';
import { quote } from '../../core/kit/quote.ts';
import type { Model } from '../../ports/model.ts';
import type { Workspaces } from '../../ports/workspaces.ts';
import type { BringIntoBeing } from './birth.ts';
import { authorOf } from './command.ts';
import { givenTitle, invalid, titleProblem } from './commands.ts';

export interface CreateDeps {
  readonly bringIntoBeing: BringIntoBeing;
  readonly workspaces: Workspaces;
  readonly model: Model;
}

export async function createWorkstream(
  deps: CreateDeps,
  by: Viewer,
  input: CreateWorkstream,
  caller: AbortSignal,
): Promise<CreateWorkstreamOutcome> {
  const title = givenTitle(input.title);
  const model = chooseModel(deps.model, input.model);
  const problem = title === null ? null : titleProblem(title);
  return deps.bringIntoBeing<never>({ by, name: 'create', input, caller }, async (id) => {
    if (problem !== null) return invalid('title', problem);
    if (model.type === 'unknown') return invalid('model', model.problem);
    const workspace = await deps.workspaces.choose(id, input.workspace);
    if (workspace.type === 'refused') return invalid('workspace', workspace.problem);
    return {
      type: 'prepared',
      bodies: [
        { kind: 'LIFECYCLE', lifecycle: 'OPEN', by: authorOf(by) },
        {
          kind: 'CONFIGURATION',
          configuration: {
            title: title ?? 'New workstream',
            titleSource: title === null ? 'DEFAULT' : 'PERSON',
            model: model.alias,
            workspace: workspace.path,
            approvalMode: input.approvalMode ?? 'ASK',
            approvalModeBy: authorOf(by),
          },
        },
      ],
    };
  });
}

function chooseModel(
  model: Model,
  asked: string | null,
):
  | { readonly type: 'chosen'; readonly alias: string }
  | { readonly type: 'unknown'; readonly problem: string } {
  const all = model.list();
  const chosen = all.find((m) => (asked === null ? m.isDefault : m.alias === asked));
  return chosen
    ? { type: 'chosen', alias: chosen.alias }
    : {
        type: 'unknown',
        problem: `There is no model named ${quote(asked ?? '(default)')}. Choose one of: ${all.map((m) => m.alias).join(', ')}.`,
      };
}
