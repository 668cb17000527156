/** Owns: what a model call that has ended is counted as (D-5, group G). */
import { describe, expect, it } from 'vitest';
import type { Usage } from 'schema/projection';
import { costOf, tokensOfRequest, type AskedCall } from '../../src/app/actor/spending.ts';
import { estimateTokens } from '../../src/core/context/tokens.ts';
import type { ModelAnswer, ModelFault, ModelInfo } from '../../src/ports/model.ts';
import { modelInfo } from '../support/fake-model.ts';

const asked: AskedCall = { id: 'c1', purpose: 'TURN', turnId: 't1', lane: 'a', input: 1_234 };
const silent = { text: '', reasoning: '' };
const answer: ModelAnswer = {
  type: 'answered',
  text: 'Twelve words of an answer, or rather fewer than that, I think.',
  reasoning: '',
  calls: [],
  finish: 'STOP',
  usage: { inputTokens: 1_000, outputTokens: 20 },
  alias: 'b',
  model: 'm-b',
};
const fault: ModelFault = {
  type: 'failed',
  kind: 'CONNECTION',
  alias: 'b',
  accepted: false,
  othersLeft: false,
  message: 'Broke.',
  retryAfterMs: null,
};
const priced = (price: ModelInfo['price']): readonly ModelInfo[] => [{ ...modelInfo, alias: 'b', price }];
const usageOf = (usage: Usage | null, more: Partial<ModelAnswer> = {}) =>
  costOf(asked, { ...answer, ...more, usage }, silent, []);

describe('A call that was answered', () => {
  it('is counted for who answered, as the provider counted it', () => {
    const usage = { inputTokens: 1_000, outputTokens: 20, cachedInputTokens: 900, reasoningTokens: 5 };
    expect(usageOf(usage)).toEqual({
      id: 'c1',
      purpose: 'TURN',
      turnId: 't1',
      alias: 'b',
      model: 'm-b',
      usage,
      estimated: false,
      outcome: 'ANSWERED',
      cost: null,
    });
  });

  const output = estimateTokens(answer.text);
  it.each([
    ['nothing', null, { inputTokens: 1_234, outputTokens: output }],
    ['zeros', { inputTokens: 0, outputTokens: 0 }, { inputTokens: 1_234, outputTokens: output }],
    ['no input', { inputTokens: 0, outputTokens: 20 }, { inputTokens: 1_234, outputTokens: 20 }],
    ['no output', { inputTokens: 1_000, outputTokens: 0 }, { inputTokens: 1_000, outputTokens: output }],
  ])('where the provider counts %s is estimated for what is missing (G8)', (_, usage, counted) => {
    expect(usageOf(usage)).toMatchObject({ usage: counted, estimated: true });
  });

  it('is estimated by all that was written: text, thoughts and calls', () => {
    const call = { providerId: '', name: 'shell', arguments: '{"command":"ls -la /tmp"}' };
    const reasoning = 'What would be there? Let me look.';
    expect(usageOf(null, { reasoning, calls: [call] })?.usage).toEqual({
      inputTokens: 1_234,
      outputTokens: output + estimateTokens(reasoning) + estimateTokens('shell{"command":"ls -la /tmp"}'),
      reasoningTokens: estimateTokens(reasoning),
    });
  });
});

