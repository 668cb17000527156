/**
 * Owns: what people and models write who know Python or JavaScript, and how CEL says it.
 *
 * Invariant: only asked of a condition that is unsound or failed; a text in quotes is never taken for code. Linear in the
 * length of the condition.
 */
export interface Habit {
  readonly start: number;
  readonly end: number;
  /** Half a sentence: what to write. */
  readonly instead: string;
}

interface Token {
  readonly kind: 'word' | 'text' | 'sign';
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const pattern =
  /(?<text>"""[^]*?"""|'''[^]*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)|(?<word>[A-Za-z_]\w*)|(?<sign>===|!==|=~|~=|=>|:=|\?\?|\?\.|\*\*|&&|\|\||==|!=|<=|>=|<>|\/\/|\d+(?:\.\d+)?|[^\s\w])/g;

function tokensOf(expression: string): readonly Token[] {
  return [...expression.matchAll(pattern)].map((match) => {
    const [text] = match;
    const kind =
      match.groups?.['text'] === undefined
        ? match.groups?.['word'] === undefined
          ? 'sign'
          : 'word'
        : 'text';
    return { kind, text, start: match.index, end: match.index + text.length };
  });
}

/** What went wrong: the text was not understood, a name is not known, or a type does not fit. */
export type Wrong = 'SYNTAX' | 'NAME' | 'TYPE';

/**
 * The one that a fault at this place comes from. The parser stops at or just after what it does not know; where a type
 * does not fit, the whole call is the place; a name may not be known because what is around it is no macro.
 */
export function habitAt(
  expression: string,
  place: { readonly start: number; readonly end: number },
  wrong: Wrong,
): Habit | null {
  const tokens = tokensOf(expression);
  const found = habitsIn(tokens);
  if (wrong === 'SYNTAX') return found.findLast(({ start }) => start <= place.start + 1) ?? null;
  const around = wrong === 'NAME' && found.findLast((habit) => isAround(tokens, habit, place));
  return around || (found.find(({ start, end }) => start >= place.start && end <= place.end) ?? null);
}

/** A call, with this place between its brackets. */
function isAround(tokens: readonly Token[], habit: Habit, place: { readonly start: number }): boolean {
  const index = tokens.findIndex(({ start }) => start > habit.start);
  if (habit.start > place.start || tokens[index]?.text !== '(') return false;
  let open = 0;
  for (const { text, start } of tokens.slice(index)) {
    if (start >= place.start) return true;
    open += text === '(' ? 1 : text === ')' ? -1 : 0;
    if (open === 0) return false;
  }
  return false;
}

function habitsIn(tokens: readonly Token[]): readonly Habit[] {
  return tokens.flatMap((token, index) => {
    const instead = insteadOf(tokens, index);
    return instead === null ? [] : [{ start: token.start, end: token.end, instead }];
  });
}

function insteadOf(tokens: readonly Token[], index: number): string | null {
  const { kind, text } = tokens[index] as Token;
  const before = tokens[index - 1]?.text;
  const after = tokens[index + 1];
  if (kind === 'text')
    return text.startsWith('`')
      ? 'texts stand in double quotes, put together as in `"exit " + str(exit_code)`.'
      : null;
  if (kind === 'sign') return signs[text]?.(before, after?.text) ?? null;
  if (before === '.' || before === '?.') return methods.get(text) ?? null;
  if (/^[fF]$/.test(text) && after?.kind === 'text')
    return 'texts are put together with `+`, as in `"exit " + str(exit_code)`.';
  return words[text]?.(after?.text, before) ?? functions.get(text) ?? null;
}

const signs: Readonly<
  Record<string, (before: string | undefined, after: string | undefined) => string | null>
> = {
  '===': () => 'write `==`.',
  '!==': () => 'write `!=`.',
  '<>': () => 'write `!=`.',
  '=>': () =>
    'write `list.exists(x, x > 1)` instead of `list.some(x => x > 1)`; likewise `.all`, `.filter` and `.map`.',
  ':=': () => 'write `cel.bind(name, value, condition)`.',
  '??': () => 'write `data.get("key", "otherwise")`, or `x != null ? x : "otherwise"`.',
  '?.': () => 'write `has(data.key) && …`, or `data.get("key")`.',
  '**': () => 'there are no powers.',
  '#': () => 'a comment begins with `//`.',
  ';': () => 'a condition is one expression; conditions are joined with `&&`.',
  '=': () => 'write `==` to compare.',
  '&': () => 'write `&&`.',
  '|': () => 'write `||`.',
  '=~': () => 'write `output.matches("pattern")`.',
  '~=': () => 'write `output.matches("pattern")`.',
  '~': () => 'write `!` for not, and `output.matches("pattern")` for a pattern.',
  '@': () => null,
  ':': (before, after) =>
    before === '[' || after === ']'
      ? 'write `output.startsWith("abc")` or `output.endsWith("abc")` to ask how a text begins or ends; `output.substring(0, 3)` is a part of one that is at least that long.'
      : null,
};

const words: Readonly<
  Record<string, (after: string | undefined, before: string | undefined) => string | null>
> = {
  and: () => 'write `&&`.',
  or: () => 'write `||`.',
  AND: () => 'write `&&`.',
  OR: () => 'write `||`.',
  not: (after, before) => {
    if (before === 'is') return 'write `!= null`.';
    return after === 'in'
      ? 'write `!("x" in output)`.'
      : (negations.get(after) ?? 'write `!(…)` around what is true or false.');
  },
  NOT: () => 'write `!`.',
  is: (after) => (after === 'not' ? 'write `!= null` for `is not None`.' : 'write `== null` for `is None`.'),
  None: () => 'write `null`.',
  nil: () => 'write `null`.',
  undefined: () => 'write `null`.',
  True: () => 'write `true`.',
  False: () => 'write `false`.',
  if: () => 'write `condition ? value : otherwise`.',
  else: () => 'write `condition ? value : otherwise`.',
  for: () =>
    'write `list.exists(x, x > 1)` for any, `list.all(x, x > 1)` for all, and `list.filter(x, x > 1)` for those.',
  lambda: () =>
    'there are no functions to define; write the expression itself, or `cel.bind(name, value, condition)`.',
  function: () => 'there are no functions to define; write the expression itself.',
  import: () => 'a condition is one expression.',
  return: () => 'a condition is one expression, without `return`.',
  let: () => 'write `cel.bind(name, value, condition)`.',
  const: () => 'write `cel.bind(name, value, condition)`.',
  var: () => 'write `cel.bind(name, value, condition)`.',
  typeof: () => 'write `type(x) == string`.',
  new: () => 'there are no objects to make.',
  JSON: () => '`data` is the JSON of the output already.',
  json: () => '`data` is the JSON of the output already.',
  Math: () => 'write `abs`, `min` or `max`.',
  re: () => 'write `output.matches("pattern")`.',
};

/** What `not` of a name of ours means in Python. */
const negations = new Map<string | undefined, string>([
  ['output', 'write `output == ""`.'],
  ['data', 'write `!bool(data)`, or `data == null` where the output is no JSON.'],
  ['exit_code', 'write `exit_code == 0`.'],
  ['prev_output', 'write `prev_output == null`.'],
  ['changed', 'write `!changed`.'],
]);

const functions = new Map([
  ['isinstance', 'write `type(data) == string`, or `type(data) == map`.'],
  ['parseInt', 'write `int(…)`.'],
  ['Number', 'write `float(…)`.'],
  ['parseFloat', 'write `float(…)`.'],
  ['String', 'write `str(…)`.'],
  ['Boolean', 'write `bool(…)`.'],
  ['dict', 'write `map`, as in `type(data) == map`.'],
]);

const begins =
  'write `.startsWith("abc")` to ask how a text begins; `.substring(0, 3)` is a part of one that is at least that long.';

const methods = new Map([
  ['startswith', 'write `.startsWith`.'],
  ['endswith', 'write `.endsWith`.'],
  ['starts_with', 'write `.startsWith`.'],
  ['ends_with', 'write `.endsWith`.'],
  ['includes', 'write `.contains("x")` of a text, and `"x" in list` of a list.'],
  ['has', 'write `"key" in data`.'],
  ['hasOwnProperty', 'write `"key" in data`.'],
  ['toLowerCase', 'write `.lower()`.'],
  ['toUpperCase', 'write `.upper()`.'],
  ['casefold', 'write `.lower()`.'],
  ['rstrip', 'write `.strip()`.'],
  ['lstrip', 'write `.strip()`.'],
  ['trimEnd', 'write `.strip()`.'],
  ['trimStart', 'write `.strip()`.'],
  ['length', 'write `len(…)`.'],
  [
    'count',
    'write `len(output.split("x")) - 1` for how often a text has another, and `len(list.filter(x, x == 1))` for a list.',
  ],
  ['some', 'write `.exists(x, …)`.'],
  ['any', 'write `.exists(x, …)`.'],
  ['every', 'write `.all(x, …)`.'],
  ['find', 'write `.indexOf("x")` of a text, and `.filter(x, …)` of a list.'],
  ['index', 'write `.indexOf("x")`.'],
  ['match', 'write `.matches("pattern")`.'],
  ['test', 'write `output.matches("pattern")`.'],
  ['search', 'write `.matches("pattern")`.'],
  ['format', 'texts are put together with `+`, as in `"exit " + str(exit_code)`.'],
  ['toString', 'write `str(…)`.'],
  ['slice', begins],
  ['substr', begins],
  ['charAt', begins],
  ['at', 'write `.get(-1)` of a list.'],
  ['isdigit', 'write `.matches("^[0-9]+$")`.'],
  ['items', 'write `data.exists(key, data[key] == 1)`.'],
]);
