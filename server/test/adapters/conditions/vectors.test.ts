/**
 * Owns: the condition vectors C1 … C50, said in CEL. C1 to C4 have no condition: comparing with the poll before is the
 * runner's, and tested there.
 *
 * The verdicts are those of the vectors. Where CEL says at create what Python said at the first poll, or another type
 * than bool was taken for true, the condition is refused with its spelling (D-83), and the spelling has the verdict.
 */
import { describe, expect, it } from 'vitest';
import type { ConditionFacts } from '../../../src/ports/conditions.ts';
import { facts, judges } from './support.ts';

const conditions = judges();

/** T: it holds. F: it does not. E: it fails at the poll. */
type Expected = 'T' | 'F' | 'E';
type Row = readonly [
  id: string,
  condition: string,
  output: string,
  expected: Expected,
  other?: Partial<ConditionFacts>,
];

const verdictOf = { T: 'holds', F: 'holdsNot', E: 'failed' } as const;

const mergedPr = 'data["state"] == "MERGED"';
const anyFailure = 'data.exists(x, x["conclusion"] == "failure")';

const rows: readonly Row[] = [
  ['C5', mergedPr, '{"state":"MERGED"}', 'T'],
  ['C6', mergedPr, '{"state":"OPEN"}', 'F'],
  ['C7', mergedPr, 'plain', 'E'],
  ['C8', 'data["missing"] == 1', '{"a":1}', 'E'],
  ['C9', 'data.get("mergedAt") != null', '{"mergedAt":"2024"}', 'T'],
  ['C9', 'data.get("mergedAt") != null', '{"mergedAt":null}', 'F'],
  ['C9', 'data.get("mergedAt", "never") == "never"', '{}', 'T'],
  // Better than the vector: a key is read with a point, too.
  ['C10', 'data.state == "x"', '{"state":"x"}', 'T'],
  ['C11', '"error" in output', 'has error here', 'T'],
  ['C11', '"error" in output', 'all good', 'F'],
  ['C12', 'exit_code != 0', '', 'T', { exitCode: 1 }],
  ['C12', 'exit_code != 0', '', 'F'],
  ['C13', 'exit_code != 0', '', 'T', { exitCode: 3 }],
  ['C14', 'exit_code == -1', '', 'T', { exitCode: -1 }],
  ['C15', 'output != ""', 'hi', 'T'],
  ['C15', 'output != ""', '', 'F'],
  ['C16', 'output == ""', '', 'T'],
  ['C17', 'output == "done"', 'done\n', 'F'],
  ['C18', 'output.strip() == "done"', 'done\n', 'T'],
  ['C19', 'changed', 'new', 'T', { prevOutput: 'old' }],
  ['C19', 'changed', 'same', 'F', { prevOutput: 'same' }],
  ['C20', 'changed', 'first', 'T'],
  ['C21', 'changed && prev_output != null', 'first', 'F'],
  ['C22', 'changed && "ready" in output.lower()', 'System Ready', 'T', { prevOutput: 'System Starting' }],
  ['C23', 'prev_output == null', 'first', 'T'],
  ['C24', 'len(output.splitlines()) >= 3', 'a\nb\nc\n', 'T'],
  ['C24', 'len(output.splitlines()) >= 4', 'a\nb\nc\n', 'F'],
  ['C25', 'int(output) > 5', '7\n', 'T'],
  ['C25', 'int(output) > 5', 'abc', 'E'],
  ['C26', 'float(output.strip()) >= 0.95', '0.97\n', 'T'],
  ['C27', 'sorted([3,1,2]) == [1,2,3]', '', 'T'],
  ['C28', anyFailure, '[{"conclusion":"success"},{"conclusion":"failure"}]', 'T'],
  ['C28', anyFailure, '[{"conclusion":"success"}]', 'F'],
  ['C28', 'any(data.map(x, x["conclusion"] == "failure"))', '[{"conclusion":"failure"}]', 'T'],
  ['C29', 'data["checks"].all(c, c["status"] == "completed")', '{"checks":[{"status":"completed"}]}', 'T'],
  ['C29', 'data["checks"].all(c, c["status"] == "completed")', '{"checks":[{"status":"queued"}]}', 'F'],
  ['C30', 'len(data.filter(x, x > 2)) > 0', '[1,2,3]', 'T'],
  ['C31', 'cel.bind(d, data, d["a"]) == 1', '{"a":1}', 'T'],
  ['C32', 'max(data) > 10', '[1,20]', 'T'],
  ['C32', 'min(data["a"], 3) == 3', '{"a":5}', 'T'],
  ['C33', 'type(data) == string', '"x"', 'T'],
  ['C33', 'type(data) == map', '{}', 'T'],
  ['C35', 'data == null', 'plain', 'T'],
  ['C35', 'data == null', '', 'T'],
  ['C35', 'data == null', 'null', 'T'],
  ['C36', 'bool(data)', '{}', 'F'],
  ['C37', 'data == 42', '42', 'T'],
  ['C37', 'data == true', 'true', 'T'],
  ['C38', 'str(exit_code) == "0"', '', 'T'],
  ['C39', 'exit_code == 0 ? output != "" : false', 'ok', 'T'],
  ['C40', '0 < len(output) && len(output) < 10', 'abc', 'T'],
  ['C41', 'cel.bind(y, len(output), y > 0 && y < 5)', 'abc', 'T'],
  ['C42', 'output.substring(0, 3) == "abc"', 'abcdef', 'T'],
  ['C42', 'output.substring(0, 1) == "x"', '', 'E'],
  ['C43', 'data["items"].get(-1)["ok"]', '{"items":[{"ok":false},{"ok":true}]}', 'T'],
  ['C44', '1/0 == 1', '', 'E'],
  ['C47', 'true', '', 'T'],
  ['C47', 'false', '', 'F'],
  ['C48', 'output.startsWith("v") && prev_output != output', 'v2', 'T', { prevOutput: 'v1' }],
  ['C49', 'output != "" // comment', 'x', 'T'],
  ['C49', 'output != ""\n', 'x', 'T'],
  ['C49', '(\noutput\n!= "")', 'x', 'T'],
];

