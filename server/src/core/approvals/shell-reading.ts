/**
 * Owns: what a command line does, as far as it can be read without running it: which programs it starts with which
 * arguments, and which files it redirects. Does not own: the words (`shell-words.ts`), or what may not be (`denied.ts`).
 *
 * It follows what a reader follows: wrappers (`sudo`, `env`, `xargs` …), scripts in scripts (`sh -c`, `eval`, a pipe or
 * a here-document into a shell), functions, loops over written words, variables set in the line, and `cd`.
 *
 * Invariants: pure; never throws; the work is bounded (`workLimit`) and so is how deep things may stand in each other,
 * and a command that is beyond that is told as UNREAD, never taken for one that does nothing; of branches all are read,
 * one after the other.
 */
import {
  forEachChild,
  parse,
  type Assignment,
  type Command,
  type Redirection,
  type SyntaxNode,
} from 'unbash';
import {
  ANY,
  fieldsOf,
  plain,
  STAR,
  substitutionsIn,
  textOf,
  textOfParts,
  UNKNOWN,
  UNSET,
  type Scope,
} from './shell-words.ts';

export type Deed =
  | {
      readonly type: 'RUNS';
      readonly program: string;
      readonly args: readonly string[];
      readonly at: At;
      /** It is named by a path that is none of the system's: a script of the workspace, say. */
      readonly isOwn: boolean;
    }
  | { readonly type: 'READS' | 'WRITES'; readonly file: string; readonly at: At }
  /** A function that starts itself more than once at a time. */
  | { readonly type: 'MULTIPLIES'; readonly name: string }
  /** The command is too long or too deep: there may be more than was told. */
  | { readonly type: 'UNREAD'; readonly command: string };

/** The absolute path an operand means, without `.` and `..`; null when it cannot be known. */
type At = (operand: string) => string | null;

/**
 * What may be done for one command, in what it takes to read one character of it, about 20 ns. It is read on the one
 * thread there is, at every poll, so that all of it must take no longer than about 10 ms.
 */
const workLimit = 600_000;
/** Of that, for what functions do when they are called: what they do at all was read where they are defined. */
const callLimit = 100_000;
const maxDepth = 200;
/** Texts in texts (`sh -c "sh -c …"`), and functions in functions. */
const maxScripts = 8;
const maxCalls = 8;
/** The parser's time grows with the square of the here-documents that begin in one line. */
const maxHereDocuments = 1_000;
/** It looks for the end of each of these by itself, and for those that stand in each other again and again. */
const maxSubstitutions = 2_000;
const maxNested = 64;

/** Of a copy of a shell: its own, before those of the shell it is a copy of, which rests while the copy is read. */
interface Variables {
  readonly own: Map<string, string>;
  readonly outer: Variables | null;
  readonly depth: number;
}

function valueIn(variables: Variables, name: string): string | null {
  for (let each: Variables | null = variables; each !== null; each = each.outer) {
    const value = each.own.get(name);
    if (value !== undefined) return value;
  }
  return null;
}

interface Shell {
  readonly variables: Variables;
  readonly functions: Map<string, SyntaxNode>;
  readonly positional: string[];
  /** What it reads from its standard input, if that is known. */
  readonly input: string | null;
  /** Scripts it is inside of. */
  readonly scripts: number;
  /** Functions it is inside of. */
  readonly calls: readonly string[];
  readonly place: { cwd: string | null };
  readonly reading: Reading;
}

interface Reading {
  left: number;
  depth: number;
  /** Where `left` may go to by the function that is called. */
  callsTo: number;
  callsLeft: number;
  isUnread: boolean;
  found: string | null;
  /** What can be read from a path that a process substitution made, as `/dev/fd/63`. */
  readonly files: Map<string, string>;
  readonly judge: (deed: Deed) => string | null;
}

