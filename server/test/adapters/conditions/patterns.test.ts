/** Owns: the patterns, places and numbers of conditions, where CEL and the engine differ: patterns of RE2, code points, and one kind of number. */
import { describe, expect, it } from 'vitest';
import { facts, judges } from './support.ts';

const conditions = judges();

/** A text of CEL with this in it. */
const matching = (pattern: string): string => `output.matches(r'${pattern}')`;

describe('The pattern of a condition', () => {
  it.each([
    ['(?i)ready', 'Not READY', 'not yet'],
    ['(?im)^b$', 'a\nB', 'a\nbc'],
    ['(?s)a.b', 'a\nb', 'a\nc'],
    ['(?P<n>[0-9])x', '1x', 'x'],
    ['(?i:a)b', 'Ab', 'AB'],
    ['\\Ab\\z', 'b', 'ab'],
    ['(?m)\\Ab\\z', 'b', 'a\nb'],
    ['\\Q(a.b)\\E+', '(a.b))', '(axb)'],
    ['^[[:digit:]-]+$', '1-2', '1a2'],
    ['^[]a]+$', ']a', 'b'],
    ['^[\\w-]+$', 'a-b', 'a b'],
    ['^\\pL+$', 'é', '1'],
    ['^\\p{Greek}+$', 'α', 'a'],
    ['\\x{1F600}', '😀', 'x'],
    ['^.$', '😀', '😀😀'],
    ['{"a": [0-9]{2}}', '{"a": 12}', '{"a": 1}'],
    ['\\-\\:\\_', '-:_', '-:'],
    ['^\\012$', '\n', '0'],
    ['^\\101[\\102]$', 'AB', 'ab'],
    ['^\\p{^L}$', '1', 'é'],
    ['^\\p{Any}$', '\0', ''],
    ['a(?i)b', 'aB', 'AB'],
    ['(?-s)^.$', 'a', '\n'],
    ['(?U)^a+$', 'aa', 'ab'],
    ['^[[:^digit:]]$', 'a', '1'],
    ['(?i)^\\P{Lu}$', '1', 'a'],
    ['v[0-9]+\\.[0-9]+', 'v1.2', 'v12'],
    // Only `\n` ends a line.
    ['^.$', '\r', '\n'],
    ['^.$', '\u2028', '\n'],
    ['(?m)^b', 'a\nb', 'a\rb'],
    ['(?m)^b', 'a\nb', 'a\u2028b'],
    ['(?m)a$', 'a\nb', 'a\rb'],
    ['(?m)a$', 'a\nb', 'a\u2029b'],
    // Blanks, digits, letters and the edges of words are those of ASCII.
    ['^\\s$', '\r', '\u00a0'],
    ['^\\s$', '\f', '\v'],
    ['^[\\s]$', ' ', '\ufeff'],
    ['^\\S$', '\u2028', ' '],
    ['(?i)^\\w$', 'ſ', 'é'],
    ['(?i)a\\b', 'aſ', 'as'],
    ['(?i)\\Ba', 'sa', 'ſa'],
    // Halves of a character are none.
    ['^[^a]$', '😀', 'a'],
    ['[\\x{1F600}-\\x{1F602}]', '😁', '😃'],
  ])('means what RE2 says: %s (D-83)', async (pattern, yes, no) => {
    expect(await conditions.check(matching(pattern))).toEqual({ type: 'sound' });
    expect(await conditions.judge(matching(pattern), facts(yes))).toEqual({ type: 'holds' });
    expect(await conditions.judge(matching(pattern), facts(no))).toEqual({ type: 'holdsNot' });
  });

  it.each([
    ['(', '`\\\\(`'],
    [')', '`\\\\)`'],
    ['[', '`\\\\[`'],
    ['[]', '`\\\\[`'],
    ['*', '`\\\\*`'],
    ['a{2}{3}', '`(?:a+)*`'],
    ['a++', '`(?:a+)*`'],
    ['(?z)a', '`i`, `m`, `s` and `U`'],
    ['a(?i', '`(?i)`'],
    ['\\Z', '`\\\\z`'],
    ['\\cA', 'without a backslash'],
    ['\\u0041', '`\\\\x{e9}`'],
    ['[\\b]', '`\\\\x08`'],
    ['(a)\\1', 'to be found again'],
    ['[a-\\d]', '`[a-z\\\\d]`'],
    ['[[:nope:]]', '`[a-z]`'],
    ['[z-a]', '`[a-z]`'],
    ['a{3,2}', '`{2,5}`'],
    ['a{1001}', 'lesser numbers'],
    ['(a{1000}){1000}', 'lesser numbers'],
    ['((a{1,10}){1,100}){1,1000}', 'lesser numbers'],
    ['((a{1,1000}){1,1000}){1,1000}', 'lesser numbers'],
    ['\\p{Nope}', '`\\\\p{Greek}`'],
    ['(?#x)', '`(?:…)`'],
    ['(?P=n)', '`(?P<name>…)`'],
    ['(?P<é>a)', '`(?P<name>…)`'],
    ['(?P<n>a)(?P<n>b)', '`(…)`'],
    ['a(?=b)', '&& !output.matches'],
    ['(?!a)b', '&& !output.matches'],
    ['(?<=a)b', '&& !output.matches'],
    ['(?<!a)b', '&& !output.matches'],
  ])(
    'is refused when the watch is made, with the place and what to write: %s (D-83)',
    async (pattern, says) => {
      const check = await conditions.check(`changed && ${matching(pattern)}`);
      expect(check).toMatchObject({ type: 'unsound', line: 1, column: 27 });
      expect(check.type === 'unsound' && check.message).toContain(says);
    },
  );

  it('is refused where it ends with a backslash', async () => {
    const check = await conditions.check('output.matches("a\\\\")');
    expect(check.type === 'unsound' && check.message).toContain('ends with a backslash');
  });

  it('is refused where its groups are nested too deeply', async () => {
    const check = await conditions.check(matching(`${'('.repeat(1_100)}${')'.repeat(1_100)}`));
    expect(check.type === 'unsound' && check.message).toContain('nested too deeply');
  });

  it('that is only known at a poll says there what to write', async () => {
    expect(await conditions.check('output.matches(output)')).toEqual({ type: 'sound' });
    const verdict = await conditions.judge('output.matches(output)', facts('('));
    expect(verdict.type === 'failed' && verdict.message).toContain('`\\\\(`');
    const long = await conditions.judge('"x".matches(output)', facts('x'.repeat(4_001)));
    expect(long.type === 'failed' && long.message).toContain('`.contains("…")`');
    expect(long.type === 'failed' && long.message).toContain('more than 4000 characters');
  });
});

