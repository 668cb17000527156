/** Owns: that a caller may have a shorter answer than the model is set up for, and no longer one, in both dialects. */
import { afterEach, expect, test } from 'vitest';
import type { Asked } from '../../../src/adapters/model/caller.ts';
import { createPlane } from '../../../src/adapters/model/plane.ts';
import { createTestClock } from '../../support/clock.ts';
import { startScriptedProvider, type ScriptedProvider } from '../../support/scripted-provider.ts';
import {
  askedOf,
  bindingFor,
  chunk,
  exchange,
  question,
  sse,
  type BindingParts,
  type Served,
} from './harness.ts';

const chat = sse([chunk({ content: 'ok' }, 'stop')]);
const responses = sse([
  {
    type: 'response.completed',
    response: { output: [{ type: 'message', content: [{ type: 'output_text', text: 'ok' }] }] },
  },
]);
const fields = ['max_completion_tokens', 'max_tokens', 'max_output_tokens'];
const refusal = (message: string): Served => ({ status: 400, body: { error: { message } } });

/** The limits that were sent, by field, when these calls were made and these answers came. */
async function limits(answers: readonly Served[], more: BindingParts, asked: readonly Partial<Asked>[]) {
  const { heard, received } = await exchange(
    [...answers],
    more,
    asked.map((one) => ({ ...question, tools: [], ...one })),
  );
  expect(heard.map(({ text }) => text)).toEqual(asked.map(() => 'ok'));
  return received.map(({ body }) =>
    Object.fromEntries(Object.entries(body).filter(([name]) => fields.includes(name))),
  );
}

test.each([
  ['CHAT', chat, 'max_completion_tokens'],
  ['RESPONSES', responses, 'max_output_tokens'],
] as const)('%s: the least of what is set and what is asked for is sent', async (dialect, ok, field) => {
  expect(await limits([ok], { dialect }, [{ maxOutput: 500 }])).toEqual([{ [field]: 500 }]);
  expect(await limits([ok], { dialect, maxOutput: 900 }, [{ maxOutput: 500 }])).toEqual([{ [field]: 500 }]);
  expect(await limits([ok], { dialect, maxOutput: 900 }, [{ maxOutput: 1_000 }])).toEqual([{ [field]: 900 }]);
  expect(await limits([ok], { dialect, maxOutput: 900 }, [{}])).toEqual([{ [field]: 900 }]);
  expect(await limits([ok], { dialect }, [{}])).toEqual([{}]);
});

test.each([
  [
    'RESPONSES',
    responses,
    ['Unsupported parameter: max_output_tokens'],
    [{ max_output_tokens: 500 }, {}, {}],
  ],
  ['CHAT', chat, ['max_completion_tokens is too large: 500.'], [{ max_completion_tokens: 500 }, {}, {}]],
  [
    'CHAT',
    chat,
    // What stands behind it calls it otherwise.
    ['Invalid value for maxOutputTokens'],
    [{ max_completion_tokens: 500 }, {}, {}],
  ],
  ['RESPONSES', responses, ['max_tokens: not a number that is taken'], [{ max_output_tokens: 500 }, {}, {}]],
  [
    'CHAT',
    chat,
    ['Unsupported parameter: max_completion_tokens', 'Unsupported parameter: max_tokens'],
    [{ max_completion_tokens: 500 }, { max_tokens: 500 }, {}, {}],
  ],
] as const)(
  '%s: a limit of the caller that is refused is left out, and not sent again',
  async (dialect, ok, said, sent) => {
    const asked = [{ maxOutput: 500 }, { maxOutput: 500 }];
    expect(await limits([...said.map(refusal), ok, ok], { dialect }, asked)).toEqual(sent);
  },
);

test.each([
  [
    'CHAT',
    chat,
    'max_completion_tokens',
    'Invalid max_tokens value, the valid range of max_tokens is [1, 100]',
  ],
  [
    'CHAT',
    chat,
    'max_completion_tokens',
    'max_completion_tokens is too large: 500. This model supports at most 100 completion tokens, whereas you provided 500.',
  ],
  ['CHAT', chat, 'max_completion_tokens', 'Unsupported value: max_tokens supports at most 100'],
  ['RESPONSES', responses, 'max_output_tokens', 'max_tokens: 500 > 100, which is the maximum allowed'],
] as const)(
  '%s: a limit of the caller that is refused with a number is sent as that, and from then on',
  async (dialect, ok, field, said) => {
    const asked = [{ maxOutput: 500 }, { maxOutput: 500 }, { maxOutput: 70 }, {}];
    expect(await limits([refusal(said), ok, ok, ok, ok], { dialect }, asked)).toEqual([
      { [field]: 500 },
      { [field]: 100 },
      { [field]: 100 },
      { [field]: 70 },
      {},
    ]);
  },
);