/** The first thing `judge` says about what the command does; null when it says nothing. */
export function readCommand(command: string, judge: (deed: Deed) => string | null): string | null {
  const reading: Reading = {
    left: workLimit,
    depth: 0,
    callsTo: workLimit,
    callsLeft: callLimit,
    isUnread: false,
    found: null,
    files: new Map(),
    judge,
  };
  const variables: Variables = { own: new Map([['IFS', ' \t\n']]), outer: null, depth: 0 };
  script(command, {
    variables,
    functions: new Map(),
    positional: [],
    input: null,
    scripts: 0,
    calls: [],
    place: { cwd: null },
    reading,
  });
  return reading.found ?? (reading.isUnread ? judge({ type: 'UNREAD', command }) : null);
}

function spend({ reading }: Shell, amount: number): boolean {
  reading.left -= amount;
  if (reading.left <= 0) reading.isUnread = true;
  return !reading.isUnread && reading.found === null;
}

/** Nothing more of it is read. */
function giveUp({ reading }: Shell): null {
  reading.isUnread = true;
  return null;
}

function tell({ reading }: Shell, deed: Deed): void {
  reading.found ??= reading.judge(deed);
}

/** Answers what it prints, as every reader below; null when that is not known. */
function script(text: string, shell: Shell): string | null {
  if (shell.scripts > maxScripts) return giveUp(shell);
  if (!spend(shell, 60 + text.length)) return null;
  if (countOf(text, /[$<>]\(|\$\[/g) > maxSubstitutions) return giveUp(shell);
  if (isNested(text, /[$<>]\(|\)/g) || isNested(text, /\$\{|\}/g)) return giveUp(shell);
  if (text.split('\n').some((line) => countOf(line, /<</g) >= maxHereDocuments)) return giveUp(shell);
  const parsed = parsedOf(text);
  return parsed === null ? giveUp(shell) : read(parsed, { ...shell, scripts: shell.scripts + 1 });
}

const countOf = (text: string, what: RegExp): number => text.match(what)?.length ?? 0;

/** Whether too many of what `marks` open, by two characters, are open at once; one character closes one. */
function isNested(text: string, marks: RegExp): boolean {
  let open = 0;
  for (const [mark] of text.matchAll(marks)) {
    open = mark.length === 2 ? open + 1 : Math.max(0, open - 1);
    if (open > maxNested) return true;
  }
  return false;
}

/** Null when its parts stand in each other deeper than the parser can go. */
function parsedOf(text: string): SyntaxNode | null {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

const isUnknown = new RegExp(`^[${UNKNOWN}${UNSET}]`);

/** What changes in a copy of the shell does not come back. */
function apart(shell: Shell, input = shell.input): Shell {
  spend(shell, 16 + shell.positional.length);
  return {
    ...shell,
    input,
    variables: { own: new Map(), outer: shell.variables, depth: shell.variables.depth + 1 },
    positional: [...shell.positional],
    place: { ...shell.place },
  };
}

const at =
  ({ place }: Shell): At =>
  (operand) => {
    if (operand === '' || operand === '-' || isUnknown.test(operand)) return null;
    if (!operand.startsWith('/') && place.cwd === null) return null;
    const path: string[] = [];
    for (const name of (operand.startsWith('/') ? operand : `${place.cwd}/${operand}`).split('/')) {
      if (name === '..') path.pop();
      else if (name !== '' && name !== '.') path.push(name);
    }
    return `/${path.join('/')}`;
  };

function read(node: SyntaxNode, shell: Shell): string | null {
  if (shell.reading.depth > maxDepth) return giveUp(shell);
  if (!spend(shell, 12)) return null;
  shell.reading.depth++;
  const printed = readNode(node, shell);
  shell.reading.depth--;
  return printed;
}

function readNode(node: SyntaxNode, shell: Shell): string | null {
  switch (node.type) {
    case 'Script':
    case 'CompoundList':
    case 'AndOr':
      return inOrder(node.commands, shell);
    case 'Statement':
      return read(node.command, shell);
    case 'Command':
      return readSimple(node, shell);
    case 'Pipeline': {
      let printed = shell.input;
      for (const command of node.commands) {
        if (!spend(shell, 1)) return null;
        printed = read(command, apart(shell, printed));
      }
      return printed;
    }
    case 'Redirected':
      return read(node.command, { ...shell, input: redirect(node.redirects, shell) });
    case 'Subshell':
      return read(node.body, apart(shell));
    case 'BraceGroup':
      return read(node.body, shell);
    case 'Coproc':
      return read(node.body, apart(shell));
    case 'Function':
      shell.functions.set(node.name.value, node.body);
      if (multiplies(node.name.value, node.body, shell)) {
        tell(shell, { type: 'MULTIPLIES', name: node.name.value });
      }
      // Read where it is defined, too: it may be called in ways that are not followed.
      read(node.body, { ...apart(shell), positional: [UNKNOWN] });
      return '';
    case 'For':
    case 'Select': {
      const words = node.wordlist?.flatMap((word) => fieldsOf(word, scopeOf(shell))) ?? shell.positional;
      for (const word of words.length === 0 ? [UNKNOWN] : words) {
        // The loop is not run for what is not set.
        if (!spend(shell, 1)) return null;
        shell.variables.own.set(node.name.value, plain(word).replaceAll(UNSET, UNKNOWN));
        read(node.body, shell);
      }
      return null;
    }
    default:
      // Of the rest every command in it is read; a test or a sum only for what it substitutes.
      forEachChild(node, (child) => {
        if (child.type === 'CompoundList' || child.type === 'CaseItem' || child.type === 'Elif')
          read(child, shell);
        else substitutionsIn(child, scopeOf(shell));
      });
      return null;
  }
}

function inOrder(nodes: readonly SyntaxNode[], shell: Shell): string | null {
  let printed: string | null = '';
  for (const node of nodes) {
    const more = read(node, shell);
    if (!spend(shell, 1)) return null;
    printed = printed === null || more === null || printed.length > 65_536 ? null : printed + more;
  }
  return printed;
}

const scopeOf = (shell: Shell): Scope => ({
  valueOf: (name) => {
    if (/^[1-9]\d*$/.test(name)) return shell.positional[Number(name) - 1] ?? '';
    if (name === '@' || name === '*') return shell.positional.join(' ');
    if (name === 'PWD') return shell.place.cwd;
    return spend(shell, shell.variables.depth) ? valueIn(shell.variables, name) : null;
  },
  assign: (name, value) => void shell.variables.own.set(name, value),
  printed: (node) => read(node, apart(shell)),
  fileOf: (printed) => {
    const file = `/dev/fd/${63 + shell.reading.files.size}`;
    shell.reading.files.set(file, printed);
    return file;
  },
  positional: shell.positional,
  spend: (amount) => spend(shell, amount),
});

function readSimple({ prefix, name, suffix }: Command, shell: Shell): string | null {
  const scope = scopeOf(shell);
  for (const part of prefix) if (part.type === 'Assignment') assign(part, shell);
  const argv = name === undefined ? [] : [...fieldsOf(name, scope)];
  const redirections: Redirection[] = prefix.filter((part) => part.type !== 'Assignment');
  for (const part of suffix) {
    if (part.type === 'Word') for (const field of fieldsOf(part, scope)) argv.push(field);
    else if (part.type === 'Assignment') argv.push(`${part.name}=${assign(part, shell)}`);
    else redirections.push(part);
  }
  const input = redirect(redirections, shell);
  const [first] = argv;
  if (first === undefined) return '';
  const body = shell.functions.get(first);
  if (body === undefined) return start(argv, { ...shell, input });
  return call(first, body, { ...shell, input, positional: argv.slice(1) });
}

/** Not followed any further is what a function does after it has started itself twice, and what is beyond the limits. */
function call(name: string, body: SyntaxNode, shell: Shell): string | null {
  const { reading, calls } = shell;
  const isOutermost = calls.length === 0;
  const before = reading.left;
  if (isOutermost) reading.callsTo = before - reading.callsLeft;
  if (calls.length >= maxCalls || calls.filter((each) => each === name).length > 1) return null;
  if (before <= reading.callsTo) return null;
  const printed = read(body, { ...shell, calls: [...calls, name] });
  if (isOutermost) reading.callsLeft -= before - reading.left;
  return printed;
}

function assign({ name, value, append, index }: Assignment, shell: Shell): string {
  const scope = scopeOf(shell);
  const text =
    value.type === 'Word'
      ? textOf(value, scope)
      : value.elements
          .flatMap((element) => fieldsOf(element, scope))
          .map(plain)
          .join(' ');
  const before = append === true ? (valueIn(shell.variables, name) ?? '') : '';
  if (!spend(shell, before.length + text.length)) return UNKNOWN;
  shell.variables.own.set(name, index === undefined ? before + text : UNKNOWN);
  return text;
}

/** Answers the input that is left after the redirections. */
function redirect(redirections: readonly Redirection[], shell: Shell): string | null {
  let { input } = shell;
  const scope = scopeOf(shell);
  for (const redirection of redirections) {
    if (redirection.type === 'HereDoc') {
      const { parts, text } = redirection.body;
      input = parts === undefined ? text : textOfParts(parts, scope);
    } else if (redirection.target !== undefined) {
      const file = textOf(redirection.target, scope);
      if (redirection.type === 'HereString') input = file;
      else {
        const type = redirection.operator.includes('>') ? 'WRITES' : 'READS';
        if (type === 'READS') input = null;
        tell(shell, { type, file, at: at(shell) });
      }
    }
  }
  return input;
}

/** Whether a function starts itself twice, one beside the other: by a pipe or in the background. */
function multiplies(name: string, body: SyntaxNode, shell: Shell): boolean {
  let calls = 0;
  let beside = false;
  const look = (node: SyntaxNode, isBeside: boolean, depth: number): void => {
    if (depth > 256 || !spend(shell, 'script' in node ? node.end - node.pos : 1)) return;
    if (node.type === 'Command' && node.name?.value === name) {
      calls++;
      beside ||= isBeside;
    }
    const opens = node.type === 'Pipeline' || (node.type === 'Statement' && node.background === true);
    forEachChild(node, (child) => {
      look(child, isBeside || opens, depth + 1);
    });
  };
  look(body, false, 0);
  return calls > 1 && beside;
}

// --- What starts something else -------------------------------------------------------------------------------------

/** Options that take a value, and how many operands stand before the program. */
interface Wrapper {
  readonly valued: string;
  readonly operands?: number;
}

const wrappers: ReadonlyMap<string, Wrapper> = new Map<string, Wrapper>([
  ['sudo', { valued: 'ugpCrtTUDhR' }],
  ['doas', { valued: 'uC' }],
  ['env', { valued: 'uC' }],
  ['nice', { valued: 'n' }],
  ['ionice', { valued: 'cn' }],
  ['chrt', { valued: 'TPD', operands: 1 }],
  ['taskset', { valued: '', operands: 1 }],
  ['nohup', { valued: '' }],
  ['setsid', { valued: '' }],
  ['time', { valued: 'fo' }],
  ['timeout', { valued: 'ks', operands: 1 }],
  ['stdbuf', { valued: 'ioe' }],
  ['strace', { valued: 'eopaPsS' }],
  ['flock', { valued: 'wE', operands: 1 }],
  ['exec', { valued: 'a' }],
  ['command', { valued: '' }],
  ['builtin', { valued: '' }],
  ['busybox', { valued: '' }],
  ['xargs', { valued: 'IdEnLPsa' }],
]);

const valuedLong =
  /^--(?:user|group|host|chdir|unset|adjustment|class|classdata|signal|kill-after|arg-file|delimiter|max-(?:args|lines|procs))$/;

const shells = new Set(['sh', 'bash', 'dash', 'ash', 'ksh', 'zsh']);
const passes = new Set(['cat', 'tee']);
const declares = new Set(['export', 'local', 'declare', 'readonly', 'typeset']);

/** Where the program stands that a wrapper starts. */
function afterOptions(args: readonly string[], { valued, operands = 0 }: Wrapper): number {
  let index = 0;
  for (; index < args.length; index++) {
    const arg = args[index] as string;
    if (arg === '--') {
      index++;
      break;
    }
    if (!/^-./.test(arg)) break;
    // The value is the rest of the argument, or the next one.
    const letter = arg.startsWith('--') ? -1 : [...arg].findIndex((character) => valued.includes(character));
    if ((letter > 0 && letter === arg.length - 1) || valuedLong.test(arg)) index++;
  }
  return index + operands;
}

function start(argv: readonly string[], shell: Shell): string | null {
  const [path = '', ...args] = argv;
  const program = path.slice(path.lastIndexOf('/') + 1);
  if (shell.reading.depth > maxDepth) return giveUp(shell);
  if (!spend(shell, 16 + lengthOf(argv))) return null;
  tell(shell, { type: 'RUNS', program, args, at: at(shell), isOwn: isOwn(path, shell) });
  shell.reading.depth++;
  const printed = follow(program, args, shell);
  shell.reading.depth--;
  return printed;
}

const ofSystem = /^(?:\/(?:usr\/|opt\/|nix\/|run\/|snap\/|s?bin\/)|(?:\.\.\/)+(?:usr\/(?:local\/)?)?s?bin\/)/;

const isOwn = (path: string, shell: Shell): boolean =>
  path.includes('/') && !isUnknown.test(path) && !ofSystem.test(at(shell)(path) ?? path);

/** With what it takes to look at each of them. */
const lengthOf = (words: readonly string[]): number =>
  words.reduce((length, word) => length + word.length + 2, 0);

function follow(program: string, args: readonly string[], shell: Shell): string | null {
  const wrapper = wrappers.get(program);
  if (wrapper !== undefined) return startWrapped(program, args, wrapper, shell);
  if (shells.has(program)) return startShell(args, shell);
  if (passes.has(program))
    return args.length === 0 ? shell.input : (shell.reading.files.get(args[0] as string) ?? null);
  if (declares.has(program)) return '';
  switch (program) {
    case 'echo':
      return `${args
        .filter((arg, index) => index > 0 || !/^-[neE]+$/.test(arg))
        .map(plain)
        .join(' ')}\n`;
    case 'printf':
      return printedBy(args);
    case 'which':
      return args.length === 1 ? plain(args[0] as string) : null;
    case 'pwd':
      return shell.place.cwd;
    case 'cd':
    case 'pushd':
      shell.place.cwd = at(shell)(args.find((arg) => !/^-[LPe@-]/.test(arg)) ?? '');
      return '';
    case 'popd':
      shell.place.cwd = null;
      return null;
    case 'set':
      if (args[0] === '--') shell.positional.splice(0, Infinity, ...args.slice(1));
      return '';
    case 'unset':
      for (const name of args) shell.variables.own.set(name, '');
      return '';
    case 'eval':
      return script(args.map(plain).join(' '), shell);
    case '.':
    case 'source': {
      const text = shell.reading.files.get(args[0] ?? '');
      return text === undefined ? null : script(text, shell);
    }
    case 'trap':
      return script(plain(args[0] ?? ''), apart(shell));
    case 'watch':
      return script(
        args
          .slice(afterOptions(args, { valued: 'n' }))
          .map(plain)
          .join(' '),
        apart(shell),
      );
    case 'su':
    case 'runuser':
    case 'script': {
      const option = args.findIndex((arg) => arg === '-c' || arg === '--command');
      return option < 0 ? null : script(plain(args[option + 1] ?? ''), apart(shell));
    }
    case 'find':
      startFound(args, shell);
      return null;
    default:
      return null;
  }
}

function startWrapped(
  program: string,
  args: readonly string[],
  wrapper: Wrapper,
  shell: Shell,
): string | null {
  // Asks what a name stands for.
  if (program === 'command' && /^-[vV]$/.test(args[0] ?? '')) return args[1] ?? '';
  if (program === 'env') {
    const split = splitBy(args, wrapper);
    if (split !== null) return script(split.map(plain).join(' '), apart(shell));
  }
  let index = afterOptions(args, wrapper);
  for (; /^[A-Za-z_]\w*=/.test(args[index] ?? ''); index++) {
    const [name = '', value = ''] = (args[index] as string).split(/=(.*)/s);
    shell.variables.own.set(name, plain(value));
  }
  const argv = args.slice(index);
  if (argv.length === 0) return program === 'exec' ? '' : null;
  if (program === 'flock' && argv[0] === '-c') return script(plain(argv[1] ?? ''), apart(shell));
  return start(program === 'xargs' ? withItems(args.slice(0, index), argv, shell) : argv, shell);
}

/** What `env -S` makes arguments of, in any of the ways to write it; null when it is not told to. */
function splitBy(args: readonly string[], { valued }: Wrapper): readonly string[] | null {
  for (let index = 0; /^-./.test(args[index] ?? ''); index++) {
    const arg = args[index] as string;
    const rest = args.slice(index + 1);
    if (arg === '--') return null;
    const [name = '', value] = arg.split(/=(.*)/s);
    if (name.length > 3 && '--split-string'.startsWith(name)) {
      return value === undefined ? rest : [value, ...rest];
    }
    const letter = arg.startsWith('--')
      ? -1
      : [...arg].findIndex((each) => valued.includes(each) || each === 'S');
    if (letter > 0 && arg.charAt(letter) === 'S')
      return letter === arg.length - 1 ? rest : [arg.slice(letter + 1), ...rest];
    if ((letter > 0 && letter === arg.length - 1) || valuedLong.test(arg)) index++;
  }
  return null;
}

/** What xargs starts: the words of its input at the end, or where the mark of `-I` is. */
function withItems(options: readonly string[], argv: readonly string[], shell: Shell): readonly string[] {
  const { input } = shell;
  if (input !== null && !spend(shell, 4 * input.length)) return argv;
  const items = input === null ? [UNKNOWN] : input.split(/\s+/).filter((item) => item !== '');
  const option = options.findIndex((arg) => arg.startsWith('-I'));
  const mark = option < 0 ? '' : options[option] === '-I' ? options[option + 1] : options[option]?.slice(2);
  if (mark === undefined || mark === '') return [...argv, ...items];
  return argv.flatMap((arg) => (arg === mark ? items : [arg.replaceAll(mark, items[0] ?? '')]));
}

function startShell(args: readonly string[], shell: Shell): string | null {
  let isScript = false;
  let index = 0;
  for (; /^[-+]./.test(args[index] ?? ''); index++) {
    const option = args[index] as string;
    if (option === '--') {
      index++;
      break;
    }
    isScript ||= /^-\w*c/.test(option);
    if (/^[-+]\w*[oO]$/.test(option)) index++;
  }
  if (isScript) {
    return script(plain(args[index] ?? ''), { ...apart(shell), positional: args.slice(index + 2) });
  }
  const file = shell.reading.files.get(args[index] ?? '');
  if (file !== undefined) return script(file, { ...apart(shell), positional: args.slice(index + 1) });
  const readsInput = index >= args.length || args.slice(0, index).some((arg) => /^-\w*s/.test(arg));
  if (!readsInput || shell.input === null) return null;
  return script(shell.input, { ...apart(shell), input: null, positional: args.slice(index) });
}

/** The text, where the format says it as it is. */
function printedBy([format = '', ...args]: readonly string[]): string | null {
  const text = plain(format).replace(/\\n/g, '\n');
  if (/^(?:%s\s*)+$/.test(text)) return `${args.map(plain).join(text.includes('\n') ? '\n' : ' ')}\n`;
  return /[%\\]/.test(text) ? null : text;
}

/** `-exec` runs once for what is found: the whole of a start when nothing narrows it. */
function startFound(args: readonly string[], shell: Shell): void {
  if (!spend(shell, 4 * lengthOf(args))) return;
  const { starts, expression, narrowed } = foundBy(args);
  for (let index = 0; index < expression.length; index++) {
    if (!/^-(?:exec|ok)(?:dir)?$/.test(expression[index] as string)) continue;
    let end = index + 1;
    while (end < expression.length && expression[end] !== ';' && expression[end] !== '+') end++;
    const argv = expression.slice(index + 1, end);
    for (const place of narrowed ? [UNKNOWN] : starts) {
      start(
        argv.map((arg) => arg.replaceAll('{}', place)),
        apart(shell),
      );
    }
    index += argv.length;
  }
}

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

/** A word for a person: what is not known is an ellipsis. */
export const shown = (text: string): string =>
  text.replaceAll(UNKNOWN, '…').replaceAll(UNSET, '…').replaceAll(STAR, '*').replaceAll(ANY, '?');
