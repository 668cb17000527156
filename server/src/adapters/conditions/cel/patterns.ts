/**
 * Owns: the patterns of conditions. CEL takes those of RE2, and the engine here is JavaScript's: what RE2 writes another way
 * is translated, and what cannot be is refused with what to write.
 *
 * Invariants: a pattern never means something else than RE2 says without an error; linear in its length. Texts are matched by
 * code points.
 */

/** Classes of POSIX, between `[` and `]`. */
const posix = new Map([
  ['alnum', '0-9A-Za-z'],
  ['alpha', 'A-Za-z'],
  ['ascii', '\\x00-\\x7f'],
  ['blank', '\\t '],
  ['cntrl', '\\x00-\\x1f\\x7f'],
  ['digit', '0-9'],
  ['graph', '!-~'],
  ['lower', 'a-z'],
  ['print', ' -~'],
  ['punct', '!-\\/:-@\\[-`\\{-~'],
  ['space', '\\t\\n\\v\\f\\r '],
  ['upper', 'A-Z'],
  ['word', '0-9A-Za-z_'],
  ['xdigit', '0-9A-Fa-f'],
]);

/** Patterns whose text is used again and again in one judgement. */
const most = 16;
const compiled = new Map<string, RegExp>();

/** Throws what is wrong with it, and what to write. */
export function patternOf(pattern: string): RegExp {
  const known = compiled.get(pattern);
  if (known) return known;
  const { source, flags } = translated(pattern);
  try {
    const made = new RegExp(source, flags);
    if (compiled.size >= most) compiled.clear();
    compiled.set(pattern, made);
    return made;
  } catch (error) {
    throw new Error(refusalOf(pattern, error as Error), { cause: error });
  }
}

/** JavaScript's, with its flag `u`. */
function translated(pattern: string): { readonly source: string; readonly flags: string } {
  const [prefix = '', flags = ''] = /^\(\?([a-zA-Z]+)\)/.exec(pattern) ?? [];
  if (/[^ims]/.test(flags))
    throw new Error(
      refused(pattern, `\`${prefix}\` is not known here`, 'of the flags there are `i`, `m` and `s`'),
    );
  const parts: string[] = [];
  for (let at = prefix.length; at < pattern.length;) {
    const [part, length] = stepAt(pattern, at);
    parts.push(part);
    at += length;
  }
  return { source: parts.join(''), flags: `${[...new Set(flags)].join('')}u` };
}

type Step = readonly [translated: string, length: number];

function stepAt(pattern: string, at: number): Step {
  const char = pattern[at] ?? '';
  switch (char) {
    case '\\':
      return escapeAt(pattern, at);
    case '[':
      return classAt(pattern, at);
    case '(':
      return groupAt(pattern, at);
    case ']':
    case '}':
      return [`\\${char}`, 1];
    case '{': {
      const [times] = /^\{\d+(?:,\d*)?\}/.exec(pattern.slice(at, at + 24)) ?? [];
      return times === undefined ? ['\\{', 1] : [times, times.length];
    }
    default:
      return [char, 1];
  }
}

function groupAt(pattern: string, at: number): Step {
  const opening = pattern.slice(at, at + 80);
  if (opening.startsWith('(?P<')) return ['(?<', 4];
  const [back, name] = /^\(\?P=(\w+)\)/.exec(opening) ?? [];
  if (back !== undefined) return [`\\k<${name}>`, back.length];
  const [late] = /^\(\?[a-zA-Z-]+\)/.exec(opening) ?? [];
  if (late !== undefined)
    throw new Error(
      refused(
        pattern,
        `\`${late}\` stands in its midst`,
        `write it at the start, or \`${late.slice(0, -1)}:…)\` around what it is for`,
      ),
    );
  return ['(', 1];
}

/** What RE2 escapes another way. JavaScript takes an escaped sign only where it means something. */
function escapeAt(pattern: string, at: number, isInClass = false): Step {
  if (at + 1 === pattern.length)
    throw new Error(
      refused(pattern, 'it ends with a backslash', 'write `\\\\\\\\` for the backslash itself'),
    );
  const next = String.fromCodePoint(pattern.codePointAt(at + 1) ?? 0);
  if (isInClass && /[Az]/.test(next)) return [`\\${next}`, 2];
  const rest = pattern.slice(at, at + 80);
  switch (next) {
    case 'A':
      return ['(?<![^])', 2];
    case 'z':
      return ['(?![^])', 2];
    case 'a':
      return ['\\x07', 2];
    case 'Q': {
      const end = pattern.indexOf('\\E', at + 2);
      const quoted = pattern.slice(at + 2, end < 0 ? undefined : end);
      return [quoted.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, literal), quoted.length + (end < 0 ? 2 : 4)];
    }
    case 'p':
    case 'P': {
      const [whole, letter, name = ''] = /^\\[pP](?:([A-Z])|\{(\w+)\})/.exec(rest) ?? [];
      if (whole === undefined) return [`\\${next}`, 2];
      const property = letter ?? (/^[A-Z][a-z]?$/.test(name) ? name : `Script=${name}`);
      return [`\\${next}{${property}}`, whole.length];
    }
    case 'x': {
      const [whole, code] = /^\\x\{([0-9a-fA-F]+)\}/.exec(rest) ?? [];
      return whole === undefined ? ['\\x', 2] : [`\\u{${code}}`, whole.length];
    }
    case '-':
      return [isInClass ? '\\-' : '-', 2];
    default:
      if (/[\w]/.test(next) || /[\\^$.*+?()[\]{}|/]/.test(next)) return [`\\${next}`, 1 + next.length];
      return [next, 1 + next.length];
  }
}

