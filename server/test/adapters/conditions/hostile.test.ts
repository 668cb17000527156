/**
 * Owns: what hostile conditions and outputs come to (D-83): an answer, in bounded time and memory, while the server goes on
 * undisturbed. Time is counted in processor time of the process that judges, for the machine may be busy.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { celConditions } from '../../../src/adapters/conditions/cel/index.ts';
import { dataOf } from '../../../src/adapters/conditions/cel/json.ts';
import { watchStalls } from '../../support/stalls.ts';
import { facts, judges } from './support.ts';

const conditions = judges();

/** Each value is twice the one before. */
function doubled(times: number, first: string, last: (name: string) => string): string {
  let condition = last(`v${times}`);
  for (let i = times; i > 0; i -= 1) condition = `cel.bind(v${i}, v${i - 1} + v${i - 1}, ${condition})`;
  return `cel.bind(v0, ${first}, ${condition})`;
}

/** A list of four times the list before, at no cost until it is looked at. */
function woven(name: string, times: number, last: string): string {
  let condition = last;
  for (let i = times; i > 0; i -= 1) {
    const one = `${name}${i - 1}`;
    condition = `cel.bind(${name}${i}, [${one}, ${one}, ${one}, ${one}], ${condition})`;
  }
  return `cel.bind(${name}0, [1], ${condition})`;
}

/** Ten times ten times ten … */
function nested(depth: number): string {
  const ten = '[1,2,3,4,5,6,7,8,9,0]';
  let condition = ten;
  for (let i = 0; i < depth; i += 1) condition = `${ten}.map(x${i}, ${condition})`;
  return `len(${condition}) > 1`;
}

const lines = 'line\n'.repeat(13_000);

/** Numbers in twos, written with a and b: where it is matched with `waysFrom`, nearly every letter of it is another state. */
const letters = (numbers: number): string =>
  Array.from({ length: numbers }, (_, i) => i.toString(2))
    .join('')
    .replaceAll('0', 'a')
    .replaceAll('1', 'b');
/** Never found: the last letter is not in it. */
const waysFrom = (far: number): string => `output.matches("a[ab]{${far}}[^ab]")`;

const slow = waysFrom(200);
const megabyte = letters(65_000);
/** Short enough for a condition, and larger than there is time for. */
const huge = '\\pL{1000}'.repeat(200);

/** A hundred copies of the output, made in no time. */
const hungry = `len([${Array.from({ length: 100 }, (_, i) => i).join(',')}].map(x, output.lower())) == 1`;

/** Of all of them it is known that they cannot be judged. */
const endless: readonly (readonly [what: string, condition: string, output: string])[] = [
  ['a pattern with many ways through a megabyte', slow, megabyte],
  ['a pattern that is large itself', `output.matches(r"${huge}")`, 'é'],
  ['a pattern that the output brings', '"é".matches(output)', huge],
  ['comprehensions in each other', nested(12), ''],
  [
    'a comprehension of all with all',
    'output.splitlines().all(a, output.splitlines().all(b, a == b))',
    lines,
  ],
  ['a text that doubles', doubled(30, 'output', (v) => `${v} != ""`), lines],
  ['a text that doubles and is looked at', doubled(30, 'output', (v) => `len(${v}) > 1`), lines],
  // As long as V8 would just make it: at once, and without a look at the limit.
  ['a text of a quarter of a gigabyte', doubled(24, '"abcdefghijklmnop"', (v) => `${v}.matches("zz")`), ''],
  ['bytes that double', doubled(24, 'bytes("abcdefghijklmnop")', (v) => `size(${v}) > 1`), ''],
  ['a list that doubles', doubled(30, '[1]', (v) => `len(${v}) > 1`), ''],
  ['a list that is joined', 'output.splitlines().map(x, output).join("") != ""', lines],
  ['a hundred copies of a megabyte', hungry, 'A'.repeat(1_000_000)],
  ['a list that holds itself many times over', woven('v', 14, 'str(v14) == ""'), ''],
  ['two such lists that are compared', woven('v', 14, woven('w', 14, 'v14 == w14')), ''],
  [
    'many lists of single letters',
    'output.splitlines().all(a, len(output.splitlines().map(b, output.split(""))) > 0)',
    lines,
  ],
];