/** As Python has it: refused when the watch is made, at this place, with what to write instead. */
const refusals: readonly (readonly [id: string, condition: string, column: number | null, says: string])[] = [
  ['C9', 'data.get("mergedAt") is not None', 22, '`!= null`'],
  ['C13', 'exit_code', null, 'exit_code != 0'],
  ['C15', 'output', null, 'output != ""'],
  ['C16', 'not output', 1, 'output == ""'],
  ['C21', 'changed and prev_output is not None', 9, '&&'],
  ['C22', 'changed and "ready" in output.lower()', 9, '&&'],
  ['C23', 'prev_output is None', 13, '`== null`'],
  ['C28', 'any(x["conclusion"]=="failure" for x in data)', 32, '.exists('],
  ['C29', 'all(c["status"]=="completed" for c in data["checks"])', 30, '.all('],
  ['C30', '[x for x in data if x>2]', 4, '.filter('],
  ['C30', 'data.filter(x, x > 2)', null, 'len(data.filter(x, x > 2)) > 0'],
  ['C31', '(lambda d: d["a"])(data) == 1', 2, 'cel.bind'],
  ['C33', 'isinstance(data, str)', 1, 'type(data) == string'],
  ['C33', 'isinstance(data, dict)', 1, 'type(data) == map'],
  ['C34', 'sum(data) > 3', 1, 'no function `sum'],
  ['C34', 'round(1.5) == 2', 1, 'no function `round'],
  ['C34', 'set(data) == data', 1, 'no function `set'],
  ['C34', 'range(3) == data', 1, 'no function `range'],
  ['C35', 'data is None', 6, '`== null`'],
  ['C37', 'data is True', 6, '=='],
  ['C38', 'f"{exit_code}"=="0"', 1, 'str(exit_code)'],
  ['C38', '"%d" % exit_code == "0"', 1, 'str(exit_code)'],
  ['C38', '"{}".format(exit_code)=="0"', 6, 'str(exit_code)'],
  ['C39', 'output if exit_code == 0 else False', 8, 'condition ? value : otherwise'],
  ['C40', '0 < len(output) < 10', 1, '0 < len(output) && len(output) < 10'],
  ['C41', '(y := len(output)) > 0 and y < 5', 4, 'cel.bind'],
  ['C42', 'output[:3] == "abc"', 8, 'output.substring(0, 3)'],
  ['C42', 'output[0] == "x"', 1, 'output.substring(0, 1)'],
  ['C45', "__import__('os') == 1", 1, 'no function `__import__'],
  ['C45', 'open("/etc/passwd") == 1', 1, 'no function `open'],
  ['C45', 'exec("1") == 1', 1, 'no function `exec'],
  ['C45', 'eval("1") == 1', 1, 'no function `eval'],
  ['C45', 'compile("1") == 1', 1, 'no function `compile'],
  ['C45', 'print(1) == 1', 1, 'no function `print'],
  ['C45', 'getattr(data, "a") == 1', 1, 'no function `getattr'],
  ['C45', 're.search("a", output)', 1, 'output.matches("pattern")'],
  ['C45', 'json.loads(output) == 1', 1, '`data` is the JSON'],
  ['C46', 'undefined_name', 1, 'no name `undefined_name`'],
  ['C47', 'True', 1, '`true`'],
  ['C47', 'None', 1, '`null`'],
  ['C47', "{'a':1}", null, "len({'a':1}) > 0"],
  ['C48', "output.startswith('v') and prev_output != output", 24, '&&'],
  ['C48', "output.startswith('v')", 8, '.startsWith'],
  ['C49', 'output # comment', 8, '//'],
  ['C50', 'if True:', 1, 'condition ? value : otherwise'],
  ['C50', '==', 1, 'cannot stand here'],
  ['C50', 'x = 1', 3, '`==`'],
  ['C50', 'import os', 1, 'one expression'],
  ['C50', "output === 'x'", 8, '`==`'],
  ['C50', '', 1, 'something is missing'],
  ['C50', 'a; b', 2, 'joined with `&&`'],
  ['C50', '*output', 1, 'cannot stand here'],
];

