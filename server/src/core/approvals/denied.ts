/**
 * Owns: the commands that are never run, whoever approves them (D-82), and the sentence that says so. Does not own: how a
 * command line is read (`shell-reading.ts`), which paths are the system (`system-paths.ts`), or which arguments are files
 * that are shown (`files-shown.ts`).
 *
 * **A guard against accidents, not a sandbox.** It stops what a model writes by mistake or in haste, matched on the words
 * a shell would make of the line, not on its letters. Who wants to get around it can: by a script file, another
 * language, or anything that is only known while it runs. What is not known is not denied, and neither is what does not
 * parse: that is for the shell to say. A command that is too much to be read is, as anything may stand in the rest.
 */
import { cut } from '../kit/cut.ts';
import { filesShownBy, looksThrough } from './files-shown.ts';
import { readCommand, type Deed } from './shell-reading.ts';
import { plain, shown, UNKNOWN, UNSET } from './shell-signs.ts';
import { foundBy } from './shell-starts.ts';
import { beginsUnknown } from './shell-state.ts';
import {
  holdsEnvironment,
  holdsFiles,
  isDevice,
  isDisk,
  isEnvironment,
  isRoot,
  isSwitch,
  isSystem,
  isSystemsOwn,
} from './system-paths.ts';

const maxShown = 120;

/** One sentence that names the part and says why it is never run; null when there is none. */
export const deniedIn = (command: string): string | null => readCommand(command, judge);

function judge(deed: Deed): string | null {
  switch (deed.type) {
    case 'MULTIPLIES':
      return sentence(`${deed.name}() { … }`, 'starts itself again and again until the machine stands still');
    case 'WRITES':
      if (isSwitch(deed.at(deed.file))) return sentence(`> ${deed.file}`, stops);
      return isDisk(deed.at(deed.file)) ? sentence(`> ${deed.file}`, overwrites) : null;
    case 'READS':
      return isEnvironment(deed.at(deed.file)) ? sentence(`< ${deed.file}`, reveals) : null;
    case 'RUNS': {
      const found = whyNot(deed);
      return found === null ? null : sentenceOf(deed, found);
    }
    case 'UNREAD':
      return sentence(
        deed.command,
        'is too long or too deeply nested to be looked through: put it into a file and run that',
      );
  }
}

interface Found {
  readonly why: string;
  /** The path that may not be. */
  readonly path?: string;
}

function whyNot(run: Run): Found | null {
  if (showsEnvironment(run)) return { why: reveals };
  // A script of somebody's own that is called `shutdown` is not the system's.
  if (run.isOwn) return null;
  const named = rules.get(run.program.startsWith('mkfs.') ? 'mkfs' : run.program) ?? [];
  for (const rule of named) {
    if ('holds' in rule) {
      if (rule.holds(run)) return rule;
      continue;
    }
    const paths = rule.paths(run);
    const path =
      paths.find((each) => isSystem(run.at(each))) ?? paths.find((each) => isSystemWhenUnset(run, each));
    if (path !== undefined) return { why: rule.why, path };
  }
  return null;
}

/** In the words of who wrote it, with what they come to where that is not to be seen, and with what to write instead. */
function sentenceOf(run: Run, { why, path }: Found): string {
  const { words, emptyIn } = run.written();
  const written = words.join(' ');
  const made = [run.program, ...run.args].join(' ');
  if (words.length === 0 || bare(written).includes(bare(shown(made)))) return sentence(made, why);
  const left = path === undefined ? undefined : bare(plain(path.replaceAll(UNSET, '')));
  const word = words.find((each) => withoutVariables(bare(each)) === left && emptyIn(each).length > 0);
  const [name] = word === undefined ? [] : emptyIn(word);
  if (name !== undefined)
    return sentence(written, `${why} when $${name} is empty or not set: write \${${name}:?} for it`);
  if (path?.includes(UNSET) === true)
    return sentence(written, `${why} when the variable in it is empty or not set: write \${NAME:?} for it`);
  const meaning = made.includes(UNKNOWN) || made.includes(UNSET) ? path : made;
  const isPlain = meaning === undefined || words.some((each) => bare(each) === bare(shown(meaning)));
  return sentence(written, isPlain ? why : `${why}: it comes to "${shortened(meaning)}"`);
}

