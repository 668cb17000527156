/**
 * Owns: how much of each result the model is told when there is too little room (D-34), example by example.
 */
import { emptyProjection, type Context, type ToolResult } from 'schema/projection';
import { describe, expect, it } from 'vitest';
import { sizeResults } from '../../src/core/context/sizing.ts';
import { isOverHard } from '../../src/core/context/meter.ts';
import { adviceToWindDown } from '../../src/core/context/texts.ts';
import { estimateTokens, tokensOf } from '../../src/core/context/tokens.ts';
import { all, callIds, last } from './support/telling.ts';
import { createWorld, type World } from './support/world.ts';

const result = (content: string, over: Partial<ToolResult> = {}): ToolResult => ({
  outcome: 'OK',
  effect: 'NONE',
  content,
  ...over,
});
/** So many words, each of which is one token; the first and the last are marked. */
const words = (n: number): string => `first ${'word '.repeat(Math.max(0, n - 2))}last`;

/** A window of which so much is taken. */
const full = (told: number, window: number | null = 10_000): Context => ({
  ...emptyProjection.context,
  told,
  window,
});
/** What is left of it below the hard threshold. */
const room = (told: number): number => 9_000 - told;

const sizes = (context: Context, ...given: readonly ToolResult[]): readonly number[] =>
  sizeResults(given, context).map(({ content }) => estimateTokens(content));

