/**
 * Owns: one poll of a watch, from its command to what came of it (D-82, D-83). Does not own: when (`rounds/watches.ts`),
 * or keeping it (the store).
 *
 * Invariants: a command that may not run is not run; a condition that fails three times in a row ends its watch, and
 * until then fires nothing; the first output of a watch without a condition is what later ones are compared with. A command
 * that did not start has no output: it is neither a change, nor compared with, nor a word about the condition. Nor is a
 * poll whose condition nobody could judge: what it printed is compared with at no later one, so no change is missed. A poll
 * that was cut short says nothing.
 */
import type { Fire } from 'schema/projection';
import { deniedIn } from '../../core/approvals/denied.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Conditions, Verdict } from '../../ports/conditions.ts';
import type { CommandResult, Processes } from '../../ports/processes.ts';
import type { ClaimedPoll, PollOutcome } from '../../ports/watches.ts';

/** How long a command may run, milliseconds. */
export const pollTimeoutMs = 120_000;
/** Bytes of its output that are kept (D-82). */
const maxOutputBytes = 65_536;
/** Conditions in a row that may fail (D-83). */
const maxErrors = 3;

export interface PollDeps {
  readonly processes: Processes;
  readonly conditions: Conditions;
  readonly clock: Clock;
}

/** `signal`: cuts it short; its command has ended when this is over. */
export async function poll(
  { processes, conditions, clock }: PollDeps,
  claim: ClaimedPoll,
  signal: AbortSignal,
): Promise<PollOutcome> {
  const { definition, errors } = claim;
  const began = clock.now();
  const nothingRun = {
    claim,
    durationMs: 0,
    exitCode: null,
    output: null,
    errors,
  } as const;
  if (claim.overdue)
    return {
      ...nothingRun,
      error: null,
      fire: fireOf(claim, { reason: 'DEADLINE', ended: true, ...nothingRun, error: null }),
    };
  const denied = deniedIn(definition.command);
  if (denied !== null)
    return {
      ...nothingRun,
      error: denied,
      fire: fireOf(claim, { reason: 'DENIED', ended: true, ...nothingRun, error: denied }),
    };

  const result = await processes.run(
    {
      script: definition.command,
      cwd: claim.workspace,
      callId: claim.claim,
      timeoutMs: pollTimeoutMs,
      maxOutputBytes,
    },
    signal,
    () => undefined,
  );
  const ran = {
    claim,
    durationMs: Math.max(0, clock.now() - began),
    exitCode: result.exitCode,
    output: result.ending === 'notStarted' ? null : result.output,
  };
  const cutShort = { ...ran, error: sentences(whyCut, result.message), errors, fire: null } as const;
  if (result.ending === 'aborted' || signal.aborted) return cutShort;
  const judged = await judge(conditions, claim, result);
  const failed = judged?.type === 'failed' || judged?.type === 'unjudged' ? judged.message : null;
  // The judges end with the server, which says nothing about the condition.
  if (failed !== null && signal.aborted) return cutShort;
  const unjudged = judged?.type === 'unjudged';
  const failures = judged === null || unjudged ? errors : failed === null ? 0 : errors + 1;
  const error = sentences(problemOf(result), failed);
  const isLast = claim.poll >= definition.maxPolls;
  const reason =
    judged?.type === 'holds'
      ? definition.condition === null
        ? 'CHANGE'
        : 'CONDITION'
      : failures >= maxErrors
        ? 'CONDITION_ERRORS'
        : isLast
          ? 'MAX_POLLS'
          : null;
  const ended = judged?.type === 'holds' ? isLast || !definition.repeat : true;
  const fire = reason === null ? null : fireOf(claim, { ...ran, reason, ended, error });
  return { ...ran, output: unjudged ? null : ran.output, error, errors: failures, fire };
}

const whyCut = 'The poll was cut short, because its watch was changed meanwhile.';

/** Null: there was nothing to judge. */
async function judge(
  conditions: Conditions,
  { definition, prevOutput, poll: number, createdAt, scheduledAt }: ClaimedPoll,
  { ending, exitCode, output }: CommandResult,
): Promise<Verdict | null> {
  if (ending === 'notStarted') return null;
  const { condition } = definition;
  if (condition === null)
    return { type: prevOutput !== null && prevOutput !== output ? 'holds' : 'holdsNot' };
  return conditions.judge(condition, {
    output,
    prevOutput,
    exitCode: ending === 'exited' ? (exitCode ?? -1) : -1,
    poll: number,
    elapsedSeconds: secondsBetween(createdAt, scheduledAt),
  });
}

function problemOf({ ending, message, signal }: CommandResult): string | null {
  const cause = {
    timedOut: `The command was ended after ${pollTimeoutMs / 1_000} s.`,
    signaled: `The command was ended by signal ${signal}.`,
    notStarted: message === null ? 'The command could not be started.' : null,
    exited: null,
    aborted: null,
  }[ending];
  return sentences(cause, message);
}

const sentences = (...said: readonly (string | null)[]): string | null =>
  said.filter((part) => part !== null).join(' ') || null;

const fireOf = (
  {
    watchId,
    poll: number,
    definition,
    author,
    depth,
    createdAt,
    scheduledAt,
    prevOutput,
    fires,
  }: ClaimedPoll,
  {
    reason,
    ended,
    exitCode,
    output,
    error,
  }: Pick<Fire, 'reason' | 'ended'> & Pick<PollOutcome, 'exitCode' | 'output' | 'error'>,
): Fire => ({
  watchId,
  poll: number,
  reason,
  ended,
  definition,
  elapsedSeconds: secondsBetween(createdAt, scheduledAt),
  exitCode,
  output: output ?? prevOutput ?? '',
  error,
  author,
  depth,
  firesBefore: fires,
  skipped: 0,
});

const secondsBetween = (from: string, to: string): number =>
  Math.max(0, Math.floor((Date.parse(to) - Date.parse(from)) / 1_000));