const bare = (text: string): string => text.replace(/\\\n|["'\\]/g, '').replace(/\s+/g, ' ');

const withoutVariables = (word: string): string => word.replace(/\$(?:\w+|\{[^{}]*\})/g, '');

/** Only a root that nobody has named: `"$PREFIX"/lib` is somebody's own, and `/usr/$NAME` may be all of it. */
function isSystemWhenUnset(run: Run, path: string): boolean {
  if (!path.includes(UNSET)) return false;
  const left = run.at(path.replaceAll(UNSET, ''));
  return path.startsWith(UNSET) ? isRoot(left) : isSystem(left);
}

const shortened = (part: string): string => {
  const line = shown(part).replace(/\s+/g, ' ');
  return line.length > maxShown ? `${cut(line, maxShown - 1)}…` : line;
};

const sentence = (part: string, why: string): string =>
  `"${shortened(part)}" is never run, because it ${why}.`;

type Run = Extract<Deed, { type: 'RUNS' }>;

type Rule = { readonly programs: readonly string[]; readonly why: string } & (
  | { readonly holds: (run: Run) => boolean }
  /** What it does away with: never the system itself. */
  | { readonly paths: (run: Run) => readonly string[] }
);

const stops = 'stops the machine';
const overwrites = 'writes to a whole disk';
const reveals = 'shows the environment of a process, with the secrets in it';

const allRules: readonly Rule[] = [
  {
    programs: ['rm'],
    why: 'deletes the system itself',
    paths: (run) =>
      has(run, 'rR', 'recursive') ? operands(run) : operands(run).filter((path) => holdsFiles(run.at(path))),
  },
  {
    programs: ['find'],
    why: 'deletes the system itself',
    paths: (run) => {
      const { starts, expression, narrowed } = foundBy(run.args);
      return expression.includes('-delete') && !narrowed ? starts : [];
    },
  },
  {
    programs: ['rsync'],
    why: 'deletes the system itself',
    paths: (run) => (run.args.some((arg) => /^--del(?:ete.*)?$/.test(arg)) ? operands(run).slice(-1) : []),
  },
  {
    programs: ['mv'],
    why: 'moves the system itself away',
    paths: (run) => moved(run).from,
  },
  {
    programs: ['chmod', 'setfacl', 'chattr'],
    why: 'changes the permissions of the whole system',
    paths: (run) => (has(run, 'R', 'recursive') ? operands(run) : []),
  },
  {
    programs: ['chmod'],
    why: 'takes the permissions of the whole system away',
    paths: (run) =>
      run.args.some((arg) => takesAll.test(arg))
        ? operands(run).filter((path) => isSystemsOwn(run.at(path)))
        : [],
  },
  {
    programs: ['chown', 'chgrp'],
    why: 'changes the owner of the whole system',
    paths: (run) => (has(run, 'R', 'recursive') ? operands(run) : []),
  },
  {
    programs: ['mkfs', 'mke2fs'],
    why: 'makes a new file system where another one may be',
    holds: (run) => !asksForHelp(run) && !isPlainFile(run, operands(run).at(-1) ?? ''),
  },
  {
    programs: ['shutdown', 'reboot', 'halt', 'poweroff'],
    why: stops,
    holds: (run) => !asksForHelp(run) && !(run.program === 'shutdown' && run.args.includes('-c')),
  },
  {
    programs: ['systemctl', 'loginctl'],
    why: stops,
    holds: (run) =>
      /^(?:(?:halt|poweroff|reboot|kexec)\b|(?:start|isolate) (?:halt|poweroff|reboot|kexec|shutdown)\.target$)/.test(
        operands(run).join(' '),
      ),
  },
  {
    programs: ['init', 'telinit'],
    why: stops,
    holds: ({ args }) => args[0] === '0' || args[0] === '6',
  },
  {
    programs: ['tee'],
    why: stops,
    holds: (run) => operands(run).some((operand) => isSwitch(run.at(operand))),
  },
  {
    // The process -1 is every one there is; alone it is a signal.
    programs: ['kill'],
    why: 'ends every process of the user the server runs as, the server among them',
    holds: ({ args }) =>
      args.length > 1 &&
      args.at(-1) === '-1' &&
      // Asks only whether there are any.
      !/^(?:-0|-[sn] ?0|--signal[ =]0)(?: |$)/.test(args.join(' ')),
  },
  {
    programs: ['dd'],
    why: overwrites,
    holds: ({ args, at }) => args.some((arg) => arg.startsWith('of=') && isDisk(at(arg.slice(3)))),
  },
  {
    programs: ['tee', 'shred', 'blkdiscard', 'mkswap'],
    why: overwrites,
    holds: (run) => operands(run).some((operand) => isDisk(run.at(operand))),
  },
  {
    // Without these it only lists what is there.
    programs: ['wipefs'],
    why: overwrites,
    holds: (run) =>
      (has(run, 'ao', 'all') || has(run, '', 'offset')) &&
      operands(run).some((operand) => isDisk(run.at(operand))),
  },
  {
    // These list, or look, when nothing else is said.
    programs: ['sgdisk', 'parted', 'badblocks'],
    why: overwrites,
    holds: (run) =>
      (run.program === 'parted'
        ? run.args.some((arg) => /^(?:mklabel|mktable)$/.test(arg))
        : run.program === 'sgdisk'
          ? has(run, 'Zzo', 'zap-all')
          : has(run, 'w', 'write-mode')) && operands(run).some((operand) => isDisk(run.at(operand))),
  },
  {
    programs: ['sfdisk'],
    why: overwrites,
    holds: (run) =>
      !run.args.some((arg) => listsPartitions.test(arg)) &&
      operands(run).some((operand) => isDisk(run.at(operand))),
  },
  {
    programs: ['cp', 'mv', 'install', 'ln'],
    why: overwrites,
    holds: (run) => isDisk(run.at(moved(run).to)),
  },
];

const rules: ReadonlyMap<string, readonly Rule[]> = new Map(
  [...new Set(allRules.flatMap(({ programs }) => programs))].map((program) => [
    program,
    allRules.filter(({ programs }) => programs.includes(program)),
  ]),
);

function showsEnvironment(run: Run): boolean {
  // `ps auxe`, in the way of BSD without a dash.
  if (run.program === 'ps') return /^[a-zA-Z]*e[a-zA-Z]*$/.test(run.args[0] ?? '');
  return filesShownBy(run.program, run.args).some((file) => {
    const path = run.at(file);
    return isEnvironment(path) || (holdsEnvironment(path) && looksThrough(run.program, run.args));
  });
}

/** A short option, alone or among others, or a long one, also shortened as GNU programs take it. */
function has({ args }: Run, letters: string, long: string): boolean {
  const end = args.indexOf('--');
  return (end < 0 ? args : args.slice(0, end)).some((arg) =>
    arg.startsWith('--')
      ? arg.length > 4 && long.startsWith(arg.slice(2).replace(/=.*/s, ''))
      : arg.startsWith('-') && [...arg].some((letter) => letters.includes(letter)),
  );
}

function operands({ args }: Run): readonly string[] {
  const end = args.indexOf('--');
  if (end < 0) return args.filter((arg) => !/^-./.test(arg));
  return [...args.slice(0, end).filter((arg) => !/^-./.test(arg)), ...args.slice(end + 1)];
}

/** What `mv` and its like take, and where they put it: named last, or by `-t`. */
function moved({ program, args }: Run): { readonly from: readonly string[]; readonly to: string } {
  const from: string[] = [];
  let to: string | undefined;
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] as string;
    if (arg === '--') {
      from.push(...args.slice(index + 1));
      break;
    }
    if (arg.startsWith('--')) {
      const [name = '', value] = arg.split(/=(.*)/s);
      if (name.length > 3 && '--target-directory'.startsWith(name)) to = value ?? args[++index] ?? '';
    } else if (/^-./.test(arg)) {
      const valued = program === 'install' ? /[tSgmo]/ : /[tS]/;
      const at = arg.search(valued);
      if (at < 0) continue;
      const value = at < arg.length - 1 ? arg.slice(at + 1) : (args[++index] ?? '');
      if (arg[at] === 't') to = value;
    } else from.push(arg);
  }
  return to === undefined ? { from: from.slice(0, -1), to: from.at(-1) ?? '' } : { from, to };
}

/** A mode that leaves who owns the files without them. */
const takesAll = /^(?:0+|[go]*[ua][ugoa]*-[rwxX]*[rxX][rwxX]*|-[rwxX]*[rxX][rwxX]*)$/;

const listsPartitions =
  /^(?:-[a-zA-Z]*[ldJFsTVngvh]|--(?:list|dump|json|list-free|show-size|show-geometry|list-types|verify|no-act|version|help)\b)/;

const asksForHelp = ({ args }: Run): boolean =>
  args.some((arg) => /^(?:--help|--version|-h|-V)$/.test(arg)) && args.length === 1;

const isPlainFile = (run: Run, path: string): boolean =>
  path !== '' && !beginsUnknown(path) && !isDevice(run.at(path));
