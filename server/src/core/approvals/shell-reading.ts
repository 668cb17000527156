/**
 * Owns: what a command line does, as far as it can be read without running it: which programs it starts with which
 * arguments, and which files it redirects. Does not own: the words (`shell-words.ts`), how a program is told what it starts
 * (`shell-starts.ts`), what a shell does by itself (`shell-builtins.ts`), what is remembered meanwhile (`shell-state.ts`) or has
 * changed before a trap or a function runs (`shell-later.ts`), or what may not be (`denied.ts`).
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
import { multiplies } from './fork-bombs.ts';
import { doneByShell } from './shell-builtins.ts';
import { callFunction, runLater, runUncalled, type Script } from './shell-later.ts';
import { plain, STAR, UNKNOWN, UNSET } from './shell-signs.ts';
import { isOutOfProportion, signsIn } from './shell-size.ts';
import {
  afterOptions,
  asksForShell,
  foundBy,
  givenScript,
  goneTo,
  inParallel,
  shellCallOf,
  shells,
  splitBy,
  startedBy,
  withItems,
  wrappers,
  type Wrapper,
} from './shell-starts.ts';
import {
  anyBecomesSet,
  apart,
  becomesSet,
  beginsUnknown,
  giveUp,
  newShell,
  pathOf,
  spend,
  valueIn,
  type Shell,
} from './shell-state.ts';
import { fieldsOf, substitutionsIn, textOf, textOfParts, type Scope } from './shell-words.ts';

export type Deed =
  | {
      readonly type: 'RUNS';
      readonly program: string;
      readonly args: readonly string[];
      readonly at: At;
      /** It is named by a path that is none of the system's: a script of the workspace, say. */
      readonly isOwn: boolean;
      readonly written: () => Written;
    }
  | { readonly type: 'READS' | 'WRITES'; readonly file: string; readonly at: At }
  /** A function that starts itself more than once at a time. */
  | { readonly type: 'MULTIPLIES'; readonly name: string }
  /** The command is too long or too deep: there may be more than was told. */
  | { readonly type: 'UNREAD'; readonly command: string };

/** The command by which something is run, in the words of who wrote it. */
interface Written {
  readonly words: readonly string[];
  /** Those of the variables in a word that may be empty. */
  readonly emptyIn: (word: string) => readonly string[];
}

/** The absolute path an operand means, without `.` and `..`; null when it cannot be known. */
type At = (operand: string) => string | null;

/**
 * What may be done for one command, in what it takes to read one character of it, about 20 ns. It is read on the one
 * thread there is, at every poll, so that all of it must take no longer than about 10 ms.
 */
const workLimit = 400_000;
/** Of that, for what functions do when they are called: what they do at all was read where they are defined. */
const callLimit = 100_000;
/** For each sign that makes the parser do something: it takes its time before anything of it can be looked at. */
const workOfSign = 60;
const maxDepth = 200;
/** Texts in texts (`sh -c "sh -c …"`). */
const maxScripts = 8;

type Judge = (deed: Deed) => string | null;

/** The first thing `judge` says about what the command does; null when it says nothing. */
export function readCommand(command: string, judge: Judge): string | null {
  const shell = newShell(workLimit, callLimit);
  const { reading } = shell;
  script(command, { ...shell, judge, script: { text: '', assigned: [] } });
  return reading.found ?? (reading.isUnread ? judge({ type: 'UNREAD', command }) : null);
}

interface Reader extends Shell {
  readonly judge: Judge;
  /** The one it is in. */
  readonly script: Script;
}

function tell({ reading, judge }: Reader, deed: Deed): void {
  reading.found ??= judge(deed);
}

