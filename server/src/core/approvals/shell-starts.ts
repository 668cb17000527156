/**
 * Owns: how programs that start another one are told which: what stands before it, and what they hand to it. Does not own:
 * what becomes of that (`shell-reading.ts`).
 *
 * Invariant: pure, and linear in the arguments.
 */
import { plain } from './shell-signs.ts';

/** Options that take a value, and how many operands stand before the program. */
export interface Wrapper {
  readonly valued: string;
  readonly operands?: number;
}

export const wrappers: ReadonlyMap<string, Wrapper> = new Map<string, Wrapper>([
  ['sudo', { valued: 'ugpCrtTUDhR' }],
  ['doas', { valued: 'uC' }],
  ['pkexec', { valued: '' }],
  ['run0', { valued: 'ugD' }],
  ['gosu', { valued: '', operands: 1 }],
  ['su-exec', { valued: '', operands: 1 }],
  ['env', { valued: 'uC' }],
  ['nice', { valued: 'n' }],
  ['ionice', { valued: 'cn' }],
  ['chrt', { valued: 'TPD', operands: 1 }],
  ['taskset', { valued: '', operands: 1 }],
  ['prlimit', { valued: '' }],
  ['setpriv', { valued: '' }],
  ['nohup', { valued: '' }],
  ['setsid', { valued: '' }],
  ['unshare', { valued: 'SGw' }],
  ['systemd-run', { valued: 'utpEGHM' }],
  ['time', { valued: 'fo' }],
  ['timeout', { valued: 'ks', operands: 1 }],
  ['stdbuf', { valued: 'ioe' }],
  ['unbuffer', { valued: '' }],
  ['strace', { valued: 'eopaPsS' }],
  ['flock', { valued: 'wE', operands: 1 }],
  ['exec', { valued: 'a' }],
  ['command', { valued: '' }],
  ['builtin', { valued: '' }],
  ['busybox', { valued: '' }],
  ['toybox', { valued: '' }],
  ['fakeroot', { valued: 'lfis' }],
  ['parallel', { valued: 'jNnIa' }],
  ['xargs', { valued: 'IdEnLPsa' }],
]);

export const shells: ReadonlySet<string> = new Set([
  'sh',
  'bash',
  'dash',
  'ash',
  'ksh',
  'mksh',
  'zsh',
  'fish',
]);

/** Their arguments are read as the commands they are. */
export const startsOthers: ReadonlySet<string> = new Set([
  ...wrappers.keys(),
  ...shells,
  'eval',
  'trap',
  'watch',
  'su',
  'runuser',
  'script',
  'find',
]);

const valuedLong =
  /^--(?:user|group|host|chdir|unset|adjustment|class|classdata|signal|kill-after|arg-file|delimiter|max-(?:args|lines|procs)|unit|property|setenv|jobs)$/;

/** Where the value of a short option stands among its letters; below 1 when it takes none. */
const valuedAt = (arg: string, valued: string): number =>
  arg.startsWith('--') ? -1 : [...arg].findIndex((letter) => valued.includes(letter));

/** Whether the value of an option is the next argument, and not the rest of this one. */
const takesNext = (arg: string, valued: string): boolean => {
  const letter = valuedAt(arg, valued);
  return (letter > 0 && letter === arg.length - 1) || valuedLong.test(arg);
};

/** Where the program stands that a wrapper starts. */
export function afterOptions(args: readonly string[], { valued, operands = 0 }: Wrapper): number {
  let index = 0;
  for (; index < args.length; index++) {
    const arg = args[index] as string;
    if (arg === '--') {
      index++;
      break;
    }
    // Alone it is an option of `env`, and of nothing else.
    if (!arg.startsWith('-')) break;
    if (takesNext(arg, valued)) index++;
  }
  return index + operands;
}

/** What `env -S` makes arguments of, in any of the ways to write it; null when it is not told to. */
export function splitBy(args: readonly string[], { valued }: Wrapper): readonly string[] | null {
  for (let index = 0; /^-./.test(args[index] ?? ''); index++) {
    const arg = args[index] as string;
    const rest = args.slice(index + 1);
    if (arg === '--') return null;
    const [name = '', value] = arg.split(/=(.*)/s);
    if (name.length > 3 && '--split-string'.startsWith(name)) {
      return value === undefined ? rest : [value, ...rest];
    }
    const letter = valuedAt(arg, `${valued}S`);
    if (letter > 0 && arg.charAt(letter) === 'S')
      return letter === arg.length - 1 ? rest : [arg.slice(letter + 1), ...rest];
    if (takesNext(arg, valued)) index++;
  }
  return null;
}

/** The folder that `env` goes to first; null when it stays. */
export function goneTo(options: readonly string[]): string | null {
  for (const [index, option] of options.entries()) {
    if (option === '-C' || option === '--chdir') return options[index + 1] ?? null;
    const joined = /^(?:-C|--chdir=)(.+)$/s.exec(option)?.[1];
    if (joined !== undefined) return joined;
  }
  return null;
}

/** Whether `sudo` and its like are told to start a shell, when they are given no program. */
export const asksForShell = (program: string, options: readonly string[]): boolean =>
  /^(?:sudo|doas)$/.test(program) &&
  options.some((option) => /^(?:-[a-zA-Z]*[is]$|--(?:shell|login)$)/.test(option));