describe('A place in a text', () => {
  it.each([
    'len("😀x") == 2',
    '"😀x".substring(1) == "x"',
    '"😀x".substring(0, 1) == "😀"',
    '"😀x".substring(2) == ""',
    '"😀x".indexOf("x") == 1',
    '"a😀xx".indexOf("x", 3) == 3',
    '"x😀x".lastIndexOf("x") == 2',
    '"x😀x".lastIndexOf("x", 1) == 0',
    '"a".indexOf("x") == -1',
  ])('counts code points, as `len` does: %s', async (condition) => {
    expect(await conditions.judge(condition, facts(''))).toEqual({ type: 'holds' });
  });

  it.each([
    ['output.substring(0, 3) == "abc"', 'len(text) >= 3'],
    ['output.substring(3) == ""', 'len(text) >= 3'],
    ['output.indexOf("x", 3) == 1', 'len(text) >= 3'],
    ['output.substring(-1) == ""', 'counted from 0'],
    ['output.substring(2, 1) == ""', 'the lesser first'],
  ])('that is not there says at the poll what to write: %s', async (condition, says) => {
    const verdict = await conditions.judge(condition, facts('😀b'));
    expect(verdict.type === 'failed' && verdict.message).toContain(says);
  });
});

describe('Whole numbers and fractions', () => {
  it.each([
    ['float(output) == 95', '95'],
    ['float(output) != 96', '95'],
    ['data.x * 1.0 == 2', '{"x":2}'],
    ['poll == 1.0', ''],
    ['1.0 == poll', ''],
    ['poll != 1.5', ''],
    ['1u == 1', ''],
    ['1u != 1.5', ''],
    ['9007199254740993 != 9007199254740992.0', ''],
    ['data == 1.0', '1'],
    ['1 in data', '[1.0]'],
    ['data in [1.0]', '1'],
    ['data == {"a": [1.0]}', '{"a":[1]}'],
    ['dyn([1]) == dyn([1.0])', ''],
    ['dyn(1) in dyn([1.0])', ''],
  ])('are equal where their values are: %s', async (condition, output) => {
    expect(await conditions.check(condition)).toEqual({ type: 'sound' });
    expect(await conditions.judge(condition, facts(output))).toEqual({ type: 'holds' });
  });

  it.each(['[1] == [1.0]', '1 in [1.0]', '{"a": 1} != {"a": 1.0}'])(
    'are refused in lists and maps of one type, with what to write: %s',
    async (condition) => {
      const check = await conditions.check(condition);
      expect(check.type === 'unsound' && check.message).toContain('`dyn(…)` around both sides');
    },
  );
});

describe('What is no CEL', () => {
  it.each([
    ['output =~ "x"', 8, 'output.matches("pattern")'],
    ['output ~= "x"', 8, 'output.matches("pattern")'],
    ['output.count("x") > 2', 8, 'len(output.split("x")) - 1'],
    ['output.slice(0, 3) == "abc"', 8, '.startsWith("abc")'],
    ['output[:3] == "abc"', 8, '.startsWith("abc")'],
    ['😀 == 1', 1, '`😀` cannot stand here'],
    ['output == "abc', 11, 'close it with "'],
    ["output == '''abc", 11, "close it with '''"],
    ['output == "a\nb"', 13, '`\\n` for a line end'],
    ['output.matches("\\d+")', 17, 'r"\\d+"'],
  ])('is told what to write instead: %s', async (condition, column, says) => {
    const check = await conditions.check(condition);
    expect(check).toMatchObject({ type: 'unsound', line: 1, column });
    expect(check.type === 'unsound' && check.message).toContain(says);
  });

  it('never cuts a character in two', async () => {
    for (const before of ['', 'x']) {
      const check = await conditions.check(`changed && "${before}${'😀'.repeat(300)}"`);
      expect(check.type === 'unsound' && check.message.isWellFormed()).toBe(true);
    }
  });

  it('has advice that holds', async () => {
    expect(await conditions.judge('len(output.split("x")) - 1 == 3', facts('axbxcx'))).toEqual({
      type: 'holds',
    });
  });
});