/** Answers what it prints, as every reader below; null when that is not known. */
function script(words: string, shell: Reader): string | null {
  const text = plain(words);
  if (shell.scripts > maxScripts) return giveUp(shell);
  if (!spend(shell, 60 + text.length)) return null;
  const { signs, code } = signsIn(text, shell.reading.left / workOfSign);
  if (!spend(shell, workOfSign * signs)) return null;
  const parsed = isOutOfProportion(code) ? null : parsedOf(text);
  return parsed === null
    ? giveUp(shell)
    : read(parsed, { ...shell, scripts: shell.scripts + 1, script: { text, assigned: null } });
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

const at =
  (shell: Shell): At =>
  (operand) =>
    pathOf(shell, operand);

function read(node: SyntaxNode, shell: Reader): string | null {
  if (shell.reading.depth > maxDepth) return giveUp(shell);
  if (!spend(shell, 12)) return null;
  shell.reading.depth++;
  const printed = readNode(node, shell);
  shell.reading.depth--;
  return printed;
}

function readNode(node: SyntaxNode, shell: Reader): string | null {
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
      read(node.body, runUncalled(shell));
      return '';
    case 'For':
    case 'Select': {
      const words = node.wordlist?.flatMap((word) => fieldsOf(word, scopeOf(shell))) ?? shell.positional;
      for (const word of new Set(words.length === 0 ? [UNKNOWN] : words)) {
        // The loop is not run for what is not set.
        if (!spend(shell, 1)) return null;
        shell.variables.own.set(node.name.value, word.replaceAll(UNSET, UNKNOWN));
        read(node.body, shell);
      }
      return null;
    }
    case 'Case':
      asksAbout(node.word, shell);
      return readRest(node, shell);
    case 'TestCommand':
    case 'ArithmeticCommand':
      readRest(node, shell);
      asksAbout(node, shell);
      return null;
    default:
      return readRest(node, shell);
  }
}

/** Of the rest every command in it is read; a test or a sum only for what it substitutes. */
function readRest(node: SyntaxNode, shell: Reader): null {
  forEachChild(node, (child) => {
    if (child.type === 'CompoundList' || child.type === 'CaseItem' || child.type === 'Elif')
      read(child, shell);
    else substitutionsIn(child, scopeOf(shell));
  });
  return null;
}

function inOrder(nodes: readonly SyntaxNode[], shell: Reader): string | null {
  let printed: string | null = '';
  for (const node of nodes) {
    const more = read(node, shell);
    if (!spend(shell, 1)) return null;
    printed = printed === null || more === null || printed.length > 65_536 ? null : printed + more;
  }
  return printed;
}

const parameters = /\$\{?#?([A-Za-z_]\w*|[1-9]\d?|[#@*])/g;

/** Who tests a variable knows that it may be empty, and goes on as if it were not. */
function asksAbout(node: SyntaxNode, shell: Reader, depth = 0): void {
  if (depth > 16 || !spend(shell, 1)) return;
  if (node.type === 'Word' || node.type === 'ArithmeticCommand') {
    const text = node.type === 'Word' ? node.text : node.body;
    if (!spend(shell, text.length)) return;
    for (const [, name = ''] of text.matchAll(parameters)) becomesSet(shell, name);
    return;
  }
  if (node.type === 'TestUnary' && node.operator === '-v') becomesSet(shell, node.operand.value);
  forEachChild(node, (child) => {
    asksAbout(child, shell, depth + 1);
  });
}

/** What a shell has set by itself, or the session it was begun in. */
const alwaysSet = new Set(
  'PWD PPID UID EUID RANDOM SECONDS LINENO HOSTNAME SHLVL BASHPID USER LOGNAME'.split(' '),
);

const scopeOf = (shell: Reader): Scope => ({
  valueOf: (name) => {
    if (/^[1-9]\d*$/.test(name))
      return shell.positional[Number(name) - 1] ?? (shell.place.mayUnset ? '' : UNKNOWN);
    if (name === '@' || name === '*') return shell.positional.join(' ');
    if (name === 'PWD') return shell.place.cwd;
    return valueIn(shell, name);
  },
  missing: (name) =>
    shell.place.mayUnset && /^[A-Za-z_]/.test(name) && !alwaysSet.has(name) ? UNSET : UNKNOWN,
  assign: (name, value) => void shell.variables.own.set(name, value),
  becomesSet: (name) => {
    becomesSet(shell, name);
  },
  printed: (node) => read(node, apart(shell)),
  fileOf: (printed) => {
    const file = `/dev/fd/${63 + shell.reading.files.size}`;
    shell.reading.files.set(file, printed);
    return file;
  },
  positional: shell.positional,
  spend: (amount) => spend(shell, amount),
});

function readSimple(node: Command, shell: Reader): string | null {
  const { prefix, name, suffix } = node;
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
  if (first === '[' || first === 'test') {
    for (const part of suffix) if (part.type === 'Word') asksAbout(part, shell);
    if (argv[1] === '-v') becomesSet(shell, argv[2] ?? '');
  }
  shell.reading.command = node;
  const body = shell.functions.get(first);
  if (body === undefined) return start(argv, { ...shell, input });
  const called = { ...shell, input, positional: argv.slice(1) };
  return callFunction(first, called, (inside) => read(body, inside));
}

function assign({ name, value, append, index }: Assignment, shell: Reader): string {
  const scope = scopeOf(shell);
  if (index !== undefined) substitutionsIn(index, scope);
  const text =
    value.type === 'Word'
      ? textOf(value, scope)
      : value.elements
          .flatMap((element) => fieldsOf(element, scope))
          .map(plain)
          .join(' ');
  const before = append === true ? (valueIn(shell, name) ?? '') : '';
  if (!spend(shell, before.length + text.length)) return UNKNOWN;
  shell.variables.own.set(name, index === undefined ? before + text : UNKNOWN);
  return text;
}

/** Answers the input that is left after the redirections. */
function redirect(redirections: readonly Redirection[], shell: Reader): string | null {
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
        if (type === 'READS') input = shell.reading.files.get(file) ?? null;
        tell(shell, { type, file, at: at(shell) });
      }
    }
  }
  return input;
}