/** What xargs starts: the words of its input at the end, or where the mark of `-I` is. */
export function withItems(
  options: readonly string[],
  argv: readonly string[],
  items: readonly string[],
): readonly string[] {
  const option = options.findIndex((arg) => arg.startsWith('-I'));
  const mark = option < 0 ? '' : options[option] === '-I' ? options[option + 1] : options[option]?.slice(2);
  if (mark === undefined || mark === '') return [...argv, ...items];
  return argv.flatMap((arg) => (arg === mark ? items : [arg.replaceAll(mark, items[0] ?? '')]));
}

/** What parallel starts: like xargs, or with what follows `:::`. */
export function inParallel(argv: readonly string[], items: readonly string[]): readonly string[] {
  const end = argv.indexOf(':::');
  const [command, given] = end < 0 ? [argv, items] : [argv.slice(0, end), argv.slice(end + 1)];
  return withItems(command.some((arg) => arg.includes('{}')) ? ['-I{}'] : [], command, given);
}

/** The script that `su`, `runuser` or `script` is given; null when it is given none. */
export function givenScript(args: readonly string[]): string | null {
  for (const [index, arg] of args.entries()) {
    if (arg === '--command' || /^-[a-zA-Z]*c$/.test(arg)) return plain(args[index + 1] ?? '');
    const joined = /^(?:-c|--command=)(.+)$/s.exec(arg)?.[1];
    if (joined !== undefined) return plain(joined);
  }
  return null;
}

/** What a shell is told to run: a text, a file, or what it reads. */
export type ShellCall =
  | { readonly type: 'TEXT' | 'FILE'; readonly what: string; readonly positional: readonly string[] }
  | { readonly type: 'INPUT'; readonly positional: readonly string[] };

/** `failsOnUnset`: as `set -u` makes it. */
export function shellCallOf(args: readonly string[]): ShellCall & { readonly failsOnUnset: boolean } {
  let index = 0;
  for (; /^[-+]/.test(args[index] ?? ''); index++) {
    const option = args[index] as string;
    if (option === '--' || option === '-') {
      index++;
      break;
    }
    if (/^[-+]\w*[oO]$|^--(?:rcfile|init-file)$/.test(option)) index++;
  }
  const options = args.slice(0, index);
  const failsOnUnset = makesUnsetFail(options);
  if (options.some((option) => /^-\w*c/.test(option)))
    return { type: 'TEXT', what: plain(args[index] ?? ''), positional: args.slice(index + 2), failsOnUnset };
  if (index >= args.length || options.some((option) => /^-\w*s/.test(option)))
    return { type: 'INPUT', positional: args.slice(index), failsOnUnset };
  if (args[index] === '/dev/stdin') return { type: 'INPUT', positional: args.slice(index + 1), failsOnUnset };
  return { type: 'FILE', what: args[index] as string, positional: args.slice(index + 1), failsOnUnset };
}

/** Whether these options of a shell end it at a variable that is not set. */
export const makesUnsetFail = (options: readonly string[]): boolean =>
  options.some((option) => /^-\w*u/.test(option) || option === 'nounset');

/** What a `find` looks through, and whether it takes everything there. */
export function foundBy(args: readonly string[]): {
  readonly starts: readonly string[];
  readonly expression: readonly string[];
  readonly narrowed: boolean;
} {
  const options = args.findIndex((arg) => !/^-[HLP]$/.test(arg));
  const rest = args.slice(Math.max(options, 0));
  const first = rest.findIndex((arg) => /^[-(!]/.test(arg));
  const starts = first < 0 ? rest : rest.slice(0, first);
  const expression = first < 0 ? [] : rest.slice(first);
  const outside = expression.join('\0').replace(/-(?:exec|ok)(?:dir)?\0.*?(?:\0[;+]|$)/gs, '');
  const narrowed = outside
    .split('\0')
    .some(
      (arg) =>
        arg.startsWith('-') &&
        !/^-(?:delete|depth|d|xdev|mount|type|print0?|ls|o|a|(?:min|max)depth)$/.test(arg),
    );
  return {
    starts: starts.length === 0 ? ['.'] : starts,
    expression,
    narrowed: narrowed || outside.includes('!'),
  };
}

/** The commands that a `find` starts for what it finds. */
export function startedBy(expression: readonly string[]): readonly (readonly string[])[] {
  const commands: string[][] = [];
  for (let index = 0; index < expression.length; index++) {
    if (!/^-(?:exec|ok)(?:dir)?$/.test(expression[index] as string)) continue;
    let end = index + 1;
    while (end < expression.length && expression[end] !== ';' && expression[end] !== '+') end++;
    commands.push(expression.slice(index + 1, end));
    index = end - 1;
  }
  return commands;
}

/** The text, where the format says it as it is; patterns in it were files before they were printed. */
export function formatted([format = '', ...args]: readonly string[]): string | null {
  const text = plain(format).replace(/\\n/g, '\n');
  if (/^(?:%s(?:\s|\\0)*)+$/.test(text)) return `${args.join(/[\n\\]/.test(text) ? '\n' : ' ')}\n`;
  const rest = [...args];
  const filled = text.replace(/%s/g, () => rest.shift() ?? '');
  return rest.length > 0 || /[%\\]/.test(text.replace(/%s/g, '')) ? null : filled;
}
