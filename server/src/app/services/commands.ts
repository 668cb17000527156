/**
 * Owns: commands on a workstream as the GraphQL surface asks for them: bounds of the input, then the command, then its
 * answer. What a command does, and when it is refused, is the core's.
 */
import type { Viewer } from 'schema/model';
import type { InvalidInput } from 'schema/outcome';
import { isBlank } from 'schema/projection';
import type {
  CompactWorkstream,
  CompactWorkstreamOutcome,
  ConfigureWorkstream,
  ConfigureWorkstreamOutcome,
  DecideApproval,
  DecideApprovalOutcome,
  EditQueuedMessage,
  EditQueuedMessageOutcome,
  ResendMessage,
  ResendMessageOutcome,
  ResumeQueue,
  ResumeQueueOutcome,
  RetryTurn,
  RetryTurnOutcome,
  RewindWorkstream,
  RewindWorkstreamOutcome,
  SendMessage,
  SendMessageOutcome,
  StopTurn,
  StopTurnOutcome,
  WithdrawQueuedMessage,
  WithdrawQueuedMessageOutcome,
} from 'schema/services';
import type { Command } from '../../core/inputs.ts';
import { maxTitle } from '../../core/workstream/title.ts';
import type { Catalog } from '../../ports/catalog.ts';
import type { Model } from '../../ports/model.ts';
import { invalid, refusalView } from '../views/refusals.ts';
import { chooseBounds } from './bounds.ts';
import { outcomeView, runCommand, type CommandDeps } from './command.ts';
import { inLine } from './in-line.ts';
import { chooseModel } from './model-choice.ts';

/** Longest message, bytes of UTF-8. */
const maxTextBytes = 1_000_000;
/** Longest feedback, UTF-16 code units. */
const maxFeedback = 10_000;

export async function sendMessage(
  deps: CommandDeps,
  by: Viewer,
  input: SendMessage,
): Promise<SendMessageOutcome> {
  const { text, delivery, turnId } = input;
  if (delivery === 'STEER' && turnId === null)
    return invalid('turnId', 'Say which turn to steer: the one you see running.');
  if (delivery !== 'STEER' && turnId !== null)
    return invalid(
      'turnId',
      'Only a message that steers is meant for a turn. Leave turnId out, or send it as STEER.',
    );
  return withText(text, () => answer(deps, by, input, { type: 'send', text, delivery, turnId }));
}

export const editQueuedMessage = (
  deps: CommandDeps,
  by: Viewer,
  input: EditQueuedMessage,
): Promise<EditQueuedMessageOutcome> => {
  const { messageId, text } = input;
  return withText(text, () => answer(deps, by, input, { type: 'editQueued', messageId, text }));
};

export const withdrawQueuedMessage = (
  deps: CommandDeps,
  by: Viewer,
  input: WithdrawQueuedMessage,
): Promise<WithdrawQueuedMessageOutcome> =>
  answer(deps, by, input, { type: 'withdrawQueued', messageId: input.messageId });

export const rewindWorkstream = (
  deps: CommandDeps,
  by: Viewer,
  input: RewindWorkstream,
): Promise<RewindWorkstreamOutcome> => {
  const { messageId, turnId } = input;
  return answer(deps, by, input, { type: 'rewind', messageId, turnId });
};

export const resendMessage = (
  deps: CommandDeps,
  by: Viewer,
  input: ResendMessage,
): Promise<ResendMessageOutcome> => {
  const { messageId, turnId, text } = input;
  return withText(text, () => answer(deps, by, input, { type: 'resend', messageId, turnId, text }));
};

export const retryTurn = (deps: CommandDeps, by: Viewer, input: RetryTurn): Promise<RetryTurnOutcome> =>
  answer(deps, by, input, { type: 'retry', turnId: input.turnId, from: input.from });

export const configureWorkstream = (
  deps: CommandDeps & { readonly model: Model },
  by: Viewer,
  input: ConfigureWorkstream,
): Promise<ConfigureWorkstreamOutcome> => {
  const { approvalMode, model } = input;
  const title = input.title === null ? null : input.title.trim();
  const problem = title === null ? null : titleProblem(title);
  const chosen = model === null ? null : chooseModel(deps.model, model);
  if (chosen && chosen.type !== 'chosen') return Promise.resolve(chosen);
  if (problem !== null) return Promise.resolve(invalid('title', problem));
  const bounds = chooseBounds(input);
  if (bounds.type !== 'chosen') return Promise.resolve(bounds);
  return answer(deps, by, input, {
    type: 'configure',
    title,
    approvalMode,
    model: chosen?.choice ?? null,
    ...bounds.bounds,
  });
};

export const compactWorkstream = (
  deps: CommandDeps,
  by: Viewer,
  input: CompactWorkstream,
): Promise<CompactWorkstreamOutcome> => answer(deps, by, input, { type: 'compact' });

/** A title that may be left out: null when there is nothing in it that can be seen. */
export const givenTitle = (title: string | null): string | null =>
  title === null || isBlank(title) ? null : title.trim();

/** What is wrong with the name of a workstream, or null. */
export function titleProblem(title: string): string | null {
  if (isBlank(title)) return 'A title needs something that can be seen.';
  return title.length > maxTitle ? `A title may have at most ${maxTitle} characters.` : null;
}

export const resumeQueue = (deps: CommandDeps, by: Viewer, input: ResumeQueue): Promise<ResumeQueueOutcome> =>
  answer(deps, by, input, { type: 'resumeQueue' });

export const stopTurn = (deps: CommandDeps, by: Viewer, input: StopTurn): Promise<StopTurnOutcome> =>
  answer(deps, by, input, { type: 'stop', turnId: input.turnId, force: input.force });

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
  const decision = await inLine(
    deps,
    by,
    () => deps.catalog.decisionOf(workstreamId, cycleId, callId).catch(() => null),
    { urgent: true },
  );
  return decision ? refusalView({ type: 'Rejected', code: 'ALREADY_DECIDED', decision }) : outcome;
}

async function answer<Outcome>(
  deps: CommandDeps,
  by: Viewer,
  input: { readonly key: string; readonly workstreamId: string },
  command: Command,
): Promise<Outcome> {
  return outcomeView<Outcome>(await runCommand(deps, by, input, command));
}

/** The command's answer, if the text can be sent at all. */
async function withText<Outcome>(
  text: string,
  command: () => Promise<Outcome>,
): Promise<Outcome | InvalidInput> {
  const problem = textProblem(text);
  return problem ? invalid('text', problem) : command();
}

function textProblem(text: string): string | null {
  if (isBlank(text))
    return 'Write something first: a message with nothing in it that can be seen is not sent.';
  const bytes = Buffer.byteLength(text);
  return bytes > maxTextBytes
    ? `The message has ${bytes} bytes; at most ${maxTextBytes} can be sent. Put the rest in a file of the workspace.`
    : null;
}
