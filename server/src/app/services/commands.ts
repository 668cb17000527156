/**
 * Owns: sending, resuming, stopping and deciding as the GraphQL surface asks for them: bounds of the input, then the
 * command, then its answer.
 */
import type { Viewer } from 'schema/model';
import { isBlank } from 'schema/projection';
import type {
  DecideApproval,
  DecideApprovalOutcome,
  ResumeQueue,
  ResumeQueueOutcome,
  SendMessage,
  SendMessageOutcome,
  StopTurn,
  StopTurnOutcome,
} from 'schema/services';
import type { Command } from '../../core/inputs.ts';
import type { Catalog } from '../../ports/catalog.ts';
import { refusalView } from '../views/refusals.ts';
import { runCommand, type CommandDeps, type CommandOutcome } from './command.ts';

/** Longest message, bytes of UTF-8. */
const maxTextBytes = 1_000_000;
/** Longest feedback, UTF-16 code units. */
const maxFeedback = 10_000;

export function sendMessage(deps: CommandDeps, by: Viewer, input: SendMessage): Promise<SendMessageOutcome> {
  const problem = textProblem(input.text);
  if (problem) return Promise.resolve(invalid('text', problem));
  return answer(deps, by, input, { type: 'send', text: input.text });
}

export const resumeQueue = (deps: CommandDeps, by: Viewer, input: ResumeQueue): Promise<ResumeQueueOutcome> =>
  answer(deps, by, input, { type: 'resumeQueue' });

export const stopTurn = (deps: CommandDeps, by: Viewer, input: StopTurn): Promise<StopTurnOutcome> =>
  answer(deps, by, input, { type: 'stop', turnId: input.turnId });

export async function decideApproval(
  deps: CommandDeps & { readonly catalog: Catalog },
  by: Viewer,
  input: DecideApproval,
): Promise<DecideApprovalOutcome> {
  const { workstreamId, cycleId, callId, argumentsHash, verdict, feedback } = input;
  if (feedback !== null && feedback.length > maxFeedback)
    return invalid('feedback', `Feedback may have at most ${maxFeedback} characters.`);
  const outcome = await answer<DecideApprovalOutcome>(deps, by, input, {
    type: 'decide',
    cycleId,
    callId,
    argumentsHash,
    verdict,
    feedback,
  });
  if (outcome.type !== 'Rejected' || outcome.code !== 'APPROVAL_GONE') return outcome;
  // The batch is closed, but who decided what is kept: say that rather than "gone" (D-64).
  const decision = await deps.catalog.decisionOf(workstreamId, cycleId, callId).catch(() => null);
  return decision ? refusalView({ type: 'Rejected', code: 'ALREADY_DECIDED', decision }) : outcome;
}

async function answer<Outcome>(
  deps: CommandDeps,
  by: Viewer,
  input: { readonly key: string; readonly workstreamId: string },
  command: Command,
): Promise<Outcome> {
  return view(await runCommand(deps, by, input, command)) as Outcome;
}

const view = (outcome: CommandOutcome): unknown =>
  outcome.type === 'accepted'
    ? { ...outcome.acceptance, durability: outcome.durability }
    : refusalView(outcome.refusal);

const invalid = (field: string, problem: string) =>
  refusalView<'INVALID_INPUT'>({ type: 'Rejected', code: 'INVALID_INPUT', field, problem } as const);

function textProblem(text: string): string | null {
  if (isBlank(text))
    return 'Write something first: a message with nothing in it that can be seen is not sent.';
  const bytes = Buffer.byteLength(text);
  return bytes > maxTextBytes
    ? `The message has ${bytes} bytes; at most ${maxTextBytes} can be sent. Put the rest in a file of the workspace.`
    : null;
}