const literal = (char: string): string => (char === '-' ? '\\x2d' : `\\${char}`);

/** To its `]`, or to the end where there is none. */
function classAt(pattern: string, at: number): Step {
  const parts = [pattern[at + 1] === '^' ? '[^' : '['];
  const start = at + (parts[0] ?? '').length;
  let i = start;
  // Behind a class in it, a minus makes no range.
  let isAfterClass = false;
  while (i < pattern.length) {
    const char = pattern[i] ?? '';
    if (char === ']' && i > start) return [`${parts.join('')}]`, i + 1 - at];
    const [named, not, name = ''] = /^\[:(\^?)(\w+):\]/.exec(pattern.slice(i, i + 16)) ?? [];
    if (named !== undefined) {
      const inside = posix.get(name);
      if (inside === undefined || not)
        throw new Error(
          refused(
            pattern,
            `\`${named}\` is not known here`,
            'write what is in it, as in `[a-z]` or `[^a-z]`',
          ),
        );
      parts.push(inside);
      i += named.length;
      isAfterClass = true;
      continue;
    }
    if (char === '\\') {
      const [part, length] = escapeAt(pattern, i, true);
      parts.push(part);
      isAfterClass = /^\\[dDsSwWpP]/.test(part);
      i += length;
      continue;
    }
    parts.push(char === ']' || char === '[' || (char === '-' && isAfterClass) ? `\\${char}` : char);
    isAfterClass = false;
    i += 1;
  }
  throw new Error(refused(pattern, 'a `[` in it is not closed', 'write `\\\\[` for the bracket itself'));
}

const refused = (pattern: string, what: string, advice: string): string =>
  `The pattern ${shown(pattern)} is none: ${what}. ${advice.charAt(0).toUpperCase()}${advice.slice(1)}.`;

function shown(pattern: string): string {
  const characters = [...pattern.slice(0, 82)];
  return `\`${(characters.length > 40 ? `${characters.slice(0, 40).join('')}…` : pattern).replaceAll('`', "'")}\``;
}

/** As the engine says it, and what it means. */
const said: readonly (readonly [says: RegExp, what: string, advice: string])[] = [
  [/Unterminated group/, 'a `(` in it is not closed', 'write `\\\\(` for the bracket itself'],
  [/Unmatched '\)'/, 'a `)` in it closes nothing', 'write `\\\\)` for the bracket itself'],
  [
    /Nothing to repeat/,
    '`*`, `+` or `?` in it has nothing to repeat',
    'write `\\\\*`, `\\\\+` or `\\\\?` for the sign itself',
  ],
  [
    /Invalid (?:unicode |Unicode )?escape|Invalid class escape|Invalid decimal escape/,
    'a letter or number behind a backslash in it means nothing',
    'write `\\\\d`, `\\\\s`, `\\\\w`, `\\\\b`, `\\\\z`, or the character without a backslash',
  ],
  [
    /property name/,
    'it names letters that are not known',
    'write for instance `\\\\pL`, `\\\\p{Lu}` or `\\\\p{Greek}`',
  ],
  [/Range out of order/, 'a range in it runs backwards', 'write the lesser character first, as in `[a-z]`'],
  [/numbers out of order/, 'it counts backwards', 'write the lesser number first, as in `{2,5}`'],
  [
    /Invalid (?:character class|group)|capture group name|named reference/,
    'a group or class in it is not known here',
    'write `(…)`, `(?:…)`, `(?P<name>…)` or `[a-z]`',
  ],
];

function refusalOf(pattern: string, { message }: Error): string {
  const [, what, advice] = said.find(([says]) => says.test(message)) ?? [];
  return what === undefined || advice === undefined
    ? refused(pattern, 'it cannot be read, or is too large', 'write a simpler one, or use `.contains("…")`')
    : refused(pattern, what, advice);
}
