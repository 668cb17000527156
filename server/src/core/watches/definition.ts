/**
 * Owns: what a watch may be (D-80), whoever asks for it: a model by its tool, a person by the API.
 * Does not own: whether its condition is sound (the `Conditions` port), or its command may run (`approvals/denied.ts`).
 */
import { isBlank, mostPolls, usualPolls, type WatchDefinition } from 'schema/projection';
import { parseDuration } from './duration.ts';

export { mostPolls, usualPolls, watchCapacity } from 'schema/projection';

/** Fires of a watch that wait together, at most, ends not counted: the first ones, and the latest. */
export const fireCapacity = 5;

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

export type Defined =
  /** `lasts`: seconds until its deadline, which the definition has not yet (`endingAfter`); null: it has none. */
  | { readonly type: 'defined'; readonly definition: WatchDefinition; readonly lasts: number | null }
  /** `field`: of AskedWatch. One sentence. */
  | { readonly type: 'refused'; readonly field: keyof AskedWatch; readonly problem: string };

/** An empty name is left for who makes it to choose, and the deadline for when that is. */
export function defineWatch(asked: AskedWatch): Defined {
  const refused = (field: keyof AskedWatch, problem: string): Defined => ({
    type: 'refused',
    field,
    problem,
  });
  const name = (asked.name ?? '').trim();
  if (name.length > maxWatchName)
    return refused('name', `A name may have at most ${maxWatchName} characters.`);
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(name)) return refused('name', 'A name is one line.');
  const command = asked.command.trim();
  if (isBlank(command)) return refused('command', 'Say which command to run.');
  if (command.length > maxCommand)
    return refused('command', `A command may have at most ${maxCommand} characters.`);
  if (command.includes('\0') || !command.isWellFormed())
    return refused(
      'command',
      'The command holds a NUL or a broken character, which no program can be given.',
    );
  const every = parseDuration(asked.every);
  if (every.type === 'refused') return refused('every', every.problem);
  if (every.seconds < leastSeconds) return refused('every', `The shortest interval is ${leastSeconds} s.`);
  if (every.seconds > mostSeconds) return refused('every', 'The longest interval is 24 h.');
  const maxPolls = asked.maxPolls ?? usualPolls;
  if (!Number.isInteger(maxPolls) || maxPolls < 1 || maxPolls > mostPolls)
    return refused('maxPolls', `Between 1 and ${mostPolls} polls, as a whole number.`);
  const deadline = asked.deadline === null ? null : parseDuration(asked.deadline);
  if (deadline?.type === 'refused') return refused('deadline', deadline.problem);
  if (deadline && deadline.seconds > 366 * 86_400)
    return refused('deadline', 'The latest deadline is in a year.');
  const condition = asked.condition?.trim() ?? '';
  if (condition.length > maxCondition)
    return refused('condition', `A condition may have at most ${maxCondition} characters.`);
  const instruction = asked.instruction?.trim() ?? '';
  if (instruction.length > maxInstruction)
    return refused('instruction', `An instruction may have at most ${maxInstruction} characters.`);
  return {
    type: 'defined',
    definition: {
      name,
      command,
      condition: condition === '' ? null : condition,
      everySeconds: Math.round(every.seconds),
      maxPolls,
      deadline: null,
      repeat: asked.repeat,
      instruction: instruction === '' ? null : instruction,
    },
    lasts: deadline === null ? null : deadline.seconds,
  };
}

/** With its deadline, made or edited `at`, milliseconds since 1970. */
export const endingAfter = (
  definition: WatchDefinition,
  lasts: number | null,
  at: number,
): WatchDefinition => ({
  ...definition,
  deadline: lasts === null ? null : new Date(at + lasts * 1_000).toISOString(),
});
