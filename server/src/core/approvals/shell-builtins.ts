/**
 * Owns: what a shell does without starting anything: it goes to another folder, sets, reads and forgets variables, and prints
 * what it is told to; and `cat`, `tee`, `ls` and `mktemp`, as far as they hand on what is known. Does not own: what runs a script
 * (`shell-reading.ts`).
 */
import { plain, UNKNOWN, UNSET } from './shell-signs.ts';
import { formatted, makesUnsetFail } from './shell-starts.ts';
import { anyBecomesSet, pathOf, valueIn, type Shell } from './shell-state.ts';

const declares = new Set(['export', 'local', 'declare', 'readonly', 'typeset']);

/** What it prints, null when that is not known; undefined when this is nothing a shell does by itself. */
export function doneByShell(
  program: string,
  args: readonly string[],
  shell: Shell,
): string | null | undefined {
  if (program === 'cat' && args.length > 0 && args[0] !== '-')
    return shell.reading.files.get(args[0] as string) ?? null;
  if (program === 'cat' || program === 'tee') return shell.input;
  if (declares.has(program)) {
    for (const arg of args) {
      const [, name, value = ''] = /^([A-Za-z_]\w*)=(.*)$/s.exec(arg) ?? [];
      if (name !== undefined && valueIn(shell, name) === null) shell.variables.own.set(name, plain(value));
      // `export $(xargs < .env)`
      if (name === undefined && arg.includes(UNKNOWN)) anyBecomesSet(shell);
    }
    return '';
  }
  switch (program) {
    case 'echo':
      return `${args.filter((arg, index) => index > 0 || !/^-[neE]+$/.test(arg)).join(' ')}\n`;
    case 'ls':
      return args.some((arg) => /^-\w*d/.test(arg))
        ? `${args.filter((arg) => !arg.startsWith('-')).join('\n')}\n`
        : null;
    case 'printf': {
      const named = args[0] === '-v' ? args[1] : undefined;
      if (named === undefined) return formatted(args);
      shell.variables.own.set(named, formatted(args.slice(2)) ?? UNKNOWN);
      return '';
    }
    case 'mktemp':
      return temporary(args);
    case 'which':
      return args.length === 1 ? plain(args[0] as string) : null;
    case 'pwd':
      return shell.place.cwd;
    case 'cd':
    case 'pushd':
      shell.place.cwd = pathOf(shell, args.find((arg) => !/^-[LPe@-]/.test(arg)) ?? '');
      return '';
    case 'popd':
      shell.place.cwd = null;
      return null;
    case 'set':
      if (args[0] === '--') setPositional(args.slice(1), shell);
      else if (args[0] !== undefined && !/^[-+]/.test(args[0])) setPositional(args, shell);
      else if (makesUnsetFail(args)) shell.place.mayUnset = false;
      return '';
    case 'shift':
      shell.positional.splice(0, Number(args[0] ?? 1) || 1);
      return '';
    case 'read':
      readInto(
        args.filter((arg) => !arg.startsWith('-')),
        shell,
      );
      return '';
    case 'mapfile':
    case 'readarray':
    case 'getopts':
      for (const name of args) shell.variables.own.set(name, UNKNOWN);
      return '';
    case 'unset':
      for (const name of args) shell.variables.own.set(name, '');
      return '';
    default:
      return undefined;
  }
}

/** The path of a new file or folder; null when it is to be in a folder that is named otherwise. */
function temporary(args: readonly string[]): string | null {
  if (args.some((arg) => /^(?:-\w*p|--tmpdir)/.test(arg))) return null;
  const template = args.find((arg) => !arg.startsWith('-')) ?? '';
  return template.includes('/') ? template.replace(/X{3,}/, UNKNOWN) : `/tmp/${UNKNOWN}`;
}

function setPositional(args: readonly string[], shell: Shell): void {
  shell.positional.splice(0, Infinity, ...args);
}

/** The words of the first line that is read; of what is not known, and of further lines, nothing. */
function readInto(names: readonly string[], shell: Shell): void {
  const line = (shell.input ?? '').slice(0, 4_096).split('\n', 1)[0] ?? '';
  const words = line.replaceAll(UNSET, UNKNOWN).trim().split(/\s+/);
  for (const [index, name] of names.entries()) {
    const isLast = index === names.length - 1;
    const value = isLast ? words.slice(index).join(' ') : words[index];
    shell.variables.own.set(name, value === undefined || value === '' ? UNKNOWN : value);
  }
}
