/** Owns: how watches, their polls and what they say are told to a person. Pure. */
import type { PolledWatch } from 'schema/client-kit';
import { maxDepth, type Fire, type Watch, type WatchDefinition } from 'schema/projection';
import { ago } from '../../lib/words.ts';
import { tokensInFull } from '../models/model-words.ts';

type Standing = Pick<Watch, 'status' | 'pausedBy' | 'end'>;

const endWords: Readonly<Record<NonNullable<Watch['end']>, string>> = {
  FIRED: 'it fired',
  MAX_POLLS: 'its polls are used up',
  DEADLINE: 'its deadline has passed',
  CANCELED: 'it was cancelled',
  CONDITION_ERRORS: 'its condition could not be judged three times in a row',
  DENIED: 'its command is not one that may run',
};

/** Whether it polls, and why not. */
export function statusWords({ status, pausedBy, end }: Standing): string {
  switch (status) {
    case 'ACTIVE':
      return 'Active';
    case 'PAUSED':
      return pausedBy === 'CLOSED' ? 'Paused with the workstream' : 'Paused by a person';
    case 'ENDED':
      return end ? `Ended: ${endWords[end]}` : 'Ended';
  }
}

/** That it has ended, after its name: what somebody wants to know who saw it active a moment ago. */
export const overWords = ({ end }: Pick<Watch, 'end'>): string =>
  end ? `has ended: ${endWords[end]}.` : 'has ended.';

/** `5 min`, `2 h 30 min`, `1 min 30 s`: nothing of it is left out. */
export function spanWords(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 3_600), 'h'],
    [Math.floor((seconds % 3_600) / 60), 'min'],
    [Math.floor(seconds % 60), 's'],
  ] as const;
  const said = parts.flatMap(([count, unit]) => (count > 0 ? [`${count} ${unit}`] : []));
  return said.length > 0 ? said.join(' ') : '0 s';
}

/** The same in two units at most, for how long something has lasted. */
export function aboutSpan(seconds: number): string {
  if (seconds < 86_400) return spanWords(seconds < 3_600 ? seconds : seconds - (seconds % 60));
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor((seconds % 86_400) / 3_600);
  return `${days} d${hours > 0 ? ` ${hours} h` : ''}`;
}

/** How long a command ran. */
export const tookWords = (ms: number): string => {
  if (ms < 1_000) return `${ms} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : spanWords(Math.round(ms / 1_000));
};

/** What it waits for, to follow its interval. */
export const waitsFor = ({ condition }: Pick<WatchDefinition, 'condition'>): string =>
  condition === null ? 'on change' : 'on condition';

/** `3 of 100`, and how often it fired. */
export function pollsWords({
  polls,
  fires,
  definition,
}: Pick<PolledWatch, 'polls' | 'fires' | 'definition'>): string {
  const of = tokensInFull(definition.maxPolls);
  if (polls === 0) return `Never polled, at most ${of} times`;
  const fired =
    fires === 0 ? 'never fired' : `fired ${fires === 1 ? 'once' : `${tokensInFull(fires)} times`}`;
  return `${tokensInFull(polls)} of ${of} polls, ${fired}`;
}

/** When it is polled next; null: it is not. The times are those of the database, so a little past is now. */
export function nextWords(nextPollAt: string | null, now: number): string | null {
  if (nextPollAt === null) return null;
  const seconds = Math.ceil((Date.parse(nextPollAt) - now) / 1_000);
  if (seconds <= 0) return 'due now';
  // Seconds count when there are few of them.
  return `next in ${aboutSpan(seconds < 120 ? seconds : seconds - (seconds % 60))}`;
}

export const lastWords = (lastPollAt: string | null, now: number): string | null =>
  lastPollAt === null ? null : `last poll ${ago(lastPollAt, now)}`;

/** Why a watch has something to say, after its name. */
export const reasonWords: Readonly<Record<Fire['reason'], string>> = {
  CONDITION: 'fired: its condition holds',
  CHANGE: 'fired: its output has changed',
  MAX_POLLS: 'has used up its polls',
  DEADLINE: 'has come to its deadline',
  CONDITION_ERRORS: 'was ended: its condition could not be judged three times in a row',
  DENIED: 'was ended: its command is not one that may run',
};

/** How a command ended; null: it did not by itself, or was not run. */
export const exitWords = (exitCode: number | null): string =>
  exitCode === null ? 'did not end by itself' : `exit code ${exitCode}`;

/** Where it was in its polls, in one line. */
export function fireFacts(
  fire: Pick<
    Fire,
    'poll' | 'reason' | 'definition' | 'elapsedSeconds' | 'exitCode' | 'ended' | 'depth' | 'skipped'
  >,
): string {
  const { poll, reason, definition, elapsedSeconds, exitCode, ended, depth, skipped } = fire;
  const isPoll = reason !== 'DEADLINE';
  const said = [
    isPoll
      ? `Poll ${tokensInFull(poll)} of ${tokensInFull(definition.maxPolls)}`
      : `After ${tokensInFull(poll - 1)} of ${tokensInFull(definition.maxPolls)} polls`,
    `${aboutSpan(elapsedSeconds)} after it was made`,
    ...(isPoll ? [exitWords(exitCode)] : []),
  ].join(', ');
  const stays =
    depth > maxDepth
      ? ` No turn was started: more than ${maxDepth} watches stand between it and a person.`
      : '';
  const left =
    skipped > 0
      ? ` ${tokensInFull(skipped)} ${skipped === 1 ? 'fire' : 'fires'} right before it ${skipped === 1 ? 'is' : 'are'} left out: too many waited.`
      : '';
  return `${said}.${ended ? ' It has ended.' : ''}${left}${stays}`;
}

/** That no person began a turn, and how many watches stand between. */
export const begunByWatch = (depth: number): string =>
  `A watch began this turn (depth ${depth} of ${maxDepth})`;

interface Polled {
  readonly fired: boolean;
  readonly error: string | null;
  readonly exitCode: number | null;
}

/** How a poll went. `mark`: a shape, for who does not see colours. */
export const outcomeOf = ({ fired, error, exitCode }: Polled) => {
  if (error !== null) return outcomes.ERROR;
  if (fired) return outcomes.FIRED;
  return exitCode === 0 ? outcomes.QUIET : outcomes.EXIT;
};

export const outcomes = {
  FIRED: { kind: 'fired', mark: '▲', name: 'fired' },
  ERROR: { kind: 'error', mark: '✕', name: 'went wrong' },
  EXIT: { kind: 'exit', mark: '○', name: 'said nothing; its command failed' },
  QUIET: { kind: 'quiet', mark: '·', name: 'said nothing' },
} as const;
