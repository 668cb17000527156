import type { Model } from 'schema/client-kit';
import { expect, it } from 'vitest';
import {
  costWords,
  factsLine,
  healthWords,
  tokensInShort,
  tuningWords,
  usageWords,
  useWords,
  windowWords,
} from './model-words.ts';

const model: Model = {
  alias: 'main',
  description: 'big-1 at models.example',
  demo: false,
  isDefault: true,
  health: 'HEALTHY',
  problem: null,
  window: 32_768,
  maxOutput: null,
  concurrency: null,
  inUse: 0,
  waiting: 0,
  fallbacks: [],
  temperature: null,
  effort: null,
  efforts: [],
  vision: false,
  reasoning: false,
  price: null,
};

it.each([
  [null, null],
  [512, '512 tokens'],
  [8_192, '8k tokens'],
  [32_000, '32k tokens'],
  [32_768, '32k tokens'],
  [128_000, '128k tokens'],
  [131_072, '128k tokens'],
  [200_000, '200k tokens'],
  [1_000_000, '1M tokens'],
  [1_047_576, '1M tokens'],
  [1_048_576, '1M tokens'],
  [1_500_000, '1.5M tokens'],
])('says a window of %s as %s', (window, words) => {
  expect(windowWords(window)).toBe(words);
});

it('says how many calls are in use and wait, and nothing of a model that nobody uses (D-36)', () => {
  expect(useWords(model)).toBeNull();
  expect(useWords({ ...model, inUse: 3 })).toBe('3 in use');
  expect(useWords({ ...model, inUse: 3, waiting: 2, concurrency: 3 })).toBe('3 of 3 in use, 2 waiting');
});

it('says in one line what there is to choose a model by, and of what is not known nothing', () => {
  expect(factsLine({ ...model, window: null })).toBe('');
  const price = { input: 2.5, output: 10, cachedInput: 0.125 };
  expect(factsLine({ ...model, price, inUse: 1, waiting: 1 })).toBe(
    '32k tokens · $2.50 in, $0.125 cached, $10 out per million tokens · 1 in use, 1 waiting',
  );
});

it('tells each health by a shape and a word of its own, not by a colour alone', () => {
  const all = Object.values(healthWords);
  expect(new Set(all.map(({ mark }) => mark)).size).toBe(all.length);
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
});

it('says how a model is to answer, and nothing where it is as it is set up', () => {
  expect(tuningWords({})).toBe('');
  expect(tuningWords({ temperature: 0, effort: 'XHIGH' })).toBe('temperature 0 · effort very high');
});

it('says what an answer cost, and of what was not counted apart nothing', () => {
  expect(usageWords({ inputTokens: 10, outputTokens: 5 }).short).toBe('Tokens: 10 in, 5 out');
  const usage = { inputTokens: 12_345, outputTokens: 678, cachedInputTokens: 12_000, reasoningTokens: 500 };
  expect(usageWords(usage).short).toBe('Tokens: 12,345 in (12,000 cached), 678 out (500 thinking)');
  expect(usageWords({ ...usage, cachedInputTokens: 0 }).long).toBe(
    'Tokens: 12,345 read, 678 written (500 of them for thinking).',
  );
});

it('says tokens to be compared at a glance, in the unit of what they stand beside', () => {
  const short = [0, 999, 1_000, 12_440, 99_949, 999_400, 999_999, 2_500_000].map((n) => tokensInShort(n));
  expect(short).toEqual(['0', '999', '1k', '12.4k', '99.9k', '999k', '1M', '2.5M']);
  expect(tokensInShort(16_384, 32_768)).toBe('16k');
});

it('says what calls cost as fine as it has to be, and that no price is set', () => {
  expect([0, 0.00001, 0.0123, 1.5, 1234.567, null].map(costWords)).toEqual([
    '$0.00',
    'under $0.0001',
    '$0.0123',
    '$1.50',
    '$1,234.57',
    'no price set',
  ]);
});
