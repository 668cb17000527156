/** Owns: what is learnt of an endpoint that says, as it refuses what is too long, how much its model reads (D-39). */
import { beforeEach, describe, expect, it } from 'vitest';
import { withLimits } from '../../src/app/limits.ts';
import type { Model, ModelFault, ModelInfo, ModelOutcome } from '../../src/ports/model.ts';
import { containing } from '../adapters/storage/fixtures.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { createFakeModel, type FakeModel } from '../support/fake-model.ts';

let fake: FakeModel;
let info: Partial<ModelInfo>;
let model: Model;
let clock: TestClock;

beforeEach(() => {
  fake = createFakeModel();
  info = { window: 128_000 };
  clock = createTestClock();
  model = withLimits(
    {
      ...fake,
      list: () => fake.list().map((known) => ({ ...known, ...info })),
    },
    clock,
  );
});

const [{ alias }] = createFakeModel().list() as [ModelInfo];
/** What is made of its last refusal. */
let outcome: ModelOutcome;
const window = (): number | null => model.list().find((known) => known.alias === alias)!.window;

/** It is asked, and fails. */
async function refuses(
  message: string,
  kind: ModelFault['kind'] = 'CONTEXT_OVERFLOW',
  meanwhile: () => void = () => undefined,
): Promise<void> {
  const request = {
    workstreamId: 'w',
    model: { alias, temperature: null, effort: null },
    lane: null,
    givenUp: [],
    messages: [],
    tools: [],
  };
  const ended = model.call(request, new AbortController().signal, () => {});
  meanwhile();
  fake.calls.at(-1)!.fail({ kind, alias, message });
  outcome = await ended;
}

describe('A refusal', () => {
  it.each([
    ["This model's maximum context length is 6000 tokens. However, you requested 9000 tokens.", 6_000],
    ['the request exceeds the available context size (4,096 tokens), try increasing it', 4_096],
    ['Requested token count exceeds the context window of 8192 tokens', 8_192],
  ])('that names what the model reads is believed: %s', async (message, served) => {
    await refuses(message);
    expect(window()).toBe(served);
  });

  it('is believed where nothing is known of the model', async () => {
    info = { window: null };
    await refuses('maximum context length is 6000 tokens');
    expect(window()).toBe(6_000);
  });

  it.each([
    'maximum context length is 200000 tokens',
    'maximum context length is 3 tokens',
    'maximum context length is 1000 tokens',
    'maximum context length is 4,0,9,6 tokens',
    'Your input context length of 4,000 tokens exceeds what this model reads.',
    'This is too long: you sent 9000 tokens.',
  ])('that names no less, or nothing that can be, changes nothing: %s', async (message) => {
    await refuses(message);
    expect(window()).toBe(128_000);
  });

  it('that names more than the one before, and less than it is set up for, changes nothing', async () => {
    await refuses('maximum context length is 4096 tokens');
    await refuses('maximum context length is 8192 tokens');
    expect(window()).toBe(4_096);
  });

  it('for another reason changes nothing', async () => {
    await refuses('maximum context length is 6000 tokens', 'RATE_LIMIT');
    expect(window()).toBe(128_000);
  });

  it('that names more than anything reads is not believed where nothing is known either', async () => {
    info = { window: null };
    await refuses('maximum context length is 9999999999 tokens');
    expect(window()).toBeNull();
  });

  it('of a call that began before the model was set up otherwise changes nothing, and is told to be of that', async () => {
    const hotReload = (): void => void (info = { window: 128_000, description: 'another endpoint' });
    await refuses('maximum context length is 6000 tokens', 'CONTEXT_OVERFLOW', hotReload);
    expect(window()).toBe(128_000);
    expect(outcome).toMatchObject({ outdated: true });
    await refuses('maximum context length is 6000 tokens');
    expect(outcome).not.toHaveProperty('outdated');
  });

  it('is forgotten when the model is set up otherwise', async () => {
    await refuses('maximum context length is 6000 tokens');
    info = { window: 32_000 };
    expect(window()).toBe(32_000);
    info = { window: 128_000 };
    expect(window()).toBe(128_000);
  });

  it('is said of the model, and believed for ten minutes (broke: an endpoint that was started with more was never asked for it)', async () => {
    await refuses('maximum context length is 6000 tokens');
    expect(model.list()[0]).toMatchObject({ window: 6_000, problem: containing('reads 6,000 tokens') });
    await clock.advance(599_999);
    expect(window()).toBe(6_000);
    await clock.advance(1);
    expect(model.list()[0]).toMatchObject({ window: 128_000, problem: null });
  });
});
