/**
 * Owns: what a watch may be, as far as its fields alone say (D-80): the same for the server, which refuses the first of what
 * is wrong, and for a form, which tells all of it.
 * Does not own: whether its condition is sound, its command may run, its name is free (the server).
 */
import { isBlank } from './blank.ts';
import { parseDuration } from './duration.ts';
import { mostPolls } from './watch-bounds.ts';

const leastSeconds = 10;
const mostSeconds = 86_400;
const maxWatchName = 60;
const maxCommand = 65_536;
const maxCondition = 4_000;
const maxInstruction = 4_000;

/** As it is given: durations as text, what is left out as null. */
export interface AskedWatch {
  /** Null or blank: it is named by number. */
  readonly name: string | null;
  readonly command: string;
  readonly condition: string | null;
  /** As `parseDuration` takes it. */
  readonly every: string;
  readonly maxPolls: number | null;
  /** A duration, from when it is made; null: none. */
  readonly deadline: string | null;
  readonly repeat: boolean;
  readonly instruction: string | null;
}

export interface WatchProblem {
  readonly field: keyof AskedWatch;
  /** Sentences for a person or a model: what is wrong, and what to write instead. */
  readonly problem: string;
}

/** All that is wrong, at most one for each field; empty: nothing is. */
export const watchProblems = (asked: AskedWatch): readonly WatchProblem[] =>
  checks.flatMap(([field, check]) => {
    const problem = check(asked);
    return problem === null ? [] : [{ field, problem }];
  });

/** In the order in which a refusal names them. */
const checks: readonly (readonly [keyof AskedWatch, (asked: AskedWatch) => string | null])[] = [
  ['name', ({ name }) => nameProblem((name ?? '').trim())],
  ['command', ({ command }) => commandProblem(command.trim())],
  ['every', ({ every }) => everyProblem(every)],
  ['maxPolls', ({ maxPolls }) => pollsProblem(maxPolls)],
  ['deadline', ({ deadline }) => deadlineProblem(deadline)],
  ['condition', ({ condition }) => tooLong('A condition', condition, maxCondition)],
  ['instruction', ({ instruction }) => tooLong('An instruction', instruction, maxInstruction)],
];

function nameProblem(name: string): string | null {
  if (name.length > maxWatchName) return `A name may have at most ${maxWatchName} characters.`;
  return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(name) ? 'A name is one line.' : null;
}

function commandProblem(command: string): string | null {
  if (isBlank(command)) return 'Say which command to run.';
  if (command.length > maxCommand) return `A command may have at most ${maxCommand} characters.`;
  return command.includes('\0') || !command.isWellFormed()
    ? 'The command holds a NUL or a broken character, which no program can be given.'
    : null;
}

function everyProblem(every: string): string | null {
  const duration = parseDuration(every);
  if (duration.type === 'refused') return duration.problem;
  if (duration.seconds < leastSeconds) return `The shortest interval is ${leastSeconds} s.`;
  return duration.seconds > mostSeconds ? 'The longest interval is 24 h.' : null;
}

const pollsProblem = (maxPolls: number | null): string | null =>
  maxPolls === null || (Number.isInteger(maxPolls) && maxPolls >= 1 && maxPolls <= mostPolls)
    ? null
    : `Between 1 and ${mostPolls} polls, as a whole number.`;

function deadlineProblem(deadline: string | null): string | null {
  if (deadline === null) return null;
  const duration = parseDuration(deadline);
  if (duration.type === 'refused') return duration.problem;
  return duration.seconds > 366 * 86_400 ? 'The latest deadline is in a year.' : null;
}

const tooLong = (what: string, text: string | null, most: number): string | null =>
  (text?.trim() ?? '').length > most ? `${what} may have at most ${most} characters.` : null;