// --- What a program starts -----------------------------------------------------------------------------------------

function start(argv: readonly string[], shell: Reader): string | null {
  const [path = '', ...args] = argv;
  const program = path.slice(path.lastIndexOf('/') + 1);
  if (shell.reading.depth > maxDepth) return giveUp(shell);
  if (!spend(shell, 16 + lengthOf(argv) * (program === 'find' ? 5 : 1))) return null;
  const written = (): Written => writtenIn(shell);
  tell(shell, { type: 'RUNS', program, args, at: at(shell), isOwn: isOwn(path, shell), written });
  shell.reading.depth++;
  const printed = follow(program, args, shell);
  shell.reading.depth--;
  return printed;
}

function writtenIn(shell: Reader): Written {
  const { command } = shell.reading;
  const words = command === null ? [] : [command.name, ...command.args].map((word) => word?.text ?? '');
  const scope = scopeOf(shell);
  const mayBeEmpty = (name: string): boolean => {
    const value = scope.valueOf(name) ?? scope.missing(name);
    return value === '' || value.includes(UNSET);
  };
  return {
    words,
    emptyIn: (word) => [...word.matchAll(parameters)].map(([, name = '']) => name).filter(mayBeEmpty),
  };
}

const ofSystem = /^(?:\/(?:usr\/|opt\/|nix\/|run\/|snap\/|s?bin\/)|(?:\.\.\/)+(?:usr\/(?:local\/)?)?s?bin\/)/;

const isOwn = (path: string, shell: Reader): boolean =>
  path.includes('/') && !beginsUnknown(path) && !ofSystem.test(at(shell)(path) ?? path);

/** With what it takes to look at each of them. */
const lengthOf = (words: readonly string[]): number =>
  words.reduce((length, word) => length + word.length + 12, 0);

