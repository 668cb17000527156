/**
 * Owns: which files a program is told to show, so that a word it looks for, a text it prints or a script it is given is not
 * taken for one. Does not own: which files may not be shown (`denied.ts`).
 *
 * Of a program that is not known here an argument is a file, except after an option, whose value it may be.
 */
import { startsOthers } from './shell-starts.ts';

/** They print what they are told to, or only look for files, name them, make, move and describe them. */
const showNothing = new Set(
  (
    ': true false echo printf test [ export local declare readonly typeset set unset alias read return cd pushd popd ' +
    'ls stat file readlink realpath basename dirname mkdir rmdir touch rm ln chmod chown chgrp which type man whatis ' +
    'logger wall notify-send say kill pgrep pkill tr seq sleep gh glab npm pnpm yarn make git'
  ).split(' '),
);

/** They show their operands; none of their options takes a text that looks like a path. */
const showAll = new Set(
  (
    'cat tac nl less more most head tail strings xxd od hexdump hd base64 base32 cut sort uniq shuf cp mv install ' +
    'rsync scp tar zip gzip bzip2 xz zstd zcat diff cmp comm paste join fold fmt rev split wc column bat batcat view vi ' +
    'vim nvim nano ed ex emacs dd md5sum sha256sum cksum'
  ).split(' '),
);

interface Texts {
  /** Short options whose value is no file that is shown. */
  readonly valued: string;
  readonly long: RegExp;
  /** Those of them that are what otherwise the first operand is. */
  readonly instead: RegExp;
}

const grep: Texts = {
  valued: 'efmABCdDgtTMjrE',
  long: /^--(?:regexp|file|max-count|context|after-context|before-context|include|exclude|exclude-dir|exclude-from|glob|iglob|type|type-not|replace|label|color|colour|encoding|max-depth|threads|binary-files|directories|devices)$/,
  instead: /^(?:-[a-zA-Z]*[ef]|--(?:regexp|file)(?:=|$)|--files$)/,
};
/** Here `-r` and its like take nothing. */
const gnuGrep: Texts = { ...grep, valued: 'efmABCdD' };
const sed: Texts = {
  valued: 'efl',
  long: /^--(?:expression|file|line-length)$/,
  instead: /^(?:-[a-zA-Z]*[ef]|--(?:expression|file)(?:=|$))/,
};
const awk: Texts = {
  valued: 'Fvfeil',
  long: /^--(?:field-separator|assign|file|source|include|load)$/,
  instead: /^(?:-[fe]|--(?:file|source)(?:=|$))/,
};
const jq: Texts = {
  valued: 'fL',
  long: /^--(?:from-file|indent)$/,
  instead: /^(?:-[a-zA-Z]*f|--from-file)/,
};
const script: Texts = {
  valued: 'ceEprIMmW',
  long: /^--(?:eval|print|require|import|loader)$/,
  instead: /^-/,
};

/** The first operand is what to look for or to do; the others are files. */
const takeText: ReadonlyMap<string, Texts> = new Map([
  ...['grep', 'egrep', 'fgrep', 'zgrep'].map((name) => [name, gnuGrep] as const),
  ...['rg', 'ag', 'ack'].map((name) => [name, grep] as const),
  ...['sed', 'gsed'].map((name) => [name, sed] as const),
  ...['awk', 'gawk', 'mawk', 'nawk'].map((name) => [name, awk] as const),
  ...['jq', 'yq'].map((name) => [name, jq] as const),
  ...['python', 'python3', 'node', 'deno', 'bun', 'ruby', 'perl', 'php', 'lua'].map(
    (name) => [name, script] as const,
  ),
]);

/** The arguments of a program that name files whose content it shows, or hands on. */
export function filesShownBy(program: string, args: readonly string[]): readonly string[] {
  if (program === 'git') return args.includes('--no-index') ? operandsAfter(args, () => false) : [];
  if (program === 'curl' || program === 'wget') return args.flatMap(fileSentBy);
  if (showNothing.has(program) || startsOthers.has(program)) return [];
  if (program === 'dd') return args.filter((arg) => arg.startsWith('if=')).map((arg) => arg.slice(3));
  if (showAll.has(program)) return operandsAfter(args, () => false);
  const texts = takeText.get(program);
  if (texts === undefined) return operandsAfter(args, (option) => !option.includes('='));
  const operands = operandsAfter(args, (option) => takesText(option, texts));
  const end = args.indexOf('--');
  const options = end < 0 ? args : args.slice(0, end);
  return options.some((option) => texts.instead.test(option)) ? operands : operands.slice(1);
}

/** Whether it looks through folders, too. */
export const looksThrough = (program: string, args: readonly string[]): boolean =>
  takeText.get(program) === grep ||
  (takeText.get(program) === gnuGrep &&
    args.some((arg) => /^(?:-[a-zA-Z]*[rR]|--(?:dereference-)?recursive$)/.test(arg)));

function takesText(option: string, { valued, long }: Texts): boolean {
  if (option.startsWith('--')) return long.test(option);
  const letter = [...option].findIndex((each, index) => index > 0 && valued.includes(each));
  return letter > 0 && letter === option.length - 1;
}

/** What is no option, and no value of one that takes the next argument. */
function operandsAfter(args: readonly string[], takesNext: (option: string) => boolean): readonly string[] {
  const operands: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] as string;
    if (arg === '--') {
      for (const operand of args.slice(index + 1)) operands.push(operand);
      break;
    }
    if (!/^-./.test(arg)) operands.push(arg);
    else if (takesNext(arg)) index++;
  }
  return operands;
}

/** `file:///a`, `@/a`, `name=@/a`, and what follows `-T`. */
function fileSentBy(arg: string, index: number, args: readonly string[]): readonly string[] {
  const before = args[index - 1] ?? '';
  if (/^(?:-T|--upload-file|--post-file|--body-file)$/.test(before)) return [arg];
  const joined = /^(?:-T|--(?:upload|post|body)-file=)(.+)$/s.exec(arg)?.[1];
  if (joined !== undefined) return [joined];
  const file = /^(?:--[\w-]+=)?(?:file:\/\/|(?:[^=@/]*=)?[@<])(\/.*)$/s.exec(arg)?.[1];
  return file === undefined ? [] : [file];
}