describe('the results of a batch', () => {
  it('pass whole where there is room for all of them, or where nobody knows how much there is', () => {
    const given = [result(words(2_000)), result(words(1_000)), result('')];
    expect(sizeResults(given, full(0))).toEqual(given);
    expect(sizeResults([result(words(100_000))], full(0, null))).toEqual([result(words(100_000))]);
  });

  it('are told by their beginning and their end, and what is left out is said', () => {
    const [sized] = sizeResults([result(words(9_000))], full(0));
    expect(sized!.content).toMatch(/^first word/);
    expect(sized!.content).toMatch(/word last$/);
    const said = /\[… ([\d,]+) of ([\d,]+) characters are left out here/.exec(sized!.content);
    const whole = words(9_000).length;
    expect(said?.[2]).toBe(new Intl.NumberFormat('en').format(whole));
    const gone = Number(said![1]!.replaceAll(',', ''));
    expect(sized!.content.replace(/\n\[….*…\]\n/s, '')).toHaveLength(whole - gone);
    expect(sized!.content).toMatch(/ask for less at a time/);
  });

  it('have half of the window each at most (D-34)', () => {
    const [size] = sizes(full(0), result(words(9_000)));
    expect(size).toBeLessThan(5_100);
    expect(size).toBeGreaterThan(4_500);
  });

  it('share what is left: none takes what another one needs', () => {
    const given = sizes(full(1_000), result(words(9_000)), result(words(1_000)), result(words(9_000)));
    expect(given[1]).toBe(1_000);
    for (const size of [given[0]!, given[2]!]) {
      expect(size).toBeLessThan((room(1_000) - 1_000) / 2 + 100);
      expect(size).toBeGreaterThan((room(1_000) - 1_000) / 2 - 500);
    }
  });

  it('leave room for what stands around them and the advice after them, so that they are sent (broke: what filled the room was never read)', () => {
    const code = 'if (a.b !== c[17]) { return wait(() => d); }\n'.repeat(3_000);
    for (const window of [8_000, 32_000, 128_000])
      for (const scale of [1, 1.4])
        for (const given of [
          [words(90_000), words(90_000)],
          [code, words(90_000), code],
          Array(20).fill(code),
        ]) {
          const context = { ...full(500, window), scale };
          const sized = sizeResults(
            (given as string[]).map((content) => result(content)),
            context,
          );
          const told = sized.reduce(
            (sum, { content }) =>
              sum + tokensOf({ kind: 'TOOL', callId: 'c', name: 't', ...result(content) }),
            tokensOf({ kind: 'SYSTEM', text: adviceToWindDown(89), source: 'x' }),
          );
          expect(isOverHard({ ...context, told: context.told + told })).toBe(false);
          expect(told * scale).toBeGreaterThan(window * 0.6);
        }
  });

  it('are sized by the tokens that the provider counts, not by ours', () => {
    const counted: Context = { ...full(0), scale: 2 };
    const [size] = sizes(counted, result(words(9_000)));
    expect(size).toBeLessThan(2_600);
  });

  it.each([0, 5_000, 50_000])(
    'that are errors are never cut away, with %i tokens told already (G13)',
    (told) => {
      const [sized] = sizeResults([result(words(650), { outcome: 'ERROR' })], full(told));
      expect(sized!.content).toBe(words(650));
      const [long] = sizeResults([result(words(9_000), { outcome: 'ERROR' })], full(50_000));
      expect(long!.content).toMatch(/^first/);
      expect(long!.content).toMatch(/last$/);
      expect(estimateTokens(long!.content)).toBeGreaterThan(500);
    },
  );

  it('that are small pass whole at zero room, and a big one says that it ran and how to ask for less (G13)', () => {
    const handle = result('{"watch_id":"w1"}', { effect: 'COMMITTED' });
    const [small, big] = sizeResults([handle, result('x'.repeat(200_000))], full(50_000));
    expect(small).toBe(handle);
    expect(big!.content).toMatch(/^\[The call ran, and its output of 200,000 characters is not shown/);
    expect(big!.content).toMatch(/Do not run it again for that alone; ask for less/);
    expect(big).toMatchObject({ outcome: 'OK', effect: 'NONE' });
  });

  it('that are small are bounded together, and none is made longer than it is', () => {
    const many = Array.from({ length: 400 }, () => result(words(10)));
    const sized = sizeResults(many, full(50_000));
    expect(sized.every(({ content }, i) => content.length <= many[i]!.content.length)).toBe(true);
    expect(sized.filter(({ content }) => content === words(10)).length).toBeGreaterThanOrEqual(140);
    expect(
      sizeResults(
        Array.from({ length: 200 }, () => result('ok')),
        full(50_000),
      ),
    ).toEqual(Array.from({ length: 200 }, () => result('ok')));
  });

  it('keep what they did, and never half a character', () => {
    const [sized] = sizeResults(
      [result('😀'.repeat(60_000), { outcome: 'ERROR', effect: 'PARTIAL' })],
      full(6_000),
    );
    expect(sized).toMatchObject({ outcome: 'ERROR', effect: 'PARTIAL' });
    expect(sized!.content.isWellFormed()).toBe(true);
  });
});

/** The model asks for two calls that run. */
function working(): World {
  const w = createWorld();
  w.provider = { window: 4_000, overhead: 100, factor: 1, counts: 'NOTHING' };
  w.send('go');
  w.store();
  w.declare('read_file', 'read_file');
  w.store();
  w.prepare('read');
  w.store();
  return w;
}

describe('what a tool has put out', () => {
  it('stays whole in the journal, where a person reads it, whatever the model is told of it', () => {
    const w = working();
    const [first, second] = callIds(w);
    w.end(first!, { content: words(9_000) });
    w.end(second!, { content: 'small' });
    expect(all(w, 'TOOL_SETTLED').map((e) => e.result.content)).toEqual([words(9_000), 'small']);
    expect(all(w, 'TOOL').map((e) => e.content.length < 12_000)).toEqual([true, true]);
    expect(last(w, 'TOOL').content).toBe('small');
  });

  it('is sized as well where the turn ends with it', () => {
    const w = working();
    w.end(callIds(w)[0]!, { content: words(9_000) });
    w.force();
    expect(all(w, 'TOOL')[0]!.content).toMatch(/are left out here/);
  });
});

it('the results of a batch have a bound together while they wait, so that the workstream can be read (broke: 75 files of 250 KB could not)', () => {
  const w = createWorld();
  w.send('read them');
  w.store();
  w.declare(...Array.from({ length: 100 }, () => 'read_file'));
  w.store();
  w.prepare('read');
  w.store();
  for (const callId of callIds(w)) {
    w.end(callId, { content: 'x'.repeat(250_000) });
    w.store();
  }
  const settled = all(w, 'TOOL_SETTLED').map((e) => e.result.content.length);
  expect(settled).toHaveLength(100);
  expect(settled.slice(0, 16)).toEqual(Array(16).fill(250_000));
  expect(settled.reduce((sum, length) => sum + length, 0)).toBeLessThan(4 * 1024 * 1024 + 100 * 2_200);
  expect(Math.min(...settled)).toBeGreaterThan(1_900);
});