/** They may have any verdict, or none; what counts is that there is an answer. */
const strange: readonly (readonly [what: string, condition: string, output: string])[] = [
  ['a huge pattern', `output.matches("${'(a|b|c){1,300}'.repeat(200)}$")`, 'abc'.repeat(1_000)],
  ['a pattern that counts far', 'output.matches("((a{1,1000}){1,1000}){1,1000}")', 'a'.repeat(60_000)],
  ['a pattern that counts what counts', 'output.matches("(a{1000}){1000}")', 'a'.repeat(60_000)],
  ['a pattern that counts all along', `output.matches("${'a{1000}'.repeat(500)}")`, 'a'.repeat(60_000)],
  ['a pattern that counts nothing', `output.matches("${'(|){1000}'.repeat(400)}x")`, 'a'.repeat(60_000)],
  ['a pattern of all letters', `output.matches(r"(?i)[${'\\pL\\PL'.repeat(600)}]")`, 'é'.repeat(60_000)],
  ['a pattern of deep groups', `output.matches("${'('.repeat(1_900)}a${')'.repeat(1_900)}")`, 'a'],
  ['a pattern of stars', `output.matches("${'(((a*)*)*)*'.repeat(300)}b")`, 'a'.repeat(60_000)],
  [
    'a pattern of many words',
    `output.matches("${Array.from({ length: 1_000 }, (_, i) => i).join('|')}|z")`,
    lines,
  ],
  ['a pattern of half a million characters', '"a".matches(output)', 'a{1000}'.repeat(70_000)],
  ['a pattern that is none', 'output.matches("(")', 'x'],
  ['deep JSON', 'data == [1]', '['.repeat(500) + ']'.repeat(500)],
  ['very deep JSON', 'data == [1]', '['.repeat(32_000) + ']'.repeat(32_000)],
  ['very deep JSON of maps', 'data.a == 1', '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000)],
  ['a long list', 'data.exists(x, x == 7)', `[${'0,'.repeat(32_000)}0]`],
  ['a long list of lists', 'str(data) != ""', `[${'[],'.repeat(16_000)}[]]`],
  [
    'a map of many keys',
    'len(data) > 1',
    `{${Array.from({ length: 6_000 }, (_, i) => `"k${i}":${i}`).join(',')}}`,
  ],
  [
    'keys of prototypes',
    'data.all(k, bool(data[k]) || true)',
    '{"__proto__":{"a":1},"constructor":1,"toString":null,"then":1}',
  ],
  ['a megabyte', 'output.contains("x")', 'y'.repeat(1_000_000)],
  ['ten megabytes', 'output.contains("x")', 'y'.repeat(10_000_000)],
  ['ten megabytes of JSON', 'data == 1', `[${'0,'.repeat(5_000_000)}0]`],
  ['half a character', 'output == "x"', '\ud800'],
  ['NUL', 'output == "x"', '\0'.repeat(60_000)],
  ['a very long number', 'data == 1', '9'.repeat(60_000)],
  ['many minus signs', `${'-'.repeat(3_900)}1 == 1`, ''],
  ['many exclamation marks', `${'!'.repeat(3_900)}changed`, ''],
  ['many sums', `${'1 + '.repeat(950)}1 == 951`, ''],
  ['many quotes', '"'.repeat(3_999), ''],
  ['many slices', '['.repeat(2_000), ''],
  ['many dots', `data${'.a'.repeat(1_900)}`, '{}'],
];

describe('The judge of conditions', () => {
  it.each(endless)('gives up on %s, and judges the next one', async (_what, condition, output) => {
    const verdict = await conditions.judge(condition, facts(output));
    expect(verdict.type).toBe('failed');
    expect(await conditions.judge('output == "x"', facts('x'))).toEqual({ type: 'holds' });
  });

  it.each(strange)('answers to %s', async (_what, condition, output) => {
    await conditions.check(condition);
    const verdict = await conditions.judge(condition, facts(output));
    expect(['holds', 'holdsNot', 'failed']).toContain(verdict.type);
    expect(verdict.type === 'failed' ? verdict.message : 'short').toMatch(/^.{1,500}$/);
    expect(await conditions.judge('output == "x"', facts('x'))).toEqual({ type: 'holds' });
  });

  it.each([
    ['^(a+)+$', `${'a'.repeat(40)}b`],
    ['^(a|aa)+$', `${'a'.repeat(40)}b`],
    ['(.*)*\\d{99}$', 'x'.repeat(60_000)],
  ])('knows at once where another engine looks for ever: %s', async (pattern, output) => {
    expect(await conditions.judge(`output.matches(r'${pattern}')`, facts(output))).toEqual({
      type: 'holdsNot',
    });
  });

  it('holds no condition to account for what the patterns of others took', async () => {
    const own = celConditions();
    // Each of them grows as far as a pattern may, and as many of them are more than a judge has.
    const output = letters(1_900);
    for (let far = 20; far < 35; far += 1)
      expect(await own.judge(waysFrom(far), facts(output))).toEqual({ type: 'holdsNot' });
    await own.stop();
  });

  it('never holds the server up for 50 ms, whatever is judged', async () => {
    const stalls = watchStalls();
    const answers = [...endless, ...strange].flatMap(([, condition, output]) => [
      conditions.check(condition),
      conditions.judge(condition, facts(output)),
    ]);
    await Promise.all(answers);
    const longest = stalls.longestMs();
    console.info(`Longest stall with ${answers.length} hostile jobs: ${longest.toFixed(1)} ms.`);
    expect(longest).toBeLessThan(50);
  });

  it.runIf(existsSync('/proc/self/status'))(
    'needs no more than 64 MB, whatever is judged, and a little to notice it',
    async () => {
      const others = judgesRunning();
      const own = celConditions();
      const idle: number[] = [];
      let peak = 0;
      for (const [, condition, output] of [...endless, ...strange]) {
        await own.judge('true', facts(''));
        // The one before it, or another one where that was ended.
        const [pid = 0] = judgesRunning().filter((other) => !others.includes(other));
        idle.push(peakMb(pid));
        const look = setInterval(() => (peak = Math.max(peak, peakMb(pid))), 2);
        await own.judge(condition, facts(output));
        peak = Math.max(peak, peakMb(pid));
        clearInterval(look);
      }
      await own.stop();
      const most = peak - Math.min(...idle);
      console.info(`Most memory a hostile job took: ${most.toFixed(0)} MB.`);
      expect(Math.min(...idle)).toBeGreaterThan(0);
      expect(most).toBeGreaterThan(0);
      expect(most).toBeLessThan(96);
    },
    120_000,
  );

  it('tells a condition that takes too long from one that needs too much', async () => {
    expect(await conditions.judge(slow, facts(megabyte))).toEqual({
      type: 'failed',
      message: 'It took longer than 200 ms: look at less of the output, or use a simpler pattern.',
    });
    expect(await conditions.judge(hungry, facts('A'.repeat(1_000_000)))).toEqual({
      type: 'failed',
      message: 'It needed more than 64 MB: look at less of the output, and build no large lists or texts.',
    });
  });

  it.each([
    'data[output] != null',
    'data[["__pro", "to__"].join("")] != null',
    'data[["const", "ructor"].join("")] != null',
    'dyn(timestamp(0))[output] != null',
    'dyn(timestamp(0))[["__pro", "to__"].join("")] != null',
    'dyn(cel)[["__pro", "to__"].join("")] != null',
    'dyn(1u)[["__pro", "to__"].join("")] != null',
    'dyn(duration("1s"))[["const", "ructor"].join("")] != null',
    'dyn([1])[output] != null',
    'dyn({"a": 1})[output] != null',
    'dyn({"a": 1})[["__pro", "to__"].join("")] != null',
    'dyn("text")[output] != null',
    'dyn(output)[["len", "gth"].join("")] != null',
    'data.get(output) != null',
    '{"a": 1}.get(output) != null',
    'output in data',
    'output in {"a": 1}',
    '"toString" in data',
  ])('finds nothing behind a key that the output chooses: %s (F12)', async (condition) => {
    for (const json of ['{}', '[]', '"text"', 'plain', '{"a":{}}']) {
      const { type } = await conditions.judge(condition.replaceAll('output', '"constructor"'), facts(json));
      expect(type).not.toBe('holds');
    }
    // As it is written: the output is the key, and no JSON.
    expect((await conditions.judge(condition, facts('constructor'))).type).not.toBe('holds');
  });

  it('reads such a key as any other where the data has it', async () => {
    const hostile = '{"constructor":1,"__proto__":2,"toString":3}';
    for (const condition of ['data["constructor"] == 1', 'data["__proto__"] == 2', '"toString" in data'])
      expect(await conditions.judge(condition, facts(hostile))).toEqual({ type: 'holds' });
  });

  it('makes maps of objects, all the way down', () => {
    const data = dataOf('{"a":[{"__proto__":{"b":1}}]}');
    expect(data).toEqual(new Map([['a', [new Map([['__proto__', new Map([['b', 1n]])]])]]]));
  });

  it('judges many at once, each by its own facts', async () => {
    const verdicts = await Promise.all(
      Array.from({ length: 300 }, (_, i) =>
        conditions.judge(`poll == ${i - (i % 2)}`, facts('', { poll: i })),
      ),
    );
    verdicts.forEach((verdict, i) => expect(verdict.type).toBe(i % 2 === 0 ? 'holds' : 'holdsNot'));
  });

  it('lets a quick condition by while a slow one is judged', async () => {
    const own = celConditions();
    // Enough work that both judges have started when it is done.
    await Promise.all(Array.from({ length: 20 }, () => own.judge(waysFrom(20), facts(letters(1_900)))));
    const asked = own.judge(slow, facts(megabyte));
    let ended = false;
    void asked.then(() => (ended = true));
    expect(await own.judge('true', facts(''))).toEqual({ type: 'holds' });
    expect(ended).toBe(false);
    expect((await asked).type).toBe('failed');
    await own.stop();
  });

  it('judges for polls before all trials that wait, however many (broke: watches were late because of them)', async () => {
    const own = celConditions();
    const answered: string[] = [];
    const judge = (what: string, isTrial?: boolean) =>
      own.judge('true', facts(''), isTrial).then(() => answered.push(what));
    const all = [
      ...Array.from({ length: 40 }, () => judge('trial', true)),
      judge('poll'),
      judge('second poll'),
      judge('trial', true),
    ];
    await Promise.all(all);
    // Two are judged at once, and may have begun before.
    expect(answered.indexOf('second poll')).toBeLessThan(6);
    expect(answered.slice(-1)).toEqual(['trial']);
    await own.stop();
  });

  it('answers everything when it is stopped, and afterwards', async () => {
    const own = celConditions();
    const asked = Array.from({ length: 5 }, () => own.judge('true', facts('')));
    const checked = own.check('true');
    await own.stop();
    for (const { type } of await Promise.all(asked)) expect(type).toBe('unjudged');
    expect((await checked).type).toBe('unsound');
    expect((await own.judge('true', facts(''))).type).toBe('unjudged');
    await own.stop();
  });

  it('starts nothing until it is asked, and leaves nothing behind', async () => {
    const before = judgesRunning();
    const own = celConditions();
    expect(judgesRunning()).toEqual(before);
    await own.judge('true', facts(''));
    const started = judgesRunning().filter((pid) => !before.includes(pid));
    expect(started).toHaveLength(1);
    await own.stop();
    expect(judgesRunning()).not.toContain(started[0]);
  });

  it('asks another judge where one was killed from outside (D-83)', async () => {
    const before = judgesRunning();
    const own = celConditions();
    await own.judge('true', facts(''));
    const [first = 0] = judgesRunning().filter((pid) => !before.includes(pid));
    // It is given the job before anybody knows of its end.
    process.kill(first, 'SIGKILL');
    expect(await own.judge('true', facts(''))).toEqual({ type: 'holds' });
    await own.stop();
  });

  it('has no verdict where no judge can be started (D-83)', async () => {
    const before = judgesRunning();
    const own = celConditions();
    const verdict = await whileEnded(before, own.judge('true', facts('')));
    expect(verdict).toMatchObject({
      type: 'unjudged',
      message: expect.stringContaining('could not be started') as string,
    });
    expect(await own.judge('true', facts(''))).toEqual({ type: 'holds' });
    await own.stop();
  });

  it('has no verdict where judges are killed in the midst of it, and says nothing of its memory (D-83)', async () => {
    const before = judgesRunning();
    const own = celConditions();
    await own.judge('true', facts(''));
    // So that it has no answer before its end.
    for (const pid of judgesRunning().filter((other) => !before.includes(other)))
      process.kill(pid, 'SIGSTOP');
    const verdict = await whileEnded(before, own.judge('true', facts('')));
    expect(verdict.type).toBe('unjudged');
    expect(verdict).toHaveProperty('message', expect.not.stringContaining('64 MB'));
    await own.stop();
  });

  it('asks another judge where one was stopped, and says nothing of memory (D-83)', async () => {
    const before = judgesRunning();
    const own = celConditions();
    await own.judge('true', facts(''));
    const [first = 0] = judgesRunning().filter((pid) => !before.includes(pid));
    process.kill(first, 'SIGSTOP');
    expect(await own.judge('true', facts(''))).toEqual({ type: 'holds' });
    await own.stop();
  });

  it('holds a condition to account that ends its judge by its memory, each time (D-83)', async () => {
    for (let i = 0; i < 3; i += 1)
      expect(await conditions.judge(hungry, facts('A'.repeat(1_000_000)))).toMatchObject({
        type: 'failed',
        message: expect.stringContaining('more than 64 MB') as string,
      });
  });
});

/** Since it was started; 0: it is no more. */
function peakMb(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024;
  } catch {
    return 0;
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** As a machine without memory does: ends every judge that was not there before. */
async function whileEnded<T>(before: readonly number[], asked: Promise<T>): Promise<T> {
  let isOver = false;
  const answer = asked.finally(() => (isOver = true));
  while (!isOver) {
    for (const pid of judgesRunning().filter((other) => !before.includes(other))) end(pid);
    await turn();
  }
  return answer;
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It was quicker.
  }
}

/** Those of this process. */
function judgesRunning(): readonly number[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([, parent, ...command]) => parent === String(process.pid) && /judge-process/.test(command.join(' ')),
    )
    .map(([pid]) => Number(pid));
}
