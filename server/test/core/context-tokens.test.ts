/**
 * Owns: how many tokens a text is taken for before a provider has counted it (D-39), against what two tokenizers count,
 * and that it takes bounded work whatever the text is.
 */
import { describe, expect, it } from 'vitest';
import type { Entry, EntryBody } from 'schema/projection';
import { estimateTokens, overheadOf, tokensOf, weightOf } from '../../src/core/context/tokens.ts';
import { ann, place } from './support/world.ts';

/** Texts of each kind that fills contexts. */
const samples = {
  prose:
    'The old lighthouse keeper climbed the stairs every evening, lit the lamp, and wrote the weather into a book that nobody would read. When the storm came, he did not notice at first; the wind had been rising for days, and the sea was always loud. Only when the glass broke did he put down his pen.',
  german:
    'Der alte Leuchtturmwärter stieg jeden Abend die Treppe hinauf, zündete die Lampe an und schrieb das Wetter in ein Buch, das niemand lesen würde. Als der Sturm kam, bemerkte er ihn zunächst nicht; der Wind war seit Tagen gestiegen.',
  code: 'export function applyEntry(p: Projection, entry: Entry): Projection {\n  if (entry.revision !== p.revision + 1) return p;\n  const next: Projection = {\n    ...p,\n    revision: entry.revision,\n    epoch: Math.max(p.epoch, entry.epoch),\n    updatedAt: entry.at,\n  };\n  return applyKind(next, entry);\n}\n',
  json: JSON.stringify({
    items: Array.from({ length: 8 }, (_, i) => ({
      id: i + 1,
      name: `item ${i + 1}`,
      price: 12.5 + i,
      tags: ['new', 'blue'],
      stock: { berlin: 3 * i, paris: 100 - i },
    })),
  }),
  hex: 'da39a3ee5e6b4b0d3255bfef95601890afd80709e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  base64: Buffer.from(Array.from({ length: 300 }, (_, i) => (i * 7919 + 31 * i * i) % 256)).toString(
    'base64',
  ),
  chinese:
    '老灯塔看守人每天晚上爬上楼梯,点亮灯,把天气写进一本没人会读的书里。暴风雨来临时,他起初并没有注意到;风已经刮了好几天,大海总是很吵。',
  japanese:
    '古い灯台守は毎晩階段を上り、ランプに火をともし、誰も読まない本に天気を書き込んだ。嵐が来たとき、彼は最初気づかなかった。',
  korean:
    '늙은 등대지기는 매일 저녁 계단을 올라 등불을 켜고 아무도 읽지 않을 책에 날씨를 적었다. 폭풍이 왔을 때 그는 처음에 알아차리지 못했다.',
  russian:
    'Старый смотритель маяка каждый вечер поднимался по лестнице, зажигал лампу и записывал погоду в книгу, которую никто не прочтёт.',
  log: Array.from(
    { length: 12 },
    (_, i) =>
      `2026-03-1${i % 10}T08:0${i % 10}:12.${100 + i}Z INFO server[${4000 + i}] GET /api/items/${i * 37} 200 ${i * 3 + 1}ms`,
  ).join('\n'),
  emoji: '🎉🚀🔥😀👍🏽❤️🐙🌍🎯✨'.repeat(6),
  spaces: ('x' + ' '.repeat(40) + '\n').repeat(20),
  diff: '--- a/src/index.ts\n+++ b/src/index.ts\n@@ -1,6 +1,7 @@\n import { a } from "./a.ts";\n-const limit = 10;\n+const limit = 20;\n+const name = "weir";\n export default a(limit);\n',
};

/** Tokens of each, counted once by o200k_base and by cl100k_base. */
const counted: Readonly<Record<keyof typeof samples, readonly [number, number]>> = {
  prose: [65, 66],
  german: [58, 70],
  code: [80, 77],
  json: [292, 283],
  hex: [58, 58],
  base64: [267, 291],
  chinese: [62, 86],
  japanese: [56, 72],
  korean: [50, 82],
  russian: [38, 60],
  log: [395, 395],
  emoji: [102, 186],
  spaces: [40, 40],
  diff: [59, 58],
};

const kinds = Object.keys(samples) as (keyof typeof samples)[];

