/**
 * Owns: the patterns of conditions, which are those of RE2, as CEL has them: `re2js` reads and matches them. A broken one is
 * refused with what to write instead.
 *
 * Invariants: matching takes time linear in the text, and goes by code points; of the patterns that are kept, none outlives
 * the condition it is of.
 */
import { RE2JS, RE2JSSyntaxException } from 're2js';
import { maxExpression } from './protocol.ts';

/** Patterns whose text is used again and again in one judgement. */
const most = 16;
const compiled = new Map<string, RE2JS>();

/** Throws what is wrong with it, and what to write. */
export function patternOf(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known) return known;
  if (pattern.length > maxExpression)
    throw refused(pattern, [`it has more than ${maxExpression} characters`, simpler]);
  const made = read(pattern);
  if (compiled.size >= most) compiled.clear();
  compiled.set(pattern, made);
  return made;
}

/**
 * Before each condition: a pattern grows up to 8 MB while it matches, which the next condition is not to be held to account
 * for; and what was interrupted in its midst is not used again.
 */
export function forgetPatterns(): void {
  compiled.clear();
}

function read(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    throw refused(pattern, error instanceof RE2JSSyntaxException ? faultOf(error) : unread, error);
  }
}

type Fault = readonly [what: string, advice: string];

const refused = (pattern: string, [what, advice]: Fault, cause?: unknown): Error =>
  new Error(
    `The pattern ${shown(pattern)} is none: ${what}. ${advice.charAt(0).toUpperCase()}${advice.slice(1)}.`,
    { cause },
  );

function shown(pattern: string): string {
  const characters = [...pattern.slice(0, 82)];
  return `\`${(characters.length > 40 ? `${characters.slice(0, 40).join('')}…` : pattern).replaceAll('`', "'")}\``;
}

const simpler = 'write a simpler one, or use `.contains("…")`';
const unread: Fault = ['it cannot be read, or is too large', simpler];
const lesser = 'write lesser numbers: one in the other, they are multiplied';
const literally = (sign: string): string => `write \`\\\\${sign}\` for the sign itself`;

function faultOf({ error, input }: RE2JSSyntaxException): Fault {
  return faults.get(error)?.(input ?? '') ?? unread;
}

/** By the words of `re2js`; `part` is what it objects to. */
const faults: ReadonlyMap<string, (part: string) => Fault> = new Map([
  ['missing closing )', () => ['a `(` in it is not closed', literally('(')]],
  ['unexpected )', () => ['a `)` in it closes nothing', literally(')')]],
  ['missing closing ]', () => ['a `[` in it is not closed', literally('[')]],
  [
    'trailing backslash at end of expression',
    () => ['it ends with a backslash', 'write `\\\\\\\\` for the backslash itself'],
  ],
  [
    'missing argument to repetition operator',
    (part) => [`${shown(part)} in it has nothing to repeat`, literally(part.charAt(0))],
  ],
  [
    'invalid nested repetition operator',
    (part) => [
      `${shown(part)} in it repeats what is repeated already`,
      'write one of the two, or a group around the first, as in `(?:a+)*`',
    ],
  ],
  ['invalid repeat count', countFault],
  ['invalid escape sequence', escapeFault],
  ['invalid character class range', classFault],
  ['invalid or unsupported Perl syntax', groupFault],
  [
    'invalid named capture',
    (part) =>
      /^\(\?<[=!]/.test(part)
        ? groupFault(part)
        : [
            `the name of a group in it is none, at ${shown(part)}`,
            'write it of unaccented letters, digits and `_`, as in `(?P<name>…)`',
          ],
  ],
  [
    'duplicate capture group name',
    (part) => [`two groups in it have the name ${shown(part)}`, 'write `(…)`, for no name is asked for here'],
  ],
  ['expression nests too deeply', () => ['its groups are nested too deeply', simpler]],
  ['expression too large', () => ['it counts too far', lesser]],
] satisfies [string, (part: string) => Fault][]);

function countFault(part: string): Fault {
  const [, from, to] = /^\{(\d+),(\d+)\}$/.exec(part) ?? [];
  return Number(from) > Number(to)
    ? ['it counts backwards', 'write the lesser number first, as in `{2,5}`']
    : [`it counts beyond 1,000, at ${shown(part)}`, lesser];
}

function escapeFault(part: string): Fault {
  if (/^\\[1-9k]/.test(part))
    return [
      `${shown(part)} in it asks for what a group has found, which RE2 cannot`,
      'write what is to be found again',
    ];
  if (/^\\[dswp]/i.test(part))
    return [`a range in it ends with ${shown(part)}`, 'write that beside the range, as in `[a-z\\\\d]`'];
  // Anywhere else it is known.
  if (part === '\\b')
    return [
      '`\\b` means nothing between `[` and `]`',
      'write `\\\\x08` for a backspace, and the edge of a word outside the brackets',
    ];
  return [
    `${shown(part)} in it means nothing`,
    'write `\\\\d`, `\\\\s`, `\\\\w`, `\\\\b`, `\\\\z`, `\\\\x{e9}`, or the character without a backslash',
  ];
}

function classFault(part: string): Fault {
  if (/^\\p/i.test(part))
    return [
      `${shown(part)} in it names letters that are not known`,
      'write for instance `\\\\pL`, `\\\\p{Lu}` or `\\\\p{Greek}`',
    ];
  if (part.startsWith('[:'))
    return [`${shown(part)} is not known`, 'write what is in it, as in `[a-z]` or `[^a-z]`'];
  return [`the range ${shown(part)} in it runs backwards`, 'write the lesser character first, as in `[a-z]`'];
}

function groupFault(part: string): Fault {
  if (/^\(\?<?[=!]/.test(part))
    return [
      `\`${part.slice(0, part.startsWith('(?<') ? 4 : 3)}\` in it looks ahead or behind, which RE2 cannot`,
      'ask twice, as in `output.matches("…") && !output.matches("…")`',
    ];
  return /^\(\?[-a-zA-OQ-Z]/.test(part)
    ? [`${shown(part)} in it is not known`, 'the flags are `i`, `m`, `s` and `U`, as in `(?i)` or `(?i:…)`']
    : [`${shown(part)} in it is not known`, 'write `(…)`, `(?:…)` or `(?P<name>…)`'];
}
