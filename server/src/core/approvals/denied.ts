/**
 * Owns: the commands that are never run, whoever approves them (D-82), and the sentence that says so. Does not own: how a
 * command line is read (`shell-reading.ts`).
 *
 * **A guard against accidents, not a sandbox.** It stops what a model writes by mistake or in haste, matched on the words
 * a shell would make of the line, not on its letters. Who wants to get around it can: by a script file, another
 * language, or anything that is only known while it runs. What is not known is not denied, and neither is what does not
 * parse: that is for the shell to say. A command that is too much to be read is, as anything may stand in the rest.
 */
import { cut } from '../kit/cut.ts';
import { foundBy, readCommand, shown, type Deed } from './shell-reading.ts';
import { ANY, STAR, UNKNOWN, UNSET } from './shell-words.ts';

const maxShown = 120;

/** One sentence that names the part and says why it is never run; null when there is none. */
export const deniedIn = (command: string): string | null => readCommand(command, judge);

function judge(deed: Deed): string | null {
  switch (deed.type) {
    case 'MULTIPLIES':
      return sentence(`${deed.name}() { … }`, 'starts itself again and again until the machine stands still');
    case 'WRITES':
      return isDisk(deed.at(deed.file)) ? sentence(`> ${deed.file}`, overwrites) : null;
    case 'READS':
      return isEnvironment(deed.at(deed.file)) ? sentence(`< ${deed.file}`, reveals) : null;
    case 'RUNS': {
      const why = whyNot(deed);
      return why === null ? null : sentence([deed.program, ...deed.args].join(' '), why);
    }
    case 'UNREAD':
      return sentence(
        deed.command,
        'is too long or too deeply nested to be looked through: put it into a file and run that',
      );
  }
}

function whyNot(run: Run): string | null {
  if (showsEnvironment(run)) return reveals;
  // A script of somebody's own that is called `shutdown` is not the system's.
  if (run.isOwn) return null;
  const named = rules.get(run.program.startsWith('mkfs.') ? 'mkfs' : run.program) ?? [];
  return named.find(({ holds }) => holds(run))?.why ?? null;
}

const sentence = (part: string, why: string): string => {
  const line = shown(part).replace(/\s+/g, ' ');
  return `"${line.length > maxShown ? `${cut(line, maxShown - 1)}…` : line}" is never run, because it ${why}.`;
};

type Run = Extract<Deed, { type: 'RUNS' }>;

interface Rule {
  readonly programs: readonly string[];
  readonly why: string;
  readonly holds: (run: Run) => boolean;
}

const overwrites = 'writes to a whole disk';
const reveals = 'shows the environment of a process, with the secrets in it';

const allRules: readonly Rule[] = [
  {
    programs: ['rm'],
    why: 'deletes the system itself',
    holds: (run) =>
      has(run, 'rR', 'recursive') &&
      (touchesSystem(run, operands(run)) || operands(run).some((operand) => isRootWhenUnset.test(operand))),
  },
  {
    programs: ['find'],
    why: 'deletes the system itself',
    holds: (run) => {
      const { starts, expression, narrowed } = foundBy(run.args);
      return expression.includes('-delete') && !narrowed && touchesSystem(run, starts);
    },
  },
  {
    programs: ['mv'],
    why: 'moves the system itself away',
    holds: (run) =>
      touchesSystem(run, has(run, 't', 'target-directory') ? operands(run) : operands(run).slice(0, -1)),
  },
  {
    programs: ['chmod'],
    why: 'changes the permissions of the whole system',
    holds: (run) => has(run, 'R', 'recursive') && touchesSystem(run, operands(run)),
  },
  {
    programs: ['chown', 'chgrp'],
    why: 'changes the owner of the whole system',
    holds: (run) => has(run, 'R', 'recursive') && touchesSystem(run, operands(run)),
  },
  {
    programs: ['mkfs', 'mke2fs'],
    why: 'makes a new file system where another one may be',
    holds: (run) => !asksForHelp(run) && !isPlainFile(run, operands(run).at(-1) ?? ''),
  },
  {
    programs: ['shutdown', 'reboot', 'halt', 'poweroff'],
    why: 'stops the machine',
    holds: (run) => !asksForHelp(run) && !(run.program === 'shutdown' && run.args.includes('-c')),
  },
  {
    programs: ['systemctl', 'loginctl'],
    why: 'stops the machine',
    holds: (run) => /^(?:halt|poweroff|reboot|kexec)$/.test(operands(run)[0] ?? ''),
  },
  {
    programs: ['init', 'telinit'],
    why: 'stops the machine',
    holds: ({ args }) => args[0] === '0' || args[0] === '6',
  },
  {
    programs: ['dd'],
    why: overwrites,
    holds: ({ args, at }) => args.some((arg) => arg.startsWith('of=') && isDisk(at(arg.slice(3)))),
  },
  {
    programs: ['tee', 'shred', 'blkdiscard'],
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
    programs: ['cp', 'mv', 'install'],
    why: overwrites,
    holds: (run) => isDisk(run.at(operands(run).at(-1) ?? '')),
  },
];

const rules: ReadonlyMap<string, readonly Rule[]> = new Map(
  [...new Set(allRules.flatMap(({ programs }) => programs))].map((program) => [
    program,
    allRules.filter(({ programs }) => programs.includes(program)),
  ]),
);

/** A path that is only written or looked for shows nothing. */
const showNothing = new Set(
  'echo printf git test [ export cd find ls stat file xargs sudo env nice exec command timeout nohup'.split(
    ' ',
  ),
);

function showsEnvironment(run: Run): boolean {
  if (showNothing.has(run.program) || !run.args.some((arg) => arg.includes('environ'))) return false;
  const searched = /^(?:[ef]?grep|rg|ag|ack|sed|awk)$/.test(run.program) && !has(run, 'ef', 'regexp');
  return operands(run)
    .slice(searched ? 1 : 0)
    .some((operand) => isEnvironment(run.at(operand.replace(/^(?:if|--[\w-]+)=/, ''))));
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

const asksForHelp = ({ args }: Run): boolean =>
  args.some((arg) => /^(?:--help|--version|-h|-V)$/.test(arg)) && args.length === 1;

const touchesSystem = (run: Run, paths: readonly string[]): boolean =>
  paths.some((path) => isSystem(run.at(path)));

/** The root, all that is in it, or a folder that a system cannot be without, or all that is in one. */
const system = new RegExp(
  `^/(?:(?:bin|boot|dev|etc|home|lib|lib32|lib64|proc|root|sbin|sys|usr|var)(?:/[.${ANY}]*${STAR}[.${ANY}${STAR}]*)?|[.${ANY}]*${STAR}[.${ANY}${STAR}]*)?$`,
);

/** `"$DIR"/` is the root when nobody has set DIR. */
const isRootWhenUnset = new RegExp(`^${UNSET}/+$`);

const isSystem = (path: string | null): boolean => path !== null && system.test(path);

const isDisk = (path: string | null): boolean =>
  path !== null &&
  /^\/dev\/(?:(?:sd|nvme|vd|xvd|hd|dm-|md|loop|mmcblk|r?disk)[^/]*|(?:disk|mapper)\/.+)$/.test(path);

const isPlainFile = (run: Run, path: string): boolean =>
  path !== '' &&
  !path.includes(UNKNOWN) &&
  !path.includes(UNSET) &&
  !(run.at(path) ?? '').startsWith('/dev/');

const isEnvironment = (path: string | null): boolean =>
  path !== null && /^\/proc\/[^/]+(?:\/task\/[^/]+)?\/environ$/.test(path);
