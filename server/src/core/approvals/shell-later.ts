/**
 * Owns: what is run later than where it is written, by a trap or the call of a function: what the variables may hold by then,
 * and how far calls are followed. Does not own: what is done then (`shell-reading.ts`), or which functions start themselves
 * without an end (`fork-bombs.ts`).
 */
import { UNKNOWN } from './shell-signs.ts';
import { apart, becomesSet, spend, type Shell } from './shell-state.ts';

/** The script that is read, with the variables that get a value anywhere in it, once they were asked for. */
export interface Script {
  readonly text: string;
  assigned: readonly string[] | null;
}

type Scripted = Shell & { readonly script: Script };

/** Functions in functions. */
const maxCalls = 8;

/** By an assignment of something, a loop, or what reads into a variable; also one that is quoted, as nothing hangs on it. */
const givesValue =
  /(?<!\w)(?:([A-Za-z_]\w*)(?:\[[^\]\n]{0,20}\])?:?\+?=(?!(?:''|"")?(?:[\s;&|)}]|$))|(?:for|select|read|getopts|mapfile|readarray|printf[ \t]+-v)[ \t]+([^\n;&|<>()]{1,200}))/g;

function assignedIn(text: string): readonly string[] {
  const names = new Set<string>();
  for (const [, name, list = ''] of text.matchAll(givesValue))
    for (const each of name === undefined ? (list.match(/(?<![\w-])[A-Za-z_]\w*/g) ?? []) : [name])
      names.add(each);
  return [...names];
}

/** The shell by then: what gets a value anywhere in the script may have it. */
export function runLater<S extends Scripted>(shell: S): S {
  const later = apart(shell);
  const { script } = shell;
  if (script.assigned === null) {
    if (!spend(shell, script.text.length / 2)) return later;
    script.assigned = assignedIn(script.text);
  }
  for (const name of script.assigned) {
    if (!spend(shell, 4)) break;
    becomesSet(later, name);
  }
  return later;
}

/** The shell in which a function runs that is not called yet: by whom, and with what, is not known. */
export const runUncalled = <S extends Scripted>(shell: S): S => ({
  ...runLater(shell),
  positional: Array<string>(9).fill(UNKNOWN),
});

/**
 * What `body` answers of a function that is called in this shell. Not followed any further is what it does after it has
 * started itself twice, and what is beyond the limits.
 */
export function callFunction<S extends Shell>(
  name: string,
  shell: S,
  body: (inside: S) => string | null,
): string | null {
  const { reading, calls } = shell;
  const isOutermost = calls.length === 0;
  const before = reading.left;
  if (isOutermost) reading.callsTo = before - reading.callsLeft;
  if (calls.length >= maxCalls || calls.filter((each) => each === name).length > 1) return null;
  if (before <= reading.callsTo) return null;
  const printed = body({ ...shell, calls: [...calls, name] });
  if (isOutermost) reading.callsLeft -= before - reading.left;
  return printed;
}