function follow(program: string, args: readonly string[], shell: Reader): string | null {
  const wrapper = wrappers.get(program);
  if (wrapper !== undefined) return startWrapped(program, args, wrapper, shell);
  if (shells.has(program)) return startShell(args, shell);
  const builtIn = doneByShell(program, args, shell);
  if (builtIn !== undefined) return builtIn;
  switch (program) {
    case 'eval': {
      const text = args.slice(args[0] === '--' ? 1 : 0).join(' ');
      if (text.includes(UNKNOWN)) anyBecomesSet(shell);
      return script(text, shell);
    }
    case '.':
    case 'source': {
      const text = args[0] === '/dev/stdin' ? shell.input : shell.reading.files.get(args[0] ?? '');
      if (typeof text === 'string') return script(text, shell);
      anyBecomesSet(shell);
      return null;
    }
    case 'trap':
      return script(args.find((arg) => arg !== '--') ?? '', runLater(shell));
    case 'at':
    case 'batch':
      return shell.input === null ? null : script(shell.input, apart(shell));
    case 'watch':
      return script(args.slice(afterOptions(args, { valued: 'n' })).join(' '), apart(shell));
    case 'su':
    case 'runuser':
    case 'script': {
      const text = givenScript(args);
      if (text !== null) return script(text, apart(shell));
      const end = args.indexOf('--');
      if (end >= 0 && end < args.length - 1) return start(args.slice(end + 1), apart(shell));
      return program === 'script' ? null : startShell([], shell);
    }
    case 'find':
      return startFound(args, shell);
    default:
      return null;
  }
}

function startWrapped(
  program: string,
  args: readonly string[],
  wrapper: Wrapper,
  shell: Reader,
): string | null {
  // Asks what a name stands for.
  if (program === 'command' && /^-[vV]$/.test(args[0] ?? '')) return args[1] ?? '';
  if (program === 'env') {
    const split = splitBy(args, wrapper);
    if (split !== null) return script(split.join(' '), apart(shell));
  }
  let index = afterOptions(args, wrapper);
  const options = args.slice(0, index);
  for (; /^[A-Za-z_]\w*=/.test(args[index] ?? ''); index++) {
    const [name = '', value = ''] = (args[index] as string).split(/=(.*)/s);
    shell.variables.own.set(name, plain(value));
  }
  const argv = args.slice(index);
  if (argv.length === 0) {
    if (asksForShell(program, options)) return startShell([], shell);
    return program === 'exec' ? '' : null;
  }
  if (program === 'flock' && argv[0] === '-c') return script(argv[1] ?? '', apart(shell));
  if (program === 'parallel') return start(inParallel(argv, itemsOf(shell)), shell);
  if (program === 'xargs') return start(withItems(options, argv, itemsOf(shell)), shell);
  const place = program === 'env' ? goneTo(options) : null;
  if (place === null) return start(argv, shell);
  const there = apart(shell);
  there.place.cwd = pathOf(shell, place);
  return start(argv, there);
}

/** The words of what is read. */
function itemsOf(shell: Reader): readonly string[] {
  const { input } = shell;
  if (input === null || !spend(shell, 4 * input.length)) return [UNKNOWN];
  return input.split(/\s+/).filter((item) => item !== '');
}

function startShell(args: readonly string[], shell: Reader): string | null {
  const call = shellCallOf(args);
  const inner = { ...apart(shell), positional: [...call.positional] };
  if (call.failsOnUnset) inner.place.mayUnset = false;
  switch (call.type) {
    case 'TEXT':
      return script(call.what, inner);
    case 'FILE': {
      const text = shell.reading.files.get(call.what);
      return text === undefined ? null : script(text, inner);
    }
    case 'INPUT':
      return shell.input === null ? null : script(shell.input, { ...inner, input: null });
  }
}

/** It starts something once for what is found: the whole of a start when nothing narrows it. */
function startFound(args: readonly string[], shell: Reader): string | null {
  const { starts, expression, narrowed } = foundBy(args);
  const commands = startedBy(expression);
  // What is found lies in there, in the root mostly a folder deeper; where it is not known, it is as if it were the start.
  const found = starts.map((place) => {
    if (beginsUnknown(place)) return place;
    return `${place.replace(/\/+$/, '')}/${STAR}${at(shell)(place) === '/' ? `/${STAR}` : ''}`;
  });
  for (const argv of commands) {
    for (const place of narrowed ? [UNKNOWN] : found) {
      if (!spend(shell, 16 + lengthOf(argv))) return null;
      start(
        argv.map((arg) => arg.replaceAll('{}', place)),
        apart(shell),
      );
    }
  }
  return narrowed || commands.length > 0 ? null : `${found.join('\n')}\n`;
}