describe('Conditions in CEL', () => {
  const whole = rows.map(
    ([id, condition, output, expected, other = {}]) => [id, condition, output, expected, other] as const,
  );
  it.each(whole)('give the verdict of the vector: %s %s', async (_id, condition, output, expected, other) => {
    expect(await conditions.check(condition)).toEqual({ type: 'sound' });
    const verdict = await conditions.judge(condition, facts(output, other));
    expect(verdict.type).toBe(verdictOf[expected]);
  });

  it.each(refusals)('refuse what is not CEL, with what is: %s %s', async (_id, condition, column, says) => {
    const check = await conditions.check(condition);
    expect(check).toMatchObject({ type: 'unsound', line: 1, column });
    expect(check.type === 'unsound' && check.message).toContain(says);
    expect(check.type === 'unsound' && check.message).toMatch(/^[^\n\r]{1,500}$/);
    // Whoever gets past the check (a condition of an older version, say) gets no other verdict at a poll.
    expect((await conditions.judge(condition, facts('{"a":1}'))).type).toBe('failed');
  });

  it.each([
    // C50 of Python, and sound in CEL: it joins two conditions with && (D-83).
    ['C50', 'output != "" && changed', 'x', 'holds'],
    // The runner trims what it is given; blanks mean nothing to CEL anyway.
    ['C50', ' output != ""', 'x', 'holds'],
  ] as const)('take what CEL has and Python has not: %s %s', async (_id, condition, output, type) => {
    expect(await conditions.check(condition)).toEqual({ type: 'sound' });
    expect(await conditions.judge(condition, facts(output))).toEqual({ type });
  });

  it.each([
    ['poll', 'poll == 3'],
    ['elapsed', 'elapsed >= 120'],
    ['exit_code', 'exit_code == 7'],
    ['prev_output', 'prev_output == "before"'],
    ['changed', 'changed'],
  ])('know %s', async (_name, condition) => {
    const at = facts('now', { poll: 3, elapsedSeconds: 120, exitCode: 7, prevOutput: 'before' });
    expect(await conditions.judge(condition, at)).toEqual({ type: 'holds' });
  });

  it('read whole numbers of the data whole, and fractions as such', async () => {
    for (const [condition, output] of [
      ['data == 9007199254740993', '9007199254740993'],
      ['data != 9007199254740992', '9007199254740993'],
      ['data == 1', '1.0'],
      ['data == 0.5', '0.5'],
      ['data.price * 1.5 > 2.0', '{"price":2}'],
      ['1e400 == data', '1'],
    ] as const) {
      const { type } = await conditions.judge(condition, facts(output));
      expect({ condition, type }).toEqual({
        condition,
        type: condition.startsWith('1e400') ? 'failed' : 'holds',
      });
    }
  });

  it.each([
    ['a NUL', 'output == "a\0" && \0', 19, 'cannot stand here'],
    ['500 brackets', `${'('.repeat(500)}true${')'.repeat(500)}`, 101, 'nested too deeply'],
  ])('refuse %s (C50)', async (_what, condition, column, says) => {
    const check = await conditions.check(condition);
    expect(check).toMatchObject({ type: 'unsound', line: 1, column });
    expect(check.type === 'unsound' && check.message).toContain(says);
  });

  it('compare lists and maps by value', async () => {
    for (const condition of [
      'data.list == [1, "a", null]',
      'data.map == {"a": [1]}',
      'data.list != [1]',
      '"a" in data.list',
      '"map" in data',
      '!("b" in data.list)',
    ])
      expect({
        condition,
        verdict: await conditions.judge(condition, facts('{"list":[1,"a",null],"map":{"a":[1]}}')),
      }).toEqual({ condition, verdict: { type: 'holds' } });
  });

  it('say the line, too, and count in it as the text field of an editor does', async () => {
    const lines = ['output == "a" &&', '  "😀" == nope'] as const;
    const column = lines[1].indexOf('nope') + 1;
    expect(column).toBe(11);
    expect(await conditions.check(lines.join('\n'))).toMatchObject({ line: 2, column });
  });

  it.each([
    ['prev_output.contains("x")', 'ok', 'prev_output != null && '],
    ['data.state == "x"', 'plain', 'data.get("key")'],
    ['len(data) > 0', 'plain', 'null'],
    ['data.exists(x, x == 1)', 'plain', 'null'],
    ['data', '"text"', 'data != ""'],
    ['data', '3', 'data != 0'],
    ['data', '[1]', 'len(data) > 0'],
    ['data', 'plain', 'data == null'],
    ['data.contains("x")', '["x"]', '"x" in data'],
    ['data.length() > 1', '[1]', 'len('],
    ['data > 5', '"7"', 'int('],
  ])('say at a poll what to write instead of %s', async (condition, output, says) => {
    const verdict = await conditions.judge(condition, facts(output));
    expect(verdict.type).toBe('failed');
    expect(verdict.type === 'failed' && verdict.message).toContain(says);
  });

  it.each([
    ['output && changed', 'output != ""'],
    ['changed || len(output)', 'len(output) != 0'],
    ['!exit_code', 'exit_code == 0'],
    ['output == null', 'output == ""'],
    ['exit_code == 0 ? output : false', 'output != ""'],
    ['output.includes("x")', '.contains('],
    ['output.length > 3', 'len('],
    ['data.some(x => x > 1)', '.exists('],
    ['data?.state == "x"', 'has(data.key)'],
    ['data ?? false', 'data.get('],
    ['`${output}` == "x"', 'double quotes'],
    ['output !== "x"', '`!=`'],
    ['typeof data == "string"', 'type(x) == string'],
    ['JSON.parse(output).a == 1', '`data` is the JSON'],
    ['output.toLowerCase() == "x"', '.lower()'],
    ['data.every(x, x > 1)', '.all('],
    ['"x" not in output', '!("x" in output)'],
    ['output == "x" & changed', '`&&`'],
    ['output > 5', 'int('],
    ['bytes(output) == bytes("x")', 'text already'],
    ['data.__class__ == 1', 'data["__class__"]'],
  ])('say when the watch is made what to write instead of %s', async (condition, says) => {
    const check = await conditions.check(condition);
    expect(check.type === 'unsound' && check.message).toContain(says);
  });
});
