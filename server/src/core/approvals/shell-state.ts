/**
 * Owns: the shell as far as a reader must remember it from one command to the next: its variables, its functions, where it
 * stands, what it reads, and how much may still be read. Does not own: what changes any of it (`shell-reading.ts`).
 *
 * Invariant: whatever is looked at is paid for with `spend`, so that the work for one command is bounded; once nothing is
 * left, or something was found, nothing more is read.
 */
import type { Command, SyntaxNode } from 'unbash';
import { ANY, STAR, UNKNOWN, UNSET } from './shell-signs.ts';

/** Of a copy of a shell: its own, before those of the shell it is a copy of, which rests while the copy is read. */
interface Variables {
  readonly own: Map<string, string>;
  readonly outer: Variables | null;
  readonly depth: number;
}

export interface Shell {
  readonly variables: Variables;
  readonly functions: Map<string, SyntaxNode>;
  readonly positional: string[];
  /** What it reads from its standard input, if that is known. */
  readonly input: string | null;
  /** Scripts it is inside of. */
  readonly scripts: number;
  /** Functions it is inside of. */
  readonly calls: readonly string[];
  /** `mayUnset`: a variable the line does not set may be empty, as nothing has been said against it. */
  readonly place: { cwd: string | null; mayUnset: boolean };
  readonly reading: Reading;
}

/** What is shared by all shells of one command. */
interface Reading {
  left: number;
  depth: number;
  /** Where `left` may go to by the function that is called. */
  callsTo: number;
  callsLeft: number;
  isUnread: boolean;
  /** What was found; nothing more is read then. */
  found: string | null;
  /** The command that is being read, as it is written. */
  command: Command | null;
  /** What can be read from a path that a process substitution made, as `/dev/fd/63`. */
  readonly files: Map<string, string>;
}

/** A shell that has read nothing yet. */
export const newShell = (left: number, callsLeft: number): Shell => ({
  variables: { own: new Map([['IFS', ' \t\n']]), outer: null, depth: 0 },
  functions: new Map(),
  positional: [],
  input: null,
  scripts: 0,
  calls: [],
  place: { cwd: null, mayUnset: true },
  reading: {
    left,
    depth: 0,
    callsTo: left,
    callsLeft,
    isUnread: false,
    found: null,
    command: null,
    files: new Map(),
  },
});

/** Pays for work; false when nothing more is to be read. */
export function spend({ reading }: Shell, amount: number): boolean {
  reading.left -= amount;
  if (reading.left <= 0) reading.isUnread = true;
  return !reading.isUnread && reading.found === null;
}

/** Nothing more of it is read. */
export function giveUp({ reading }: Shell): null {
  reading.isUnread = true;
  return null;
}

/** What changes in a copy of the shell does not come back. */
export function apart<S extends Shell>(shell: S, input = shell.input): S {
  spend(shell, 16 + shell.positional.length);
  return {
    ...shell,
    input,
    variables: { own: new Map(), outer: shell.variables, depth: shell.variables.depth + 1 },
    positional: [...shell.positional],
    place: { ...shell.place },
  };
}

/** What the line set it to; null when it did not. */
export function valueIn(shell: Shell, name: string): string | null {
  if (!spend(shell, shell.variables.depth)) return null;
  for (let each: Variables | null = shell.variables; each !== null; each = each.outer) {
    const value = each.own.get(name);
    if (value !== undefined) return value;
  }
  return null;
}

const isParameter = /^[1-9]\d?$/;
const maxParameters = 9;

/** The value where it is taken not to be empty. */
const notEmpty = (value: string): string => (value === '' ? UNKNOWN : value.replaceAll(UNSET, UNKNOWN));

/** From here on it is not empty, whatever it was set to: somebody has looked. */
export function becomesSet(shell: Shell, name: string): void {
  const { positional, variables } = shell;
  if (!/^[#@*1-9]/.test(name)) {
    const value = valueIn(shell, name) ?? '';
    const after = notEmpty(value);
    if (after !== value) variables.own.set(name, after);
    return;
  }
  const last = isParameter.test(name) ? Number(name) : maxParameters;
  while (positional.length < last) positional.push(UNKNOWN);
  // How many there are says nothing about each of them.
  if (name === '#') return;
  const first = isParameter.test(name) ? last - 1 : 0;
  for (let index = first; index < last; index++) positional[index] = notEmpty(positional[index] as string);
}

/** Any variable may have got a value from somewhere: by a file that was sourced, say. */
export function anyBecomesSet(shell: Shell): void {
  shell.place.mayUnset = false;
  for (let each: Variables | null = shell.variables; each !== null; each = each.outer) {
    for (const name of each.own.keys()) {
      if (!spend(shell, 4)) return;
      becomesSet(shell, name);
    }
  }
}

/** The root itself, as every process sees it. */
const rootAgain = /^(?:\/proc\/(?:self|thread-self|\d+)\/root(?=\/|$))+/;
/** What it takes to find out what a path is, besides its length. */
const workOfPath = 60;
const workOfPattern = 150;
/** As long as a path may be. */
const maxPath = 4_096;

const isPattern = new RegExp(`[${STAR}${ANY}]`);
const isUnknown = new RegExp(`^[${UNKNOWN}${UNSET}]`);

/** Whether it begins with what is not known, so that it cannot be told where it leads. */
export const beginsUnknown = (path: string): boolean => isUnknown.test(path);

/** The absolute path an operand means, without `.` and `..`; null when it cannot be known. */
export function pathOf(shell: Shell, operand: string): string | null {
  const { cwd } = shell.place;
  if (operand === '' || operand === '-' || beginsUnknown(operand)) return null;
  if (!operand.startsWith('/') && cwd === null) return null;
  const full = operand.startsWith('/') ? operand : `${cwd}/${operand}`;
  if (!spend(shell, full.length + (isPattern.test(full) ? workOfPattern : workOfPath))) return null;
  const path: string[] = [];
  for (const name of full.split('/')) {
    if (name === '..') path.pop();
    else if (name !== '' && name !== '.') path.push(name);
  }
  const absolute = `/${path.join('/')}`.replace(rootAgain, '') || '/';
  return absolute.length > maxPath ? null : absolute;
}