test('a number that is refused as well is given up, and the limit left out', async () => {
  const said = ['max_tokens: 500 > 100', 'max_tokens: 100 > 90'];
  const asked = [{ maxOutput: 500 }, { maxOutput: 500 }];
  expect(await limits([...said.map(refusal), chat, chat], {}, asked)).toEqual([
    { max_completion_tokens: 500 },
    { max_completion_tokens: 100 },
    {},
    {},
  ]);
});

test('a prompt that is too long is no limit that is refused: nothing is left out, and it is an overflow (A35)', async () => {
  const said = 'max_tokens must be at least 1, got -7584. (parameter=max_tokens, value=-7584)';
  const { outcome, received } = await exchange([refusal(said), chat], {}, [
    { ...question, tools: [], maxOutput: 500 },
  ]);
  expect(outcome).toMatchObject({ type: 'failed', kind: 'CONTEXT_OVERFLOW' });
  expect(received).toHaveLength(1);
});

test('A36: prompt and answer that do not fit together are asked with the room that is left, as TGI and SGLang say it', async () => {
  for (const said of [
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3296 `inputs` tokens and 1000 `max_new_tokens`',
    "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 4296 tokens: 3296 tokens from the input messages and 1000 tokens for the completion.",
  ])
    expect(await limits([refusal(said), chat], {}, [{ maxOutput: 1_000 }])).toEqual([
      { max_completion_tokens: 1_000 },
      { max_completion_tokens: 700 },
    ]);
});

test('what the operator has set is not what an endpoint says: it is refused, and the sentence says where to set it', async () => {
  const said = 'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]';
  const { outcome, received } = await exchange([refusal(said), chat], { maxOutput: 16_384, source: 'FILE' }, [
    { ...question, tools: [] },
  ]);
  expect(outcome).toMatchObject({
    kind: 'BAD_REQUEST',
    message: expect.stringMatching(
      /; set its "maxOutput" in weir\.config\.json to what this model takes, or leave it out\.$/,
    ) as string,
  });
  expect(received).toHaveLength(1);
});

test.each([
  ['where nobody asked for one', 1, {}, {}],
  ['that the operator has set', 2, { maxOutput: 9 }, { maxOutput: 5 }],
])('a limit %s is not left out: it is asked %i times', async (_, times, more, one) => {
  const said = 'Unsupported parameter: max_completion_tokens, max_tokens';
  const { outcome, received } = await exchange(
    Array.from({ length: 9 }, () => refusal(times === 1 ? 'max_completion_tokens is too large' : said)),
    more,
    [{ ...question, tools: [], ...one }],
  );
  expect(outcome).toMatchObject({ type: 'failed', kind: 'BAD_REQUEST' });
  expect(received).toHaveLength(times);
});

test('a prompt that leaves less room than the caller wants is asked with what is left, and never with more', async () => {
  const message =
    "This model's maximum context length is 8192 tokens. However, you requested 4000 output tokens and your prompt contains 6000 input tokens.";
  const sent = (maxOutput: number) =>
    limits([refusal(message), chat], { traits: { outputField: 'max_tokens' } }, [{ maxOutput }]);
  expect(await sent(4_000)).toEqual([{ max_tokens: 4_000 }, { max_tokens: 8_192 - 6_000 - 274 }]);
  expect(await sent(1_000)).toEqual([{ max_tokens: 1_000 }, { max_tokens: 1_000 }]);
});

const providers: ScriptedProvider[] = [];
afterEach(() => Promise.all(providers.splice(0).map((provider) => provider.close())));

test('the plane hands on what its caller wants', async () => {
  const provider = await startScriptedProvider();
  providers.push(provider);
  const all = [bindingFor(provider.url, { alias: 'a', traits: { outputField: 'max_tokens' } })];
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const bindings = {
    current: () => ({ all, default: 'a' }),
    onChange: () => undefined,
    windowOf: () => null,
  };
  const plane = createPlane({ clock: createTestClock(), log, bindings });
  provider.script([{ stream: ['ok'] }, { stream: ['ok'] }]);
  const { signal } = new AbortController();
  await plane.call(askedOf('a', { maxOutput: 500 }), signal, () => undefined);
  await plane.call(askedOf('a'), signal, () => undefined);
  expect(provider.requests.map((body) => (body as { max_tokens?: number }).max_tokens)).toEqual([
    500,
    undefined,
  ]);
});
