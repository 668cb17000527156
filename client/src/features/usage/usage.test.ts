import type { Answer, Failure } from 'schema/client-kit';
import { expect, it } from 'vitest';
import type { Api } from '../../lib/api.svelte.ts';
import {
  firstDay,
  inexactWords,
  limitWords,
  spendingWords,
  type UsageGroup,
  type UsageTotal,
} from './usage-words.ts';
import { Spent } from './usage.svelte.ts';

const total = (inputTokens: number, part: Partial<UsageTotal> = {}): UsageTotal => ({
  calls: 2,
  inputTokens,
  cachedInputTokens: 0,
  outputTokens: 5,
  reasoningTokens: 0,
  cost: null,
  estimatedCalls: 0,
  ...part,
});
const group = (part: Partial<UsageGroup>): UsageGroup => ({
  day: null,
  workstreamId: null,
  title: null,
  alias: null,
  total: total(10),
  ...part,
});

type Told = Answer<{ readonly usage: readonly UsageGroup[] }>;
interface Asked {
  readonly from: string;
  readonly by: readonly string[];
}

/** A page whose clock and whose server the test is. */
function open() {
  const asked: { readonly variables: Asked; readonly answer: (told: Told) => void }[] = [];
  const api = {
    client: {
      request: (_: unknown, variables: Asked) =>
        new Promise<Told>((answer) => asked.push({ variables, answer })),
    },
    explain: (failure: Failure) => (failure.type === 'Network' ? failure.message : ''),
  } as unknown as Api;
  const spent = new Spent(api, () => Date.parse('2026-11-30T23:59:00Z'));
  /** Answers the four questions of one asking. */
  const answer = (at: number, alias: string) => {
    for (const { variables, answer } of asked.slice(at, at + 4))
      answer({
        ok: true,
        data: {
          usage: [
            group({
              ...(variables.by[0] === 'DAY' && { day: '2026-11-30' }),
              ...(variables.by[0] === 'MODEL' && { alias }),
              ...(variables.by[0] === 'WORKSTREAM' && { workstreamId: 'w' }),
            }),
          ],
        },
      });
  };
  return { spent, asked, answer };
}

it('asks about so many days, today included, in UTC', async () => {
  expect(firstDay(1, Date.parse('2026-11-30T00:00:00Z'))).toBe('2026-11-30');
  const { spent, asked, answer } = open();
  const asking = spent.ask(7);
  expect(spent.usage.type).toBe('asking');
  expect(asked.map(({ variables }) => [variables.from, variables.by.join()])).toEqual([
    ['2026-11-24', ''],
    ['2026-11-24', 'DAY'],
    ['2026-11-24', 'MODEL'],
    ['2026-11-24', 'WORKSTREAM'],
  ]);
  answer(0, 'demo');
  await asking;
  expect(spent.usage).toMatchObject({
    type: 'told',
    told: {
      total: { inputTokens: 10 },
      days: [{ day: '2026-11-30' }],
      models: [{ alias: 'demo' }],
      workstreams: [{ workstreamId: 'w' }],
      more: false,
    },
  });
});

it('shows nothing of other days than those asked about last, and keeps what was told meanwhile', async () => {
  const { spent, answer } = open();
  const first = spent.ask(7);
  answer(0, 'a');
  await first;
  const second = spent.ask(30);
  const third = spent.ask(90);
  answer(8, 'c');
  await third;
  answer(4, 'b');
  await second;
  expect(spent.usage).toMatchObject({ told: { models: [{ alias: 'c' }] } });
});

it('says why nothing is shown when one of the answers is a failure', async () => {
  const { spent, asked, answer } = open();
  const asking = spent.ask(7);
  asked[2]!.answer({ ok: false, failure: { type: 'Network', message: 'It cannot be reached.' } });
  answer(0, 'a');
  await asking;
  expect(spent.usage).toEqual({ type: 'failed', message: 'It cannot be reached.' });
  expect(spent.asking).toBe(false);
});

it('tells what was spent, at what cost where there is a price, and where a person is asked (D-33)', () => {
  expect(spendingWords(total(12_000))).toBe('Spent so far: 12,005 tokens in 2 calls.');
  expect(spendingWords(total(1, { calls: 1, cost: 0.0123 }))).toMatch(/in one call, \$0\.0123\.$/);
  expect(spendingWords(total(0, { calls: 0, outputTokens: 0 }))).toBe('Nothing was spent yet.');
  expect([limitWords(50_000), limitWords(null)]).toEqual(['You are asked at 50,000.', '']);
});

it('says how much of it is estimated, and nothing when all was counted', () => {
  expect(inexactWords(total(1))).toBe('');
  expect(inexactWords(total(1, { estimatedCalls: 1 }))).toMatch(/^The tokens of 1 of 2 calls are estimated/);
  expect(inexactWords(total(1, { estimatedCalls: 2 }))).toMatch(/^The tokens of all 2 calls are estimated/);
});