describe('the tokens of a text', () => {
  it.each(kinds)('are about as many as a tokenizer counts, and not far from an older one: %s', (kind) => {
    const guess = estimateTokens(samples[kind]);
    const [now, older] = counted[kind];
    // White space alone is taken for more than it is: nobody knows what a model makes of it.
    const factor = kind === 'spaces' ? 2.2 : 1.5;
    expect(guess).toBeGreaterThan(now / factor);
    expect(guess).toBeLessThan(now * factor);
    expect(guess).toBeGreaterThan(older / 2.5);
    expect(guess).toBeLessThan(older * 2.5);
  });

  it('of nothing are none, and of white space are some', () => {
    expect(estimateTokens('')).toBe(0);
    expect(estimateTokens(' '.repeat(1_000))).toBe(100);
  });

  // One run of emoji is cut into at any place, and taken for another kind of text there.
  it.each(kinds.filter((kind) => kind !== 'emoji'))(
    'grow with the text, also where only a part of it is looked at: %s',
    (kind) => {
      const long = samples[kind].repeat(Math.ceil(40_000 / samples[kind].length));
      const [once, often] = [estimateTokens(long), estimateTokens(long.repeat(10))];
      expect(often / once).toBeGreaterThan(9);
      expect(often / once).toBeLessThan(11);
    },
  );

  const million = 1_000_000;
  it.each([
    ['one letter', 'a'.repeat(2 * million)],
    ['digits and letters in one run', 'a1'.repeat(million)],
    ['letters and a digit at the end', `${'a'.repeat(2 * million)}1`],
    ['white space', ' '.repeat(2 * million)],
    ['lines of nothing', '\n'.repeat(2 * million)],
    ['every sign for itself', '({[<'.repeat(million / 2)],
    ['halves of pairs', '\ud800'.repeat(2 * million)],
    ['signs of Han', '\u6f22'.repeat(2 * million)],
  ])('of 2 million characters are told by 60,000 of them: %s', (_, text) => {
    const guess = estimateTokens(text);
    expect(guess).toBeGreaterThanOrEqual(text.length / 10);
    expect(guess).toBeLessThanOrEqual(text.length * 1.2);
    // What lies outside the beginning, the middle and the end is not looked at.
    const other = (at: number, sign: string): number =>
      estimateTokens(`${text.slice(0, at)}${sign.repeat(40_000)}${text.slice(at + 40_000)}`);
    expect([other(100_000, '\u9fa5'), other(1_500_000, '\u9fa5')]).toEqual([guess, guess]);
    // And what lies in them is.
    expect([other(0, '\u9fa5'), other(0, 'a')]).not.toEqual([guess, guess]);
  });
});

describe('the tokens of an entry', () => {
  const bodies: readonly EntryBody[] = [
    { kind: 'USER', text: 'word '.repeat(100), author: ann, source: 'MESSAGE' },
    { kind: 'SYSTEM', text: 'word '.repeat(100), source: 'X' },
    { kind: 'CANCELLATION', text: 'word '.repeat(100), reasoning: 'word '.repeat(900), reason: 'STOPPED' },
    { kind: 'TOOL', callId: 'c', name: 'n', outcome: 'OK', effect: 'NONE', content: 'word '.repeat(100) },
  ];
  it.each(bodies)('are those of what the model is told of it, and a little: $kind', (body) => {
    expect(tokensOf(body)).toBe(104);
  });

  it('of an answer are those of its calls too, not those of its thoughts', () => {
    const answer = (calls: number, reasoning = ''): EntryBody => ({
      kind: 'ASSISTANT',
      text: 'word '.repeat(100),
      reasoning,
      calls: Array.from({ length: calls }, (_, i) => ({
        callId: `c${i}`,
        providerId: 'p',
        name: 'read',
        arguments: 'word '.repeat(50),
      })),
      finish: 'STOP',
      model: 'm',
      usage: null,
      discarded: [],
    });
    expect(tokensOf(answer(0, 'word '.repeat(9_000)))).toBe(104);
    expect(tokensOf(answer(2))).toBe(104 + 2 * (4 + 1 + 50));
  });

  it('of a summary are those of the request it carries too', () => {
    const body = {
      kind: 'CHECKPOINT',
      summary: 'word '.repeat(100),
      request: { messageId: 'm1', text: 'word '.repeat(30), author: ann },
    } as EntryBody;
    expect(tokensOf(body)).toBe(134);
  });

  it('are none where the model is told nothing', () => {
    expect(tokensOf({ kind: 'QUEUE', queue: { items: [], held: false } })).toBe(0);
  });

  it('are weighed where an earlier build did not say them', () => {
    const old: Entry = place(1, bodies[0]!);
    expect(weightOf(old)).toBe(104);
    expect(weightOf({ ...old, tokens: 7 })).toBe(7);
  });
});

describe('what stands beside the conversation', () => {
  it('is the system prompt and each tool with its parameters', () => {
    const tool = {
      name: 'read',
      description: 'word '.repeat(20),
      parameters: { type: 'object', properties: {} },
    };
    expect(overheadOf('word '.repeat(100), [])).toBe(104);
    expect(overheadOf('word '.repeat(100), [tool, tool]) - 104).toBeGreaterThan(2 * 24);
  });
});