describe('A call that was not', () => {
  it('is counted when something had been accepted or said, and then estimated (D-5)', () => {
    const said = { text: 'Half an answer', reasoning: 'Hm.' };
    const usage = {
      inputTokens: 1_234,
      outputTokens: estimateTokens(said.text) + estimateTokens(said.reasoning),
      reasoningTokens: estimateTokens(said.reasoning),
    };
    const counted = { usage, estimated: true };
    expect(costOf(asked, { ...fault, accepted: true }, said, [])).toMatchObject({
      ...counted,
      alias: 'b',
      model: 'b',
      outcome: 'FAILED',
    });
    expect(costOf(asked, fault, said, [])).toMatchObject({ ...counted, outcome: 'FAILED' });
    expect(costOf(asked, { type: 'aborted' }, said, [])).toMatchObject({
      ...counted,
      alias: 'a',
      outcome: 'ABORTED',
    });
    expect(costOf(asked, { ...fault, accepted: true }, silent, [])).toMatchObject({
      usage: { inputTokens: 1_234, outputTokens: 0 },
      estimated: true,
    });
  });

  /** It was sent. */
  const unfinished = { usage: null, calls: 0 };

  it('is counted from the moment in which it was sent, though nothing had come (D-5)', () => {
    const usage = { inputTokens: 1_234, outputTokens: 0 };
    const counted = { usage, estimated: true };
    expect(costOf(asked, { type: 'aborted', unfinished }, silent, [])).toMatchObject(counted);
    expect(costOf(asked, { ...fault, kind: 'TIMEOUT', unfinished }, silent, [])).toMatchObject(counted);
  });

  it('is counted with the calls that had come, which nobody saw (D-5)', () => {
    const said = { text: 'Let me.', reasoning: '' };
    expect(
      costOf(asked, { type: 'aborted', unfinished: { usage: null, calls: 4_001 } }, said, []),
    ).toMatchObject({
      usage: { inputTokens: 1_234, outputTokens: estimateTokens('Let me.') + 1_001 },
      estimated: true,
    });
  });

  it('is counted as the provider had counted, but for what came since (D-5)', () => {
    const count = (usage: Usage, calls: number) =>
      costOf(asked, { ...fault, accepted: true, unfinished: { usage, calls } }, silent, [])?.usage;
    const usage = { inputTokens: 900, outputTokens: 50, cachedInputTokens: 800 };
    expect(count(usage, 40)).toEqual(usage);
    expect(count(usage, 4_000)).toEqual({ ...usage, outputTokens: 1_000 });
    expect(count({ inputTokens: 0, outputTokens: 3 }, 0)).toEqual({ inputTokens: 1_234, outputTokens: 3 });
  });

  it('cost nothing where it did not fit, though the stream had begun', () => {
    const overflow: ModelFault = { ...fault, kind: 'CONTEXT_OVERFLOW', accepted: true, unfinished };
    expect(costOf(asked, overflow, silent, [])).toBeNull();
  });

  it('cost nothing when it was refused, or given up before it was sent', () => {
    expect(costOf(asked, fault, silent, [])).toBeNull();
    expect(costOf(asked, { type: 'aborted' }, silent, [])).toBeNull();
  });
});

it('No more is counted from the cache than was read, and no more thought than was written', () => {
  const usage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 90, reasoningTokens: 70 };
  const counted = { ...usage, cachedInputTokens: 10, reasoningTokens: 5 };
  expect(usageOf(usage)).toMatchObject({ usage: counted, estimated: false });
  const broken: ModelFault = { ...fault, unfinished: { usage, calls: 0 } };
  expect(costOf(asked, broken, silent, [])?.usage).toEqual(counted);
});

describe('What a call cost', () => {
  const usage = { inputTokens: 1_000_000, outputTokens: 100_000, cachedInputTokens: 400_000 };
  const cost = (price: ModelInfo['price'], counted: Usage = usage) =>
    costOf(asked, { ...answer, usage: counted }, silent, priced(price))?.cost;

  it('is what was read, read from the cache, and written, each at its price per million', () => {
    expect(cost({ input: 2, cachedInput: 0.5, output: 10 })).toBeCloseTo(0.6 * 2 + 0.4 * 0.5 + 0.1 * 10);
    expect(cost({ input: 2, cachedInput: null, output: 10 })).toBeCloseTo(2 + 1);
    expect(cost({ input: 0, cachedInput: 0, output: 0 })).toBe(0);
  });

  it('is not known without a price, and never negative', () => {
    expect(cost(null)).toBeNull();
    expect(
      cost(
        { input: 2, cachedInput: 0, output: 0 },
        { inputTokens: 10, outputTokens: 1, cachedInputTokens: 90 },
      ),
    ).toBe(0);
  });
});

it('a request is estimated by all that is said in it', () => {
  expect(
    tokensOfRequest([
      { role: 'system', text: 'Be brief.' },
      { role: 'user', text: 'Hello there.' },
    ]),
  ).toBe(8 + estimateTokens('Be brief.') + estimateTokens('Hello there.'));
});
